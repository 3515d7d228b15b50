"""Whether a device says what the CPU says: every verdict, status and position along the drives of run folders.

    python benchmarks/device_verdicts.py runs/demo [RUN …] [--device cuda] [--learn] [--out FILE.json]

The percepts are those that the folders keep, so that nothing but localizing is compared; each drive begins from the
state that adaptation left. `--device cpu` runs the device's code by torch on the CPU. With `--learn` each estimate is
learned at its own position right away, by both.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tmapr.artifacts.run import RunFolder
from tmapr.device.backend import DeviceBackend
from tmapr.experiment import read_experiment
from tmapr.localizer import Localizer
from tmapr.running.encoding import Encoding
from tmapr.running.finished import FinishedRun
from tmapr.system import resume
from tmapr.types import Estimate, Percept

WANTED = 0.999


@dataclass
class Compared:
    """The frames of one drive, and how many of them have the same verdict and status on both."""

    drive: str
    frames: int
    verdicts: int
    statuses: int
    references: int
    metres: float
    """The largest distance between two positions, where the verdicts are the same."""


def follow(localizer: Localizer, percepts: tuple[Percept, ...], learn: bool) -> list[Estimate]:
    answers = []
    for percept in percepts:
        answers.append(localizer.observe(percept))
        if learn and not percept.fault and answers[-1].recognition:
            localizer.learn(answers[-1], answers[-1].position, scored=False)
    return answers


def compare(name: str, ours: list[Estimate], theirs: list[Estimate]) -> Compared:
    pairs = list(zip(ours, theirs, strict=True))
    same = [mine.verdict.reason == other.verdict.reason for mine, other in pairs]
    apart = [float(np.hypot(*(mine.position - other.position))) for mine, other in pairs]
    named = [
        (mine.candidate and mine.candidate.reference) == (other.candidate and other.candidate.reference)
        for mine, other in pairs
    ]
    statuses = sum(mine.status == other.status for mine, other in pairs)
    metres = max(far for far, agrees in zip(apart, same, strict=True) if agrees)
    return Compared(name, len(pairs), sum(same), statuses, sum(named), metres)


def compare_run(folder: Path, device: str, learn: bool) -> list[Compared]:
    home = RunFolder(folder)
    experiment = read_experiment(home.experiment, ()).with_head(home)
    run, found = FinishedRun.load(home), []
    encoding = Encoding(experiment, home, "cpu", trust="everything")
    for name in experiment.data.scored:
        percepts = encoding.recording(name).percepts
        answers = [
            follow(resume(experiment.system, run.environment, home.state, backend=backend), percepts, learn)
            for backend in (DeviceBackend(device), None)
        ]
        found.append(compare(f"{folder.name} {name}", *answers))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = [each for folder in given.runs for each in compare_run(folder, given.device, given.learn)]
    for each in found:
        print(
            f"{each.drive}: {each.verdicts} of {each.frames} verdicts, {each.statuses} statuses, {each.references}"
            f" references the same; positions at most {each.metres:.2g} m apart",
            flush=True,
        )
    share = sum(each.verdicts for each in found) / sum(each.frames for each in found)
    print(f"{share:.5f} of {sum(each.frames for each in found)} verdicts the same (asked: {WANTED})")
    if given.out:
        given.out.write_text(json.dumps({"device": given.device, "drives": [asdict(each) for each in found]}, indent=1))


if __name__ == "__main__":
    main()
