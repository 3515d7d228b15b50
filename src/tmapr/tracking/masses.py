"""Probability at each cell and speed. What is nothing costs nothing.

On a map of 100 000 references, a camera that is followed is in one tile or two.
"""

import numpy as np
from jaxtyping import Float, Int

from tmapr.tracking.motion import Cells, Taps, Tiles, Transfer, Weights, advance
from tmapr.tracking.route import TILE


class Masses:
    """Probability of each cell and speed."""

    def __init__(self, tiles: int, speeds: int) -> None:
        where, totals = np.zeros((tiles, TILE)), np.zeros(tiles)
        self._now, self._next = (
            Tiles(np.zeros((tiles, speeds, TILE)), np.zeros(tiles, dtype=bool), where, totals) for _ in range(2)
        )
        self._factor = 1.0
        """Of the mass, which is divided when it moves."""
        self.speeds = np.zeros(speeds)
        """Probability of each speed, of what is here."""

    @property
    def where(self) -> Float[np.ndarray, "tiles cells"]:
        """Probability of each cell."""
        return self._now.where

    @property
    def total(self) -> float:
        """Of everything here."""
        return float(self.speeds.sum())

    def spread(self, where: Float[np.ndarray, "tiles cells"], speeds: Float[np.ndarray, " speeds"]) -> None:
        """Begin with these cells, at the same speeds everywhere."""
        self._now.where[:] = where
        self._now.mass[:] = where[:, None, :] * speeds[None, :, None]
        self._now.live[:] = True
        self._factor, self.speeds = 1.0, where.sum() * speeds

    def advance(self, grid: Cells, taps: Taps, change: Transfer, weights: Weights) -> tuple[float, float]:
        """Move, change speeds, weigh; the sum before that, and how likely the view is by what is here."""
        change = change._replace(kept=change.kept * self._factor)
        predicted, likelihood, self.speeds = advance(grid, taps, change, weights, self._now, self._next)
        self._now, self._next, self._factor = self._next, self._now, 1.0
        ended = self._now.live & (self._now.totals < change.least * self.total)
        self._now.live[ended] = False
        self._now.where[ended] = 0.0
        return predicted, likelihood

    def scale(self, total: float) -> None:
        """Have everything here add up to so much."""
        self._factor = total / self.total
        self._now.where[:] *= self._factor
        self.speeds = self.speeds * self._factor

    def arrays(self) -> dict[str, np.ndarray]:
        """What is live."""
        live = self._now.live
        mass, factor = self._now.mass[live], np.array(self._factor)
        return {"tiles": np.flatnonzero(live), "mass": mass, "factor": factor, "speeds": self.speeds}

    def restore(
        self, tiles: Int[np.ndarray, " live"], mass: np.ndarray, factor: np.ndarray, speeds: np.ndarray
    ) -> None:
        """Take up what `arrays` gave."""
        now = self._now
        if mass.shape[1:] != now.mass.shape[1:] or len(speeds) != len(self.speeds):
            raise ValueError(f"{len(speeds)} speeds, tiles of {mass.shape[1:]}; expected were {now.mass.shape[1:]}")
        if len(tiles) and (tiles[-1] >= len(now.live) or (np.diff(tiles) <= 0).any()):
            raise ValueError(f"the map has {len(now.live)} tiles of cells; they are not named in order")
        now.live[:] = False
        now.live[tiles] = True
        now.mass[tiles] = mass
        now.where[:] = 0.0
        for k in range(mass.shape[1]):
            now.where[tiles] += mass[:, k]
        self._factor, self.speeds = float(factor), np.array(speeds)
        now.where[:] *= self._factor
