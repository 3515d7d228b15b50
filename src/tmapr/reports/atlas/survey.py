"""What a map covers: metres, spacing, gaps, where it was driven again, places. Arrays in, values out."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from tmapr.data.poses import track_direction, wrap_angles
from tmapr.reference import measure_steps
from tmapr.reports.atlas.stations import Stations
from tmapr.retrieval.memory import Memory

_STANDING = 0.1
"""Share of the spacing below which the camera stood between two references."""
_ALONG = np.pi / 4
"""Radians up to which two directions are one, or each other's opposite; what is between is a crossing."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Two references that follow each other in a traverse, in the middle of which no reference is near."""

    start: int
    stop: int
    metres: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """Metres: of all drives, of the route when what was driven again counts once, and from reference to reference."""

    driven: float
    distinct: float
    median: float
    p95: float
    longest: float
    standing: int
    """References at which the camera had not moved on."""
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Which stations were passed at another time, too, in the same direction and against it."""

    along: Bool[np.ndarray, " stations"]
    against: Bool[np.ndarray, " stations"]
    later: Bool[np.ndarray, " stations"]
    """Passed before, in either direction."""


@dataclass(frozen=True, slots=True)
class PlaceCounts:
    """Places that have references, and how many; metres of a cell's side."""

    places: int
    cell: float
    median: float
    most: int
    lonely: int
    """Places with one reference."""


def measure_coverage(memory: Memory, repeats: Repeats) -> Coverage:
    """Of all traverses together; a gap is no spacing."""
    steps = np.concatenate(measure_steps(memory.drives(), memory.positions))
    gaps = find_gaps(memory)
    bridged = steps[steps <= 2 * memory.reference.place]
    moving = bridged[bridged > _STANDING * memory.reference.spacing]
    lengths = moving if len(moving) else np.zeros(1)
    driven = float(bridged.sum())
    return Coverage(
        driven=driven,
        distinct=driven * (1 - float(repeats.later.mean())),
        median=float(np.median(lengths)),
        p95=float(np.percentile(lengths, 95)),
        longest=float(steps.max(initial=0.0)),
        standing=len(bridged) - len(moving),
        gaps=gaps,
    )


def find_gaps(memory: Memory) -> tuple[Gap, ...]:
    """Steps in whose middle no reference of any traverse is as near as an estimate has to be; the longest first."""
    tolerance, tree = memory.reference.place, cKDTree(memory.positions)
    found = []
    for drive, steps in zip(memory.drives(), measure_steps(memory.drives(), memory.positions), strict=True):
        for place in np.flatnonzero(steps > 2 * tolerance).tolist():
            start, stop = int(drive[place]), int(drive[place + 1])
            away, _ = tree.query((memory.positions[start] + memory.positions[stop]) / 2)
            if away > tolerance:
                found.append(Gap(start, stop, float(steps[place])))
    return tuple(sorted(found, key=lambda gap: -gap.metres))


def find_repeats(stations: Stations) -> Repeats:
    """Stations of other passes within a place; on one pass they are near each other on the way, too."""
    pairs = cKDTree(stations.positions).query_pairs(stations.tolerance, output_type="ndarray")
    earlier, later = np.sort(pairs, axis=1).T if len(pairs) else np.zeros((2, 0), dtype=np.int64)
    other = (stations.runs[earlier] != stations.runs[later]) | (
        stations.way[later] - stations.way[earlier] > 2 * stations.tolerance
    )
    directions = _find_directions(stations)
    turned = np.abs(wrap_angles(directions[later] - directions[earlier]))
    along, against = other & (turned < _ALONG), other & (turned > np.pi - _ALONG)
    count = len(stations)
    return Repeats(
        _mark(count, earlier[along], later[along]),
        _mark(count, earlier[against], later[against]),
        _mark(count, later[along | against]),
    )


def count_places(memory: Memory, cell: float) -> PlaceCounts:
    """Of places that were mapped; others, which learning may add, have no references."""
    counts = np.diff(memory.offsets)
    counts = counts[counts > 0]
    return PlaceCounts(len(counts), cell, float(np.median(counts)), int(counts.max()), int((counts == 1).sum()))


def _find_directions(stations: Stations) -> Float[np.ndarray, " stations"]:
    """In which each station was passed, whatever the camera looked at."""
    parts = np.split(stations.positions, np.flatnonzero(np.diff(stations.runs)) + 1)
    return np.concatenate([track_direction(part) for part in parts])


def _mark(count: int, *rows: Int[np.ndarray, " _"]) -> Bool[np.ndarray, " n"]:
    marked = np.zeros(count, dtype=bool)
    for each in rows:
        marked[each] = True
    return marked
