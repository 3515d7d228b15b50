"""References around a reference: asked for three times a frame, of the same place for many frames."""

from functools import lru_cache

import numpy as np
from jaxtyping import Int

from tmapr.tracking.route import Route

_KEPT = 256
"""References whose surroundings are remembered; a map may have millions."""


class Around:
    """What lies within a place's radius of each reference; all are named by their number along the route."""

    def __init__(self, route: Route, radius: float) -> None:
        self._route, self._radius = route, radius
        self._number = np.empty(len(route), np.int64)
        self._number[route.rows] = np.arange(len(route))
        self.find = lru_cache(_KEPT)(self._find)
        """The references around one, itself among them, in their order."""

    def find_rows(self, row: int) -> Int[np.ndarray, " near"]:
        """The same by rows of M₀."""
        return self._route.rows[self.find(int(self._number[row]))]

    def _find(self, number: int) -> Int[np.ndarray, " near"]:
        near = np.sort(self._route.tree.query_ball_point(self._route.positions[number], self._radius))
        near.flags.writeable = False
        return near
