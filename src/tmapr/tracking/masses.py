"""Probability at each reference and speed. What is nothing costs nothing.

On a map of 100 000 references, a camera that is followed is at a hundred of them.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tmapr.tracking.motion import Cells, Motion, Turns, advance, hop, scale, settle

Columns = Float[np.ndarray, " refs"]
Speeds = Float[np.ndarray, " speeds"]


class Seeds(NamedTuple):
    """Mass that comes to every reference, at the same speeds everywhere."""

    columns: Columns
    speeds: Speeds


class Masses:
    """Owns mass[reference, speed]; `rows` are the references that hold some, in order, and `sums` what each holds."""

    def __init__(self, cells: Cells, turns: Turns) -> None:
        self._cells, self._turns = cells, turns
        shape = (len(cells.lengths), len(turns.prior))
        self._mass, self._spare = np.zeros(shape), np.zeros(shape)
        self._present = np.zeros(len(cells.lengths), dtype=bool)
        self.rows: Int[np.ndarray, " rows"] = np.zeros(0, dtype=np.int64)
        self.sums: Columns = np.zeros(len(cells.lengths))

    @property
    def by_speed(self) -> Float[np.ndarray, "speeds refs"]:
        """All of it, a line for each speed."""
        return np.ascontiguousarray(self._mass.T)

    @by_speed.setter
    def by_speed(self, mass: Float[np.ndarray, "speeds refs"]) -> None:
        self._mass = np.array(mass.T, order="C")
        self._count(np.flatnonzero(self._mass.any(axis=1)))

    @property
    def speeds(self) -> Speeds:
        """The sum of each speed."""
        speeds: Speeds = self._mass[self.rows].sum(axis=0)
        return speeds

    @property
    def total(self) -> float:
        """The sum of everything."""
        return float(self.sums.sum())

    def advance(self, motion: Motion) -> Columns:
        """Change speeds, and move; returns what of each reference drove over an open end."""
        mass, spare = self._mass, self._spare
        over: Columns = advance(self._cells, self._turns, motion, mass, self.rows, spare, self._present)
        self._mass, self._spare = spare, mass
        self._count_present()
        return over

    def hop(self, share: float, first: np.ndarray, targets: np.ndarray) -> None:
        """Give a share of what is at a crossing to the other references there. See `motion.hop`."""
        hop(self._mass, self.rows, share, first, targets, self._spare, self._present)
        self._count_present()

    def scale(self, factor: float) -> None:
        """Multiply everything."""
        scale(self._mass, self.rows, factor, self.sums)

    def settle(self, weights: Columns, share: float, seeds: list[Seeds], least: float) -> None:
        """Weigh a share of it, and seeds beside it, by each reference's weight; those with no more than `least` end."""
        columns = np.array([seed.columns for seed in seeds]).reshape(len(seeds), -1)
        speeds = np.array([seed.speeds for seed in seeds]).reshape(len(seeds), -1)
        kept = np.flatnonzero(weights * (share * self.sums + columns.sum(axis=0)) > least)
        settle(self._mass, self.rows, kept, weights, share, columns, speeds)
        self._count(kept)

    def _count_present(self) -> None:
        rows = np.flatnonzero(self._present)
        self._present[rows] = False
        self._count(rows)

    def _count(self, rows: Int[np.ndarray, " rows"]) -> None:
        self.rows = rows
        self.scale(1.0)
