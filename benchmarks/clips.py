"""Twins and failures as clips: docs/gallery.md and its pictures, chosen by a rule and not by their looks.

    python benchmarks/clips.py [--out DIR]

Drives are of the reporting worlds without a pose head, and the kept rows of benchmarks/rows/styles choose among them.
Twins: the three kinds of world whose worst night has the fewest right first candidates, and that night; of it the
longest stretch on which the first candidate lies elsewhere while the system is `localized` and right. Failures: the two
drives of different worlds with the longest stretch that is `localized` and wrong, and that stretch; then the drive that
is `localized` on the least of the map, and its longest stretch without. Each is shown with some way before and after.
Lengths are metres driven. Worlds are rendered into data/proving, their runs kept in runs/clips, and neither made twice.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from proving import HOME, REPORTING, Ground, plan_world
from proving_rows import METHOD, ROWS, Row, load_rows
from tmapr.artifacts.atomic import write_text
from tmapr.evaluation.decisions import OFF, Mapped
from tmapr.evaluation.loops import opportunities
from tmapr.evaluation.off_map import list_stretches, measure_way
from tmapr.experiment import Data, Experiment, dump_experiment
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.simulation.record import write_dataset
from tmapr.types import Status

Kind = Literal["twin", "wrong", "lost"]
GROUNDS = {ground.name: ground for ground in REPORTING if not ground.trained}
AROUND = 25.0
"""Metres shown before and after."""
SECONDS, RATE, WIDTH = 8.0, 5, 640
"""Of a clip: it is as fast as that takes."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A drive to be looked at, and what for."""

    kind: Kind
    world: str
    drive: str

    @property
    def ground(self) -> Ground:
        """The world."""
        return GROUNDS[self.world]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a drive, from a row up to another one, and what is shown of it."""

    rows: slice
    seconds: tuple[float, float]
    metres: float
    shown: tuple[float, float]


def choose_shots(rows: Sequence[Row]) -> list[Shot]:
    """What the kept rows say is worst."""
    able = [row for row in rows if row.name in GROUNDS]
    nights = sorted(able, key=lambda row: row.drives["night"].first_right or 0.0)
    kinds = list(dict.fromkeys(row.kind for row in nights))[:3]
    twins = [Shot("twin", next(row.name for row in nights if row.kind == kind), "night") for kind in kinds]
    drives = [(row.name, name, found) for row in able for name, found in row.drives.items()]
    wrong = sorted(drives, key=lambda drive: -drive[2].wrong_metres)
    worlds = list(dict.fromkeys(world for world, _, _ in wrong))[:2]
    failed = [next(Shot("wrong", world, name) for world, name, _ in wrong if world == each) for each in worlds]
    least = min(drives, key=lambda drive: drive[2].localized or 0.0)
    return [*twins, *failed, Shot("lost", *least[:2])]


def make_run(shot: Shot) -> ReportedRun:
    """Render, map, adapt and localize, as far as that was not done."""
    ground, root = shot.ground, HOME / "data/proving" / shot.world
    folder = HOME / "runs/clips" / f"{shot.world}-{shot.drive}"
    if not (folder / "provenance.json").exists():
        needed = ("day", "other", shot.drive)
        write_dataset(root, plan_world(ground), [drive for drive in ground.traverses if drive.name in needed])
        data = Data(root=str(root), reference="day", adapt=("other",), test=(shot.drive,))
        file = folder.with_suffix(".toml")
        write_text(file, dump_experiment(Experiment(name=folder.name, data=data), file.parent))
        for verb in ("map", "run"):
            call("tmapr", verb, file, "--run", folder, "--quiet")
    return ReportedRun.load(folder)


def find_stretch(kind: Kind, run: ReportedRun, sequence: ReportedSequence) -> Stretch:
    """The longest one of its kind."""
    mask, way, seconds = judge_frames(kind, run, sequence), measure_way(sequence.truth.values), sequence.seconds
    last = len(way) - 1

    def measure(part: tuple[int, int]) -> float:
        return float(way[min(part[1], last)] - way[part[0]])

    first, stop = max(list_stretches(mask), key=measure)
    begin = int(np.searchsorted(way, way[first] - AROUND))
    end = min(int(np.searchsorted(way, way[min(stop, last)] + AROUND)), last)
    told = (float(seconds[first]), float(seconds[min(stop, last)]))
    return Stretch(slice(first, stop), told, measure((first, stop)), (float(seconds[begin]), float(seconds[end])))


def judge_frames(kind: Kind, run: ReportedRun, sequence: ReportedSequence) -> Bool[np.ndarray, " n"]:
    """Which frames are of that kind."""
    localized = np.array([status is Status.LOCALIZED for status in sequence.table.statuses])
    if kind == "lost":
        return ~localized
    right = sequence.errors(sequence.fused).values <= tolerance_of(run)
    if kind == "wrong":
        return localized & ~right
    return localized & right & (away_of_first(sequence) > tolerance_of(run))


def tolerance_of(run: ReportedRun) -> float:
    return Mapped(run.memory.positions[run.memory.order]).tolerance


def away_of_first(sequence: ReportedSequence) -> Float[np.ndarray, " n"]:
    """Metres from the truth to the candidate that ranks first."""
    return np.nan_to_num(sequence.errors(sequence.table.first.positions).values)


def tell(shot: Shot, run: ReportedRun, sequence: ReportedSequence, stretch: Stretch) -> str:
    """What happened, in words and numbers."""
    errors = sequence.errors(sequence.fused).values[stretch.rows]
    count, begin, end = len(errors), *stretch.seconds
    part = f"{count} frames, {stretch.metres:.0f} m, seconds {begin:.1f} to {end:.1f}"
    if shot.kind == "twin":
        away = away_of_first(sequence)[stretch.rows]
        told = (
            f"{part}. What looks most alike lies {away.min():.0f} to {away.max():.0f} m from the camera."
            f" The estimate is {np.median(errors):.1f} m off in the median and {errors.max():.1f} m at most"
        )
    elif shot.kind == "wrong":
        radii = sequence.semi_axes[stretch.rows]
        told = (
            f"{part}, all of them `localized` and wrong: {errors.min():.0f} to {errors.max():.0f} m off,"
            f" while the 95 % radius says {np.median(radii):.1f} m in the median. {count_off(run, sequence, stretch)}"
            " of these frames are off the map, in streets that look like mapped ones"
        )
    else:
        statuses = [status.value for status in sequence.table.statuses[stretch.rows]]
        shares = (f"{100 * statuses.count(name) / count:.0f} % {name}" for name in dict.fromkeys(statuses))
        told = (
            f"{part}, none of them `localized`: {', '.join(shares)}; {np.median(errors):.0f} m from the truth in the"
            f" median. {count_off(run, sequence, stretch)} of these frames are off the map"
        )
    ground = shot.ground
    drive = f"{ground.night}, leaving the map for a while" if shot.drive == "away" else ground.night
    world = f"{ground.kind}, style {ground.style}, seed {ground.seed}; mapped at {ground.day}, driven at {drive}"
    return f"**{world[0].upper()}{world[1:]}.** {told}."


def count_off(run: ReportedRun, sequence: ReportedSequence, stretch: Stretch) -> int:
    """Frames of a stretch that are off the map."""
    return int((~opportunities(sequence.truth.values[stretch.rows], run.memory.positions, OFF)).sum())


def film(shot: Shot, stretch: Stretch, path: Path) -> list[str]:
    """The clip, by the command that everybody has; what was typed."""
    begin, end = (round(second, 1) for second in stretch.shown)
    speed = max(0.1, round((end - begin) / SECONDS, 2))
    options = ["--from", begin, "--to", end, "--speed", speed, "--rate", RATE, "--width", WIDTH]
    run = HOME / "runs/clips" / f"{shot.world}-{shot.drive}"
    call("tmapr", "film", run, "--out", path, *options, "--quiet")
    return [str(option) for option in options]


def call(module: str, *arguments: object) -> None:
    subprocess.run([sys.executable, "-m", module, *map(str, arguments)], check=True)


HEADS = {
    "twin": ("Twins", "places that look alike, and the right one is held"),
    "wrong": ("Failures", "sure and wrong, or not sure for long"),
}
ALTERNATIVES = {"twin": "A place with a twin", "wrong": "Localized and wrong", "lost": "Not localized for long"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HOME / "docs", help="the folder of gallery.md and images/")
    out = parser.parse_args().out
    parts, seen = [INTRODUCTION], set[str]()
    for shot in choose_shots(list(load_rows(ROWS / "styles" / METHOD).values())):
        run = make_run(shot)
        sequence = run.sequences[0]
        stretch = find_stretch(shot.kind, run, sequence)
        picture = Path("images") / f"{'twin' if shot.kind == 'twin' else 'failure'}-{shot.world}.gif"
        options = film(shot, stretch, out / picture)
        if shot.kind in HEADS and HEADS[shot.kind][0] not in seen:
            seen.add(HEADS[shot.kind][0])
            parts.append(f"## {HEADS[shot.kind][0]}: {HEADS[shot.kind][1]}")
        parts.append(f"![{ALTERNATIVES[shot.kind]}: {shot.world}, {shot.drive}]({picture})")
        parts.append(tell(shot, run, sequence, stretch))
        parts.append(f"`tmapr film runs/clips/{shot.world}-{shot.drive} --out docs/{picture} {' '.join(options)}`")
        print(f"{out / picture}: {(out / picture).stat().st_size / 1e6:.2f} MB", flush=True)
    write_text(out / "gallery.md", "\n\n".join(parts) + "\n")


INTRODUCTION = """# Twins and failures

Six drives of [worlds that nothing was chosen on](results/styles.md), with default settings and without a pose head.
What is shown was chosen by a rule: the worst drives and the longest stretches of them, not the prettiest. `python
benchmarks/clips.py` has the rule, and makes this page and its pictures again.

In each clip the camera's image is above, the mapped view that it was matched with below, gray where that was not
believed. On the map are the way driven so far in the colour of its status, the truth in white, where the camera may be
in green, and a yellow ring around what looks most alike, which is all that plain retrieval would go by. In the corner
are 36 m around the estimate, with its 95 % ellipse. Wrong is farther from the truth than 10 m, or than two steps of the
map; off the map is farther than 20 m from all that was mapped."""


if __name__ == "__main__":
    main()
