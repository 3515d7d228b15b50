"""Frames from elsewhere in the middle of a drive: how many are accepted, and how soon it knows again where it is.

    python benchmarks/elsewhere.py [--reporting] [--home DIR] [--data DIR]

Thirty frames of Gardens, of KAIST and of METU are put into the middle of drives of the others and of two rendered
nights, in the drive's own time step; then the drive goes on from where it was. None of them shows anything mapped, so
each that is `localized` or accepted is wrong. Settings are the defaults. The last line is JSON.
"""

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from decision_tables import cell, show_table
from place_sets import Trial, list_sets, load_trial
from proving import HOME
from proving_rows import find_worlds
from real_sets import REAL
from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.decisions import Mapped
from tmapr.localizer import Localizer
from tmapr.running.progressive import adapt
from tmapr.system import System, build, make_map
from tmapr.types import Estimate, Percept, Status

COUNT = 30
DRIVES = {"gardens-night": "gardens", "gardens-right-left": "gardens", "kaist": "kaist"}
"""Real drives, and the place that they are of."""
_FAMILIES = ("city", "valley")


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one insertion."""

    drive: str
    shown: str
    localized: int
    accepted: int
    """Of the frames from elsewhere; `either` counts those that were one or the other."""
    either: int
    back_after: int | None
    """Frames of the drive until it is `localized` and right again; None: never."""


def insert(drive: Recording, shown: Sequence[Percept], at: int) -> list[Percept]:
    """The drive with other frames from row `at` on, in its own time step; nobody can tell how the picture moved."""
    step = int(np.median(np.diff(drive.stamps)))
    begins = drive.percepts[at - 1].stamp + step
    foreign = [replace(each, stamp=begins + row * step, position=None) for row, each in enumerate(shown)]
    late = len(shown) * step
    rest = [replace(each, stamp=each.stamp + late) for each in drive.percepts[at:]]
    foreign[0], rest[0] = replace(foreign[0], shift=None), replace(rest[0], shift=None)
    return [*drive.percepts[:at], *foreign, *rest]


def judge(estimates: Sequence[Estimate], drive: Recording, at: int, count: int, tolerance: float) -> tuple[int, ...]:
    """Frames from elsewhere that were localized, accepted, either; frames until right again, −1 for never."""
    foreign = estimates[at : at + count]
    localized = np.array([each.status is Status.LOCALIZED for each in foreign])
    accepted = np.array([each.verdict.accepted for each in foreign])
    after = zip(estimates[at + count :], drive.truth[at:], strict=True)
    right = [
        each.status is Status.LOCALIZED and np.hypot(*(each.position - truth)) <= tolerance for each, truth in after
    ]
    back = right.index(True) if True in right else -1
    return int(localized.sum()), int(accepted.sum()), int((localized | accepted).sum()), back


def prepare(trial: Trial) -> tuple[Localizer, Mapped]:
    """A localizer on the trial's map, adapted where there is something to adapt to."""
    environment = make_map(System(), trial.reference)
    localizer = build(System(), environment)
    if trial.adapted is not None:
        adapt(localizer, trial.adapted, range(len(trial.adapted)))
    return localizer, Mapped(environment.memory.positions[environment.memory.order])


def run(name: str, trial: Trial, shown: dict[str, Sequence[Percept]]) -> list[Found]:
    """Put frames of each other place into one drive."""
    at, found = len(trial.asked) // 2, []
    for place, frames in shown.items():
        localizer, mapped = prepare(trial)
        estimates = [localizer.observe(each) for each in insert(trial.asked, frames, at)]
        *counts, back = judge(estimates, trial.asked, at, len(frames), mapped.tolerance)
        found.append(Found(name, place, *counts, back if back >= 0 else None))
        print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reporting", action="store_true", help="odd styles, for reporting")
    parser.add_argument("--home", type=Path, default=HOME, help="where worlds are kept")
    parser.add_argument("--data", type=Path, default=REAL, help="folder of the real sets")
    given = parser.parse_args()
    _, grounds = find_worlds(not given.reporting, untrained=True)
    sets = {each.name: each for each in list_sets(grounds)}
    nights = [next(each.name for each in grounds if each.kind == family) for family in _FAMILIES]
    trials = {name: load_trial(sets[name], given.data, given.home) for name in (*DRIVES, "metu", *nights)}
    shown = {
        "gardens": trials["gardens-night"].asked.percepts[:COUNT],
        "kaist": trials["kaist"].asked.percepts[:COUNT],
        "metu": trials["metu"].reference.percepts[:COUNT],
    }
    found = [
        each
        for name in (*DRIVES, *nights)
        for each in run(name, trials[name], {place: rows for place, rows in shown.items() if place != DRIVES.get(name)})
    ]
    lines = [
        (
            f"{each.shown} in {each.drive}",
            [str(each.localized), str(each.accepted), f"{each.either / COUNT:.2f}", cell(each.back_after)],
        )
        for each in found
    ]
    show_table(f"Of {COUNT} frames", lines, ["localized", "accepted", "either, share", "back after, frames"])
    share = sum(each.either for each in found) / (COUNT * len(found))
    print(f"\naccepted or localized while showing elsewhere: {share:.1%}")
    print(json.dumps({"benchmark": "elsewhere", "found": [asdict(each) for each in found]}))


if __name__ == "__main__":
    main()
