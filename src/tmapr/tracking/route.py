"""The mapped route as a grid: cells of equal length along every traverse, each between two references.

A traverse that ends where it began, in the same direction, is a loop and closes. Cells are kept in tiles of `TILE`; the
last tile of a traverse may have cells to spare, which nothing ever comes to.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from tmapr.reference import measure_reference, measure_steps
from tmapr.retrieval.memory import Memory
from tmapr.tracking.model import RouteModel

TILE = 64
_PAIRS = 4000


@dataclass(frozen=True, slots=True)
class Route:
    """References in the order they were driven, one traverse after the other, and the cells between them."""

    rows: Int[np.ndarray, " refs"]
    """Of M₀."""
    positions: Float[np.ndarray, "refs 2"]
    headings: Float[np.ndarray, " refs"]
    """Which way the camera looked, in radians; NaN where nobody knows."""
    places: Int[np.ndarray, " refs"]
    share: Float[np.ndarray, " refs"]
    """Of the whole way, what each reference stands for."""
    cell: float
    """Metres."""
    first: Int[np.ndarray, " bounds"]
    """The first tile of each traverse, and how many tiles there are."""
    cells: Int[np.ndarray, " traverses"]
    """Cells of each traverse."""
    closed: Bool[np.ndarray, " traverses"]
    before: Int[np.ndarray, " cells"]
    after: Int[np.ndarray, " cells"]
    between: Float[np.ndarray, " cells"]
    """Each cell's references, and how far it lies from the first of them to the second, 0 to 1."""
    spots: Float[np.ndarray, "cells 2"]
    used: Int[np.ndarray, " used"]
    """The cells that are not spare."""
    tree: cKDTree
    """Of the used cells."""
    references: cKDTree
    speed: float
    """Metres a second while driving, in the median."""
    spacing: float
    view: float
    """Change of descriptor, 1 − cosine, that makes another view."""
    metres_a_view: float
    """From one view of the mapped drives to the next that is another one, in the mean."""

    def find_near(self, spot: Float[np.ndarray, "2"], radius: float) -> Int[np.ndarray, " near"]:
        """The cells around a spot, in their order."""
        return self.used[np.sort(np.array(self.tree.query_ball_point(spot, radius), dtype=np.int64))]


def lay_route(memory: Memory, model: RouteModel) -> Route:
    """The route that a map's references were driven along."""
    drives, positions = memory.drives(), memory.positions
    reference = measure_reference(drives, positions, memory.stamps)
    spacing, view = reference.spacing, model.new_view * _measure_unrelated(memory.descriptors)
    cell = max(model.cell, spacing / model.cells_per_spacing)
    begin, first = 0, [0]
    parts, counts, closed = [], [], []
    for drive, moved in zip(drives, measure_steps(drives, positions), strict=True):
        loop = _closes(positions[drive], moved, model.loop_gap * spacing)
        part = _cut(positions[drive], np.minimum(moved, model.longest_step * spacing), cell, loop)
        counts.append(len(part))
        tiles = -(-len(part) // TILE)
        spare = np.repeat(part[-1:], tiles * TILE - len(part), axis=0)
        part = np.concatenate([part, spare])
        part[:, :2] += begin
        parts.append(part)
        closed.append(loop)
        first.append(first[-1] + tiles)
        begin += len(drive)
    table = np.concatenate(parts)
    before, after, between = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]
    rows = np.concatenate(drives)
    used = np.concatenate([start * TILE + np.arange(count) for start, count in zip(first, counts, strict=False)])
    share = np.bincount(before[used], 1.0 - between[used], len(rows))
    share += np.bincount(after[used], between[used], len(rows))
    placed = positions[rows]
    spots = placed[before] + between[:, None] * (placed[after] - placed[before])
    return Route(
        rows=rows,
        positions=placed,
        headings=memory.headings[rows],
        places=memory.places[rows],
        share=share / share.sum(),
        cell=cell,
        first=np.array(first),
        cells=np.array(counts),
        closed=np.array(closed),
        before=before,
        after=after,
        between=between,
        spots=spots,
        used=used,
        tree=cKDTree(spots[used]),
        references=cKDTree(placed),
        speed=reference.speed,
        spacing=spacing,
        view=view,
        metres_a_view=_measure_views(memory, view) or model.view,
    )


def _measure_views(memory: Memory, view: float) -> float:
    """Metres from one view to the next that is another one; 0 where all are one."""
    drives, metres, count = memory.drives(), 0.0, 0
    for drive, moved in zip(drives, measure_steps(drives, memory.positions), strict=True):
        key, since = memory.descriptors[drive[0]], 0.0
        for row, step in zip(drive[1:], moved, strict=True):
            since += step
            if 1.0 - memory.descriptors[row] @ key >= view:
                key, metres, count, since = memory.descriptors[row], metres + since, count + 1, 0.0
    return metres / max(count, 1)


def _closes(positions: Float[np.ndarray, "n 2"], steps: Float[np.ndarray, " m"], reach: float) -> bool:
    """Whether a traverse ends where it began, heading the same way."""
    if len(positions) < 4 or steps.sum() < 10 * reach:
        return False
    gap = positions[0] - positions[-1]
    begins, ends = positions[3] - positions[0], positions[-1] - positions[-4]
    return bool(np.hypot(*gap) <= max(reach, float(steps.max()))) and float(begins @ ends) > 0


def _cut(
    positions: Float[np.ndarray, "n 2"], steps: Float[np.ndarray, " m"], cell: float, closed: bool
) -> Float[np.ndarray, "cells 3"]:
    """The cells of a traverse: the references before and after each, and how far between them it lies."""
    way = np.concatenate([[0.0], np.cumsum(steps)])
    round_trip = way[-1] + float(np.hypot(*(positions[0] - positions[-1])))
    count = max(round(round_trip / cell), 1) if closed else round(way[-1] / cell) + 1
    ends = np.append(way, round_trip) if closed else way
    along = np.arange(count) * (round_trip / count) if closed else np.linspace(0.0, way[-1], count)
    before = np.clip(np.searchsorted(ends, along, side="right") - 1, 0, max(len(ends) - 2, 0))
    after = np.minimum(before + 1, len(ends) - 1)
    step = ends[after] - ends[before]
    between = np.divide(along - ends[before], step, out=np.zeros(count), where=step > 0)
    return np.column_stack([before, after % len(way), np.clip(between, 0.0, 1.0)])


def _measure_unrelated(descriptors: Float[np.ndarray, "refs dim"]) -> float:
    """What separates two references drawn blindly, in the median."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(descriptors), (2, min(_PAIRS, 4 * len(descriptors))))
    change = 1.0 - np.einsum("nd,nd->n", descriptors[pairs[0]], descriptors[pairs[1]])
    return max(float(np.median(change)), 1e-6)
