"""Places: the cells of a square grid anchored to the reference traverse, numbered as they are first seen.

A place is an index pair b = ⌊(p − o) / g⌋ with an identifier. Identifiers are given in order of appearance and
never change, because the classifier's columns and the memory's labels are tied to them.
"""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.layout import Array
from tmapr.types import FARTHEST

CellIndex = tuple[int, int]
_MOST_CELLS = 2**53
"""From the origin: beyond, a float64 no longer tells two of them apart."""

LAYOUT = {
    "origin": Array("f", "2", -2 * FARTHEST, 2 * FARTHEST),
    "cell": Array("f", "", 0),
    "cells": Array("i", "places 2", -_MOST_CELLS, _MOST_CELLS),
}


class Grid:
    """The table from cells to places. Only `enter` changes it, and only by adding."""

    def __init__(self, origin: Float[np.ndarray, "2"], cell: float) -> None:
        if not cell > 0:
            raise ValueError(f"cell must be positive, got {cell}")
        self.origin = np.array(origin, dtype=float)
        self.cell = cell
        self._places: dict[CellIndex, int] = {}

    @classmethod
    def from_traverse(cls, positions: Float[np.ndarray, "refs 2"], cell: float) -> "Grid":
        """A grid with the traverse's first position in the middle of a cell.

        A corner of the bounding box would put a straight first leg exactly onto a cell boundary, where
        centimetres of noise flip the label.
        """
        return cls(positions[0] - cell / 2, cell)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def cells(self) -> Int[np.ndarray, "classes 2"]:
        """The cell of every place, in the order of the places."""
        return np.array(list(self._places), dtype=np.int64).reshape(-1, 2)

    def cell_at(self, position: Float[np.ndarray, "2"]) -> CellIndex:
        """The cell around a position."""
        column, row = np.floor((position - self.origin) / self.cell).tolist()
        return int(column), int(row)

    def find(self, position: Float[np.ndarray, "2"]) -> int | None:
        """The place at a position, if it was ever entered."""
        return self.find_cell(self.cell_at(position))

    def find_cell(self, cell: CellIndex) -> int | None:
        """The place of a cell, if it was ever entered."""
        return self._places.get(cell)

    def enter(self, position: Float[np.ndarray, "2"]) -> int:
        """The place at a position, new if it was never entered."""
        return self.enter_cell(self.cell_at(position))

    def enter_cell(self, cell: CellIndex) -> int:
        """The place of a cell, new if it was never entered."""
        return self._places.setdefault(cell, len(self._places))

    def around(self, places: Iterable[int]) -> list[int]:
        """The given places and those of the eight cells around each, once each, in ascending order."""
        cells = list(self._places)
        found = set()
        for place in places:
            column, row = cells[place]
            for cell in ((column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1)):
                if cell in self._places:
                    found.add(self._places[cell])
        return sorted(found)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs."""
        return {"origin": self.origin, "cell": np.array(self.cell), "cells": self.cells}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "Grid":
        """The grid that `arrays` described."""
        grid = cls(arrays["origin"], float(arrays["cell"]))
        for column, row in arrays["cells"].tolist():
            grid.enter_cell((column, row))
        if len(grid) != len(arrays["cells"]):
            raise ValueError(f"{len(arrays['cells'])} places share {len(grid)} cells")
        return grid
