"""Faults on a live drive: does it go on, is it right, and is it back soon after?

    python benchmarks/faults.py [--choosing] [--only NAME …] [--passes N] [--workers N] [--home DIR]

Rendered worlds in odd styles, mapped by day and driven at night, with default settings and no adaptation. Each night is
driven once without faults and several times with faults of all kinds at random places, through the whole of a live
session; every second time it learns from its own estimates, and is compared with a drive without faults that does so.
In the first passes each fault has the road to itself until 60 m after its end; in the last third two or three lie on
top of one another. Frame by frame:

  wrong       `localized` farther off than max(10 m, 2 × the map's spacing), where the drive without faults is not
  back after  metres from a fault's end until `localized` and right, without those on which the drive without faults is
              not; more than 50 are too many

Rows are kept in benchmarks/rows/faults, one file a world; what is there is not computed again, and without `--only` it
is all that is shown. `--choosing` takes even styles, of which nothing is kept in the repository or reported.
"""

import argparse
import os
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import cycle, repeat
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tmapr
from decision_tables import show_table
from fault_drives import Learn, drive_through
from fault_judging import STACKED, Judge, Outcome, Said, Stretch, Tally, Way, deal_kinds, plan_faults
from injections import KINDS, deliver
from proving import CHOOSING, HOME, REPORTING, Ground, plan_world
from proving_rows import ROWS
from remembering import remember_networks
from threads import limit_threads
from tmapr.artifacts.documents import Document
from tmapr.evaluation.decisions import Mapped
from tmapr.simulation.record import write_dataset
from tmapr.types import Frame

PASSES = 8
BINDING = 0.8
"""Share of a drive without faults that is `localized`: of a world with less nothing can be said of faults."""
MODES: tuple[Learn, ...] = ("off", "fused")


class FaultRow(Document):
    """What faults did in one world."""

    name: str
    kind: str
    style: int
    seed: int
    spacing: float
    metres: float
    localized: float
    """Share of the frames of the drive without faults."""
    wrong: int
    """Frames of the drive without faults that are `localized` and too far off."""
    drives: int
    outcome: Outcome


def open_world(ground: Ground, home: Path) -> tuple[Path, list[Frame], Mapped]:
    """A mapped day, the frames of its night, and where its references lie."""
    root, folder = home / "data/faults" / ground.name, home / "runs/faults" / ground.name
    write_dataset(root, plan_world(ground), [each for each in ground.traverses if each.name in ("day", "night")])
    mapped = (folder / "map.npz").exists()
    localizer = tmapr.load(folder, "cpu") if mapped else tmapr.make_map(root / "day", folder, device="cpu")
    memory, night = localizer.memory, list(tmapr.open_sequence(root / "night", frame=localizer.frame))
    return folder, night, Mapped(memory.positions[memory.order])


@dataclass(frozen=True, slots=True)
class Night:
    """A world's night, ready to be driven."""

    ground: Ground
    folder: Path
    way: Way
    spacing: float

    @classmethod
    def open(cls, ground: Ground, home: Path) -> "Night":
        """Rendered and mapped, if it is not."""
        folder, frames, mapped = open_world(ground, home)
        return cls(ground, folder, Way.along(frames, mapped.tolerance), mapped.spacing)

    def drive_without(self, learn: Learn) -> Said:
        """What drives with faults are held against."""
        drive = deliver(self.way.frames, self.ground.seed)
        return Said.of(drive_through(self.folder, drive, learn=learn), self.way)

    def drive_with(self, number: int, passes: int) -> tuple[Said, list[Stretch]]:
        """One of so many drives with faults; those of the last third lie on top of one another."""
        rng = np.random.default_rng(zlib.crc32(f"{self.ground.name}/{number}".encode()))
        stretches = plan_faults(self.way, deal_kinds(rng), rng, most=3 if number >= 2 * passes // 3 else 1)
        faults = [fault for stretch in stretches for fault in stretch.faults]
        drive = deliver(self.way.frames, self.ground.seed)
        return Said.of(drive_through(self.folder, drive, faults, MODES[number % 2]), self.way), stretches

    def judge(self, without: Mapping[Learn, Said], drives: Sequence[tuple[Said, list[Stretch]]]) -> FaultRow:
        """What came of all drives."""
        outcomes = [
            Judge(self.way, without[learn]).judge(*drive).named(f"drive {number}, learning {learn}")
            for number, (drive, learn) in enumerate(zip(drives, cycle(MODES), strict=False))
        ]
        return self._make_row(without["off"], outcomes)

    def _make_row(self, without: Said, outcomes: Sequence[Outcome]) -> FaultRow:
        ground = self.ground
        return FaultRow(
            name=ground.name,
            kind=ground.kind,
            style=ground.style,
            seed=ground.seed,
            spacing=self.spacing,
            metres=float(self.way.metres[-1]),
            localized=float(without.localized.mean()),
            wrong=int(without.wrong.sum()),
            drives=len(outcomes),
            outcome=reduce(Outcome.add, outcomes),
        )


def prepare_process() -> None:
    """One thread for each of several processes, and no picture looked at twice."""
    limit_threads(1)
    remember_networks()


def gather(folder: Path, grounds: Sequence[Ground], home: Path, passes: int, workers: int) -> list[FaultRow]:
    """The rows that are kept, and the others, kept when finished; several drives at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [ground for ground in grounds if not (folder / f"{ground.name}.json").exists()]
    with ProcessPoolExecutor(workers, get_context("spawn"), prepare_process) as pool:
        nights = list(pool.map(Night.open, missing, repeat(home)))
        begun = [
            (
                {learn: pool.submit(night.drive_without, learn) for learn in MODES},
                [pool.submit(night.drive_with, number, passes) for number in range(passes)],
            )
            for night in nights
        ]
        for night, (without, drives) in zip(nights, begun, strict=True):
            said = {learn: drive.result() for learn, drive in without.items()}
            row = night.judge(said, [drive.result() for drive in drives])
            row.save(folder / f"{row.name}.json")
            print(row.name, flush=True)
    return [FaultRow.load(folder / f"{ground.name}.json", "python benchmarks/faults.py") for ground in grounds]


def show_rows(rows: Sequence[FaultRow]) -> None:
    """A line a kind of fault in the worlds that bind, a line a world, and everything that must not be."""
    heads = ("faults", "frames", "lost", "wrong", "back at once", "back after, m (median, most)", "later than 50 m")
    binding = [row for row in rows if row.localized >= BINDING]
    for title, stacked in ("faults that have the road to themselves", False), ("on top of one another", True):
        part = reduce(Tally.add, [_pick(row, stacked) for row in binding], Tally())
        print(f"{title}: {part.faults}, {part.wrong} of {part.frames} frames wrong, {part.late} times not back")
    own = {kind: [row.outcome.tallies.get(kind, Tally()) for row in binding] for kind in (*KINDS, STACKED)}
    lines = [(kind, _list_cells(reduce(Tally.add, tallies, Tally()))) for kind, tallies in own.items()]
    show_table(f"{len(binding)} worlds in which the drive without faults is localized for {BINDING:.0%}", lines, heads)
    worlds = [
        (row.name, [f"{row.metres:.0f}", f"{row.localized:.2f}", f"{row.wrong}", *_list_cells(row.outcome.whole)])
        for row in rows
    ]
    show_table("every world", worlds, ("metres", "localized", "wrong without", *heads))
    total = reduce(Outcome.add, [row.outcome for row in rows])
    print(
        f"\n{total.whole.faults} faults in {sum(row.drives for row in rows)} drives: {total.taken} frames came,"
        f" {total.answered} answered, {total.dropped} dropped; {total.not_finite} estimates not finite;"
        f" the clock was found set {total.clocks} times"
    )
    for row in rows:
        for violation in row.outcome.violations:
            print(f"  {row.name}, {violation}")


def _pick(row: FaultRow, stacked: bool) -> Tally:
    return reduce(
        Tally.add, [each for kind, each in row.outcome.tallies.items() if (kind == STACKED) is stacked], Tally()
    )


def _list_cells(tally: Tally) -> list[str]:
    at_once = tally.stretches - len(tally.back) - tally.late
    back = f"{np.median(tally.back):.1f}, {max(tally.back):.1f}" if tally.back else "–"
    return [*map(str, (tally.faults, tally.frames, tally.lost, tally.wrong, at_once)), back, str(tally.late)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choosing", action="store_true", help="even styles, for choosing")
    parser.add_argument("--only", nargs="+", help="names of worlds; otherwise those that have rows")
    parser.add_argument("--passes", type=int, default=PASSES, help="drives with faults in a world")
    parser.add_argument("--workers", type=int, default=2, help="drives at a time")
    parser.add_argument("--home", type=Path, default=HOME, help="where data and maps are kept")
    parser.add_argument("--rows", type=Path, help="where rows are kept")
    given = parser.parse_args()
    kept = given.rows or (given.home / "runs/faults/rows" if given.choosing else ROWS / "faults")
    names = given.only or [path.stem for path in kept.glob("*.json")]
    grounds = [each for each in (CHOOSING if given.choosing else REPORTING) if each.name in names]
    show_rows(gather(kept, grounds, given.home, given.passes, given.workers))


if __name__ == "__main__":
    main()
