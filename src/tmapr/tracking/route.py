"""The mapped route as a filter walks it: cells along the way, how fast it was driven, and how soon its views change.

Each reference owns the stretch of its traverse that lies nearer to it than to its neighbours. `view` is the change of
descriptor, one minus the cosine, that counts as a new view: a quarter of what separates unrelated references; `lengths`
are the metres of the way after which the map's own view has changed by it. That unit travels: a drive by night sees new
views after nearly the same metres as the mapped one, whatever its clock, its rate and its weather.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from tmapr.reference import measure_reference, measure_steps

_NEW_VIEW = 0.25
_PAIRS = 4000
_LOOK_AHEAD = 64
"""References ahead of one among which its view must have changed, or the last of them is taken."""
_STOPPED = 0.1
"""Share of the usual step below which a cell is a sliver of a stop."""
_CLOSE = 3.0
"""Steps within which two references are taken for the same spot: a traverse that closes, a crossing."""


@dataclass(frozen=True, slots=True)
class Route:
    """References in the order they were driven, one traverse after the other; `rows` are their rows in M₀."""

    rows: Int[np.ndarray, " refs"]
    positions: Float[np.ndarray, "refs 2"]
    places: Int[np.ndarray, " refs"]
    first: Int[np.ndarray, " drives"]
    """The first reference of each traverse."""
    edges: Float[np.ndarray, " bounds"]
    """Where cells begin along a traverse, in metres, and where its last one ends: one more than references, each."""
    closed: Bool[np.ndarray, " drives"]
    lengths: Float[np.ndarray, " refs"]
    view: float
    speed: float
    """Metres a second while driving, in the median."""
    spacing: float
    headings: Float[np.ndarray, " refs"]
    """Which way the camera looked, in radians; NaN where nobody knows."""
    likeness: Float[np.ndarray, " refs"]
    """Of the view there and of the next along the traverse: 1 where they are the same, 0 where they are unrelated."""
    links: Int[np.ndarray, "links 2"]
    """Ordered pairs of references at one spot that are not neighbours along the way: crossings, other traverses."""
    tree: cKDTree

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def widths(self) -> Float[np.ndarray, " refs"]:
        """Metres of the way that each reference owns."""
        drive = self.drive_of
        at = np.arange(len(self)) + drive
        widths: Float[np.ndarray, " refs"] = self.edges[at + 1] - self.edges[at]
        return widths

    @property
    def last(self) -> Int[np.ndarray, " drives"]:
        """The last reference of each traverse."""
        return np.append(self.first[1:], len(self)) - 1

    @property
    def drive_of(self) -> Int[np.ndarray, " refs"]:
        """The traverse of each reference."""
        return np.searchsorted(self.first, np.arange(len(self)), side="right") - 1


def lay_route(
    drives: Sequence[Int[np.ndarray, " _"]],
    positions: Float[np.ndarray, "refs 2"],
    stamps: Int[np.ndarray, " refs"],
    places: Int[np.ndarray, " refs"],
    descriptors: Float[np.ndarray, "refs dim"],
    headings: Float[np.ndarray, " refs"] | None = None,
) -> Route:
    """From the rows of each traverse in the order they were driven, and what M₀ holds of them."""
    rows = np.concatenate(drives)
    reference = measure_reference(drives, positions, stamps)
    steps, spacing = measure_steps(drives, positions), reference.spacing
    closed = np.array([_closes(positions[drive], moved, spacing) for drive, moved in zip(drives, steps, strict=True)])
    edges = [
        _cut(positions[drive], moved, spacing, bool(loop))
        for drive, moved, loop in zip(drives, steps, closed, strict=True)
    ]
    unrelated = _measure_unrelated(descriptors)
    view = _NEW_VIEW * unrelated
    along = [np.concatenate([[0.0], np.cumsum(moved)]) for moved in steps]
    lengths = [
        _measure_lengths(descriptors, drive, way, float(cut[-1] - cut[0]) if loop else None, view, spacing)
        for drive, way, cut, loop in zip(drives, along, edges, closed, strict=True)
    ]
    route = Route(
        rows=rows,
        positions=np.ascontiguousarray(positions[rows]),
        places=places[rows],
        first=np.cumsum([0, *(len(drive) for drive in drives)])[:-1],
        edges=np.concatenate(edges),
        closed=closed,
        lengths=np.concatenate(lengths),
        view=view,
        speed=reference.speed,
        spacing=spacing,
        headings=np.full(len(rows), np.nan) if headings is None else headings[rows],
        likeness=np.concatenate([_compare_neighbours(descriptors[drive], unrelated) for drive in drives]),
        links=np.zeros((0, 2), dtype=np.int64),
        tree=cKDTree(positions[rows]),
    )
    return replace(route, links=_find_links(route))


def _closes(positions: Float[np.ndarray, "n 2"], steps: Float[np.ndarray, " m"], spacing: float) -> bool:
    """Whether a traverse ends where it began, heading the same way."""
    reach = _CLOSE * spacing
    if len(positions) < 4 or steps.sum() < 10 * reach:
        return False
    gap = positions[0] - positions[-1]
    begins, ends = positions[3] - positions[0], positions[-1] - positions[-4]
    return bool(np.hypot(*gap) <= max(reach, float(steps.max()))) and float(begins @ ends) > 0


def _cut(
    positions: Float[np.ndarray, "n 2"], steps: Float[np.ndarray, " m"], spacing: float, closed: bool
) -> Float[np.ndarray, " bounds"]:
    """The bounds of the cells: midway between references; a reference where the drive stood keeps a sliver."""
    way = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-3 * spacing))])
    gap = max(float(np.hypot(*(positions[0] - positions[-1]))), 1e-3 * spacing) if closed else spacing
    middle = (way[1:] + way[:-1]) / 2
    return np.concatenate([[way[0] - gap / 2], middle, [way[-1] + gap / 2]])


def _measure_unrelated(descriptors: Float[np.ndarray, "refs dim"]) -> float:
    """What separates two references drawn blindly, in the median."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(descriptors), (2, min(_PAIRS, 4 * len(descriptors))))
    change = 1.0 - np.einsum("nd,nd->n", descriptors[pairs[0]], descriptors[pairs[1]])
    return max(float(np.median(change)), 1e-6)


def _compare_neighbours(own: Float[np.ndarray, "rows dim"], unrelated: float) -> Float[np.ndarray, " rows"]:
    """How alike each view and the next are; the last is compared with the first, should the traverse close."""
    change = 1.0 - np.einsum("nd,nd->n", own, np.roll(own, -1, axis=0))
    return np.clip(1.0 - change / unrelated, 0.0, 1.0)


def _measure_lengths(
    descriptors: Float[np.ndarray, "refs dim"],
    drive: Int[np.ndarray, " rows"],
    way: Float[np.ndarray, " rows"],
    around: float | None,
    view: float,
    spacing: float,
) -> Float[np.ndarray, " rows"]:
    """Metres after which the view ahead of each reference has changed, between references in proportion."""
    count = len(drive)
    own = np.asarray(descriptors[drive])
    metres, change = np.zeros(count), np.zeros(count)
    found = np.full(count, np.nan)
    for ahead in range(1, min(_LOOK_AHEAD, count - 1) + 1):
        waiting = np.flatnonzero(np.isnan(found))
        other = waiting + ahead
        if around is None:
            waiting, other = waiting[other < count], other[other < count]
        if not len(waiting):
            break
        other = other % count
        distance = way[other] - way[waiting]
        distance = np.where(distance < 0, distance + (around or 0.0), distance)
        now = 1.0 - np.einsum("nd,nd->n", own[waiting], own[other])
        rise = np.maximum(now - change[waiting], 1e-12)
        there = metres[waiting] + (distance - metres[waiting]) * (view - change[waiting]) / rise
        found[waiting[now >= view]] = there[now >= view]
        metres[waiting], change[waiting] = distance, np.maximum(change[waiting], now)
    # What changed too little until the end is as long as what was seen of it, or as the others.
    usual = float(np.nanmedian(found)) if np.isfinite(found).any() else spacing
    found = np.where(np.isnan(found), np.maximum(metres, usual), found)
    return np.maximum(found, 0.05 * spacing)


def _find_links(route: Route) -> Int[np.ndarray, "links 2"]:
    reach, drive = _CLOSE * route.spacing, route.drive_of
    # Slivers of a stop would be linked with one another by the million.
    able = np.flatnonzero(route.widths > _STOPPED * route.spacing)
    pairs = able[cKDTree(route.positions[able]).query_pairs(reach, output_type="ndarray")]
    way = route.edges[pairs + drive[pairs]]
    round_trip = np.where(
        route.closed,
        route.edges[route.last + np.arange(len(route.first)) + 1]
        - route.edges[route.first + np.arange(len(route.first))],
        np.inf,
    )
    apart = np.abs(way[:, 0] - way[:, 1])
    apart = np.minimum(apart, round_trip[drive[pairs[:, 0]]] - apart)
    kept = pairs[(drive[pairs[:, 0]] != drive[pairs[:, 1]]) | (apart > 4 * reach)]
    return np.concatenate([kept, kept[:, ::-1]]).astype(np.int64)
