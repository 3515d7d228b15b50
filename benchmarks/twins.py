"""Do the look-alikes that `tmapr show` finds in a map exist, and do they mean trouble at night?

    python benchmarks/twins.py [--choosing] [--workers N] [--home DIR]

Rendered worlds, mapped by day. In cities the world knows which streets of the route are copies of each other, house for
house and driven in one direction: of the pairs of stations that twins hold, how many see copies within the tolerance of
a place, and how many of all stations with a copy elsewhere are so paired? In all worlds the night is then searched by
plain cosine: is the first candidate wrong more often where the map says that a place has a look-alike? The ratio of
rates is that of Mantel and Haenszel, so that worlds are compared with themselves alone; its interval is that of drawing
worlds. Rows are kept in benchmarks/rows/twins, one file a world; what is there is not computed again. `--choosing`
takes the even styles, which are not reported.
"""

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from jaxtyping import Bool

from proving import CHOOSING, HOME, REPORTING, Ground, plan_world, work_on_each
from tmapr.artifacts.documents import Document
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.experiment import Data, Experiment
from tmapr.reports.atlas.likeness import compare_stations
from tmapr.reports.atlas.stations import Stations, lay_stations
from tmapr.reports.atlas.twins import Twin, find_twins, mark_twins
from tmapr.retrieval.memory import Memory
from tmapr.running.encoding import Encoding
from tmapr.simulation.record import write_dataset
from tmapr.simulation.world import World
from tmapr.system import System, make_map

DRIVES = ("day", "night")
DRAWN = 2000


class Copies(Document):
    """Of a world of streets: how twins and copies agree, in stations."""

    copied: int
    """With a copy elsewhere on the route."""
    paired: int
    """Pairs of stations in twins."""
    right: int
    """Pairs of which both see the same part of copies."""
    found: int
    """Stations with a copy elsewhere that are in such a pair."""


class TwinsRow(Document):
    """What the map of one world says, and how its night went."""

    name: str
    kind: str
    stations: int
    twins: int
    marked: int
    """Stations on a stretch that looks like another one."""
    copies: Copies | None
    frames: tuple[int, int]
    """Of the night: at unmarked stations and at marked ones."""
    wrong: tuple[int, int]
    """Of these, frames whose first candidate is wrong."""


def judge_world(ground: Ground, home: Path) -> TwinsRow:
    """Map a world, look for twins, search its night."""
    day, night = open_drives(ground, home)
    memory = make_map(System(), day).memory
    stations = lay_stations(memory)
    twins = find_twins(stations, compare_stations(memory, stations))
    marked = mark_twins(len(stations), twins)
    world = plan_world(ground).build_world()
    frames, wrong = search_night(memory, stations, marked, night)
    return TwinsRow(
        name=ground.name,
        kind=ground.kind,
        stations=len(stations),
        twins=len(twins),
        marked=int(marked.sum()),
        copies=judge_twins(world, stations, twins) if world.passages else None,
        frames=frames,
        wrong=wrong,
    )


def open_drives(ground: Ground, home: Path) -> tuple[Recording, Recording]:
    """The percepts of day and night, rendered and encoded if they are not there."""
    root, folder = home / "data/proving" / ground.name, RunFolder(home / "runs/proving" / ground.name)
    if not all(folder.percepts(name).exists() for name in DRIVES):
        write_dataset(root, plan_world(ground), [each for each in ground.traverses if each.name in DRIVES])
        data = Data(root=str(root), reference="day", test=("night",))
        encoding = Encoding(Experiment(name=ground.name, data=data), folder)
        for name in DRIVES:
            encoding.recording(name)
        encoding.publish()
    day, night = (Recording.load(folder.percepts(name)) for name in DRIVES)
    return day, night


def judge_twins(world: World, stations: Stations, twins: Sequence[Twin]) -> Copies:
    """Hold twins against what the world knows."""
    same = find_copies(world, stations)
    pairs = np.array([pair for twin in twins for pair in twin.pairs], dtype=np.int64).reshape(-1, 2)
    right = same[pairs[:, 0], pairs[:, 1]]
    copied = same.any(axis=1)
    found = np.zeros(len(stations), dtype=bool)
    found[pairs[right].ravel()] = True
    return Copies(copied=int(copied.sum()), paired=len(pairs), right=int(right.sum()), found=int(found.sum()))


def find_copies(world: World, stations: Stations) -> Bool[np.ndarray, "stations stations"]:
    """Whether two stations are elsewhere from each other and see the same part of copies."""
    passage, look, along = np.full((3, len(stations)), -1.0)
    for number, each in enumerate(world.passages):
        start, stop = each.ends
        length = float(np.hypot(*(stop - start)))
        ahead = (stop - start) / length
        way, aside = np.array([ahead, [-ahead[1], ahead[0]]]) @ (stations.positions - start).T
        inside = (way > 0) & (way < length) & (np.abs(aside) < _BESIDE) & (passage < 0)
        passage[inside], look[inside], along[inside] = number, each.look, way[inside]
    away = np.hypot(*(stations.positions[:, None] - stations.positions).transpose(2, 0, 1))
    streets = (passage[:, None] != passage) & (look[:, None] == look) & (look >= 0)
    within = np.abs(along[:, None] - along) <= stations.tolerance
    return streets & within & (away > 2 * stations.tolerance)


def search_night(
    memory: Memory, stations: Stations, marked: Bool[np.ndarray, " stations"], night: Recording
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Frames on the map, and those of them whose most similar reference is wrong; at unmarked and marked stations."""
    usable = np.array([not percept.fault for percept in night.percepts]) & night.known
    usable[usable] = opportunities(night.truth[usable], memory.positions, stations.tolerance)
    truth = night.truth[usable]
    views = np.array([percept.descriptor for percept, seen in zip(night.percepts, usable, strict=True) if seen])
    first = memory.positions[(views.astype(np.float32) @ memory.descriptors.T).argmax(axis=1)]
    wrong = ~correct_candidates(first, truth, stations.tolerance)
    nearest = np.array([np.hypot(*(stations.positions - point).T).argmin() for point in truth])
    groups = [marked[nearest] == side for side in (False, True)]
    frames, failed = ([int((mask & group).sum()) for group in groups] for mask in (np.ones_like(wrong), wrong))
    return (frames[0], frames[1]), (failed[0], failed[1])


def compare_rates(rows: Sequence[TwinsRow]) -> float | None:
    """How many times as often frames are wrong at marked stations, worlds compared with themselves."""
    counts = [(*row.wrong, *row.frames) for row in rows if min(row.frames) > 0]
    above = sum(marked * plain_frames / (plain_frames + frames) for _, marked, plain_frames, frames in counts)
    below = sum(plain * frames / (plain_frames + frames) for plain, _, plain_frames, frames in counts)
    return above / below if below else None


def draw_interval(rows: Sequence[TwinsRow]) -> tuple[float, float] | None:
    """Of the ratio, 95 % of drawn sets of worlds."""
    rng = np.random.default_rng(0)
    drawn = (compare_rates([rows[place] for place in rng.integers(len(rows), size=len(rows))]) for _ in range(DRAWN))
    found = [ratio for ratio in drawn if ratio is not None]
    if len(found) < DRAWN / 2:
        return None
    low, high = np.percentile(found, [2.5, 97.5]).tolist()
    return low, high


def show_copies(rows: Sequence[TwinsRow]) -> None:
    """Precision and recall of every world of streets, and of all."""
    print("\n| world | route with a copy elsewhere | route marked | pairs of stations | right | copies found |")
    print("|---|---|---|---|---|---|")
    held = [(row, row.copies) for row in rows if row.copies]
    for row, copies in held:
        _print_copies(row.name, row.stations, row.marked, copies)
    sums = [sum(values) for values in zip(*(tuple(copies.model_dump().values()) for _, copies in held), strict=True)]
    whole = Copies(copied=sums[0], paired=sums[1], right=sums[2], found=sums[3])
    _print_copies("all", sum(row.stations for row, _ in held), sum(row.marked for row, _ in held), whole)


def show_trouble(rows: Sequence[TwinsRow]) -> None:
    """How often first candidates are wrong, with and without a look-alike."""
    print("\n| worlds | frames with a look-alike | wrong there | wrong elsewhere | ratio within worlds |")
    print("|---|---|---|---|---|")
    kinds = dict.fromkeys(row.kind for row in rows)
    groups = {kind: [row for row in rows if row.kind == kind] for kind in kinds} | {"all": list(rows)}
    for name, group in groups.items():
        plain, marked = (sum(row.frames[side] for row in group) for side in (0, 1))
        rates = [_share(sum(row.wrong[side] for row in group), (plain, marked)[side]) for side in (1, 0)]
        ratio, interval = compare_rates(group), draw_interval(group)
        within = f" [{interval[0]:.2f} {interval[1]:.2f}]" if interval else ""
        cells = (f"{name} ({len(group)})", _share(marked, plain + marked), *rates)
        print(f"| {' | '.join(cells)} | {'–' if ratio is None else f'{ratio:.2f}{within}'} |")


def _print_copies(name: str, stations: int, marked: int, copies: Copies) -> None:
    cells = (
        _share(copies.copied, stations),
        _share(marked, stations),
        str(copies.paired),
        _share(copies.right, copies.paired),
        _share(copies.found, copies.copied),
    )
    print(f"| {name} | {' | '.join(cells)} |")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}".removeprefix("0") if whole else "–"


def main() -> None:
    """Make the rows that are missing and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choosing", action="store_true", help="even styles, for choosing")
    parser.add_argument("--workers", type=int, default=2, help="worlds at a time")
    parser.add_argument("--home", type=Path, default=HOME, help="where data/proving and runs/proving are")
    asked = parser.parse_args()
    grounds = CHOOSING if asked.choosing else REPORTING
    folder = (asked.home / "runs/proving/rows" if asked.choosing else HOME / "benchmarks/rows") / "twins"
    missing = [ground for ground in grounds if not (folder / f"{ground.name}.json").exists()]
    for row in work_on_each(partial(judge_world, home=asked.home), missing, asked.workers):
        row.save(folder / f"{row.name}.json")
        print(row.name, flush=True)
    rows = [TwinsRow.load(folder / f"{ground.name}.json", "python benchmarks/twins.py") for ground in grounds]
    show_copies(rows)
    show_trouble(rows)


_BESIDE = 6.0
"""Metres from the middle of a street within which one drives in it."""

if __name__ == "__main__":
    main()
