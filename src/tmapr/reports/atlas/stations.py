"""The mapped route in equal steps: a reference every step, from one gap of a traverse to the next.

Two places are compared stretch by stretch, and a stretch has to be as many metres here as there: references where the
camera stood or crawled would count for nothing but themselves.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.reference import measure_steps
from tmapr.retrieval.memory import Memory

_STEPS = 5
"""A place is so many steps long, or fewer where references are farther apart."""


@dataclass(frozen=True, slots=True)
class Stations:
    """Chosen references in the order they were driven; `runs` numbers the unbroken parts of traverses.

    `rows` are theirs in the map's memory, `nearest` has the station that stands for each row of it. `way` is metres
    driven since the start of the first traverse; gaps and ways between traverses do not count.
    """

    rows: Int[np.ndarray, " stations"]
    positions: Float[np.ndarray, "stations 2"]
    runs: Int[np.ndarray, " stations"]
    way: Float[np.ndarray, " stations"]
    nearest: Int[np.ndarray, " refs"]
    step: float
    tolerance: float
    """Metres from a place that are the same place."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def reach(self) -> int:
        """Stations on either side that make a stretch: as far as a place reaches."""
        return max(1, round(self.tolerance / self.step))

    def count_before(self) -> Int[np.ndarray, " stations"]:
        """Stations of the same run before each, as far as a stretch reaches."""
        starts = np.searchsorted(self.runs, self.runs, "left")
        return np.minimum(np.arange(len(self)) - starts, self.reach)

    def count_after(self) -> Int[np.ndarray, " stations"]:
        """Stations of the same run after each, as far as a stretch reaches."""
        stops = np.searchsorted(self.runs, self.runs, "right")
        return np.minimum(stops - 1 - np.arange(len(self)), self.reach)

    def measure(self, mask: Bool[np.ndarray, " stations"]) -> float:
        """Metres that the stations of a mask stand for."""
        return float(mask.sum()) * self.step


def lay_stations(memory: Memory) -> Stations:
    """Stations along all traverses; a step is a fifth of a place, or what the references are apart if that is more."""
    spacing, tolerance = memory.reference.spacing, memory.reference.place
    step = max(spacing, tolerance / _STEPS)
    parts = [_choose(memory.positions[run], step - spacing / 2) for run in list_runs(memory)]
    chosen = [run[part] for run, part in zip(list_runs(memory), parts, strict=True)]
    rows = np.concatenate(chosen)
    runs = np.repeat(np.arange(len(chosen)), [len(part) for part in chosen])
    return Stations(
        rows=rows,
        positions=memory.positions[rows],
        runs=runs,
        way=_measure_way(memory.positions[rows], runs),
        nearest=_find_nearest(memory, chosen),
        step=step,
        tolerance=tolerance,
    )


def list_runs(memory: Memory) -> list[Int[np.ndarray, " _"]]:
    """The rows of each traverse as they were driven, broken where two neighbours are not two views of one stretch."""
    drives = memory.drives()
    steps = measure_steps(drives, memory.positions)
    breaks = (np.flatnonzero(step > 2 * memory.reference.place) + 1 for step in steps)
    return [run for drive, places in zip(drives, breaks, strict=True) for run in np.split(drive, places)]


def _choose(positions: Float[np.ndarray, "n 2"], least: float) -> Int[np.ndarray, " chosen"]:
    """Each at least so far from the last one: jitter of a camera that stands never adds up to a step."""

    def follow() -> Iterator[int]:
        at_x = at_y = np.inf
        for number, (x, y) in enumerate(positions.tolist()):
            if not (x - at_x) ** 2 + (y - at_y) ** 2 < least**2:
                at_x, at_y = x, y
                yield number

    return np.fromiter(follow(), dtype=np.int64)


def _measure_way(positions: Float[np.ndarray, "n 2"], runs: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    steps = np.hypot(*np.diff(positions, axis=0).T) * (np.diff(runs) == 0)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _find_nearest(memory: Memory, chosen: list[Int[np.ndarray, " _"]]) -> Int[np.ndarray, " refs"]:
    nearest, first = np.zeros(len(memory), dtype=np.int64), 0
    for run, stations in zip(list_runs(memory), chosen, strict=True):
        # By their turn and not by distance: a run may cross itself.
        turns = np.searchsorted(np.flatnonzero(np.isin(run, stations)), np.arange(len(run)), "right") - 1
        later = np.minimum(turns + 1, len(stations) - 1)
        here = memory.positions[run]
        ways = [np.hypot(*(here - memory.positions[stations[turn]]).T) for turn in (turns, later)]
        nearest[run] = first + np.where(ways[1] < ways[0], later, turns)
        first += len(stations)
    return nearest
