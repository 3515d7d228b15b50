"""How one map differs from another of its frame: references, traverses, places, and the weights of each place.

A reference is the same if it is the same frame of the same traverse, with the same descriptor at the same position.
Places are cells of the first map's grid in which a map has references.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.notes import UpkeepNotes
from tmapr.data.coordinates import describe
from tmapr.exceptions import InputError
from tmapr.places.grid import CellIndex, Grid
from tmapr.retrieval.memory import Memory
from tmapr.system import Map
from tmapr.upkeep.changing import have_one_base


class Counts(Document):
    """How many are in both maps, how many only in the second and only in the first."""

    same: int
    new: int
    gone: int


class TraverseDiffering(Document):
    """A traverse, by its references."""

    name: str
    references: Counts


class PlaceApart(Document):
    """A place, by the middle of its cell, with the references it had and has."""

    place: tuple[float, float]
    references: tuple[int, int]
    distance: float | None
    """Norm of the difference of its weights, in shares of the norm of all of the first; None where grids differ."""


class MapDifference(Document):
    """What became of a map."""

    first: str
    second: str
    first_digest: str
    second_digest: str
    steps: tuple[UpkeepNotes, ...]
    """By which the second came of the first; none where it did not."""
    one_base: bool
    """Whether grid and projections are the same, so that weights can be compared."""
    references: Counts
    traverses: tuple[TraverseDiffering, ...]
    places: Counts
    distance: float | None
    """Norm of the difference of W, in shares of that of the first."""
    farthest: tuple[PlaceApart, ...]
    """Places that are not the same, those with other references first, then by their weights."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The difference, and which rows of M₀ are in both maps."""

    told: MapDifference
    kept: Bool[np.ndarray, " first"]
    """Of the first map's rows; the others are gone."""
    known: Bool[np.ndarray, " second"]
    """Of the second map's rows; the others are new."""


def compare_maps(first: Map, second: Map, names: tuple[str, str], most: int = 20) -> Compared:
    """How the second differs from the first; `most` places are listed."""
    if first.frame != second.frame:
        raise InputError(
            f"{names[1]}: has positions in {describe(second.frame)}, {names[0]} in {describe(first.frame)};"
            " only maps of one frame are compared"
        )
    kept, known = _match(first.memory, second.memory)
    one_base = have_one_base(first, second)
    grid = Grid.from_arrays({name: first.initial[f"grid.{name}"] for name in ("origin", "cell", "cells")})
    before, after = (_count_places(grid, each.memory) for each in (first, second))
    weights = _measure_weights(first, second) if one_base else None
    told = MapDifference(
        first=names[0],
        second=names[1],
        first_digest=first.digest,
        second_digest=second.digest,
        steps=_list_steps(first.digest, second.past),
        one_base=one_base,
        references=Counts(same=int(known.sum()), new=int((~known).sum()), gone=int((~kept).sum())),
        traverses=_compare_traverses(first.memory, second.memory, kept, known),
        places=Counts(
            same=len(before.keys() & after.keys()),
            new=len(after.keys() - before.keys()),
            gone=len(before.keys() - after.keys()),
        ),
        distance=None if weights is None else float(np.linalg.norm(list(weights.values()))),
        farthest=_list_farthest(grid, before, after, weights)[:most],
    )
    return Compared(told, kept, known)


def _match(first: Memory, second: Memory) -> tuple[Bool[np.ndarray, " first"], Bool[np.ndarray, " second"]]:
    rows = {key: row for row, key in enumerate(zip(first.sequences.tolist(), first.frames.tolist(), strict=True))}
    kept, known = np.full(len(first), False), np.full(len(second), False)
    for row, key in enumerate(zip(second.sequences.tolist(), second.frames.tolist(), strict=True)):
        other = rows.get(key)
        if other is None or not np.array_equal(first.positions[other], second.positions[row]):
            continue
        if np.array_equal(first.descriptors[other], second.descriptors[row]):
            kept[other] = known[row] = True
    return kept, known


def _compare_traverses(
    first: Memory, second: Memory, kept: Bool[np.ndarray, " first"], known: Bool[np.ndarray, " second"]
) -> tuple[TraverseDiffering, ...]:
    gone, new = Counter(first.sequences[~kept].tolist()), Counter(second.sequences[~known].tolist())
    same = Counter(second.sequences[known].tolist())
    return tuple(
        TraverseDiffering(name=name, references=Counts(same=same[name], new=new[name], gone=gone[name]))
        for name in sorted(same | new | gone)
    )


def _count_places(grid: Grid, memory: Memory) -> Counter[CellIndex]:
    return Counter(grid.cell_at(position) for position in memory.positions)


def _measure_weights(first: Map, second: Map) -> dict[CellIndex, float]:
    """How far the weights of each cell are apart, in shares of all of the first's."""
    ours, theirs = (_take_columns(each) for each in (first, second))
    none = np.zeros(len(first.initial["ridge.weights"]))
    whole = max(float(np.linalg.norm(first.initial["ridge.weights"])), np.finfo(float).tiny)
    cells = ours | theirs
    return {cell: float(np.linalg.norm(ours.get(cell, none) - theirs.get(cell, none))) / whole for cell in cells}


def _take_columns(environment: Map) -> dict[CellIndex, Float[np.ndarray, " dim"]]:
    cells = [(column, row) for column, row in environment.initial["grid.cells"].tolist()]
    return dict(zip(cells, environment.initial["ridge.weights"].T, strict=True))


def _list_farthest(
    grid: Grid,
    before: Counter[CellIndex],
    after: Counter[CellIndex],
    weights: dict[CellIndex, float] | None,
) -> tuple[PlaceApart, ...]:
    apart = weights or {}
    cells = [cell for cell in before | after if before[cell] != after[cell] or apart.get(cell)]
    cells.sort(key=lambda cell: (before[cell] == after[cell], -apart.get(cell, 0.0), cell))
    return tuple(
        PlaceApart(
            place=_find_middle(grid, cell),
            references=(before[cell], after[cell]),
            distance=None if weights is None else apart.get(cell, 0.0),
        )
        for cell in cells
    )


def _find_middle(grid: Grid, cell: CellIndex) -> tuple[float, float]:
    x, y = (grid.origin + (np.array(cell) + 0.5) * grid.cell).tolist()
    return x, y


def _list_steps(digest: str, past: tuple[UpkeepNotes, ...]) -> tuple[UpkeepNotes, ...]:
    """Those since the map of that name."""
    for number, step in enumerate(past):
        if digest in step.parents:
            return past[number:]
    return ()
