"""The belief along the mapped route as bars, and beside them that of being off the map."""

import numpy as np
import rerun as rr
from jaxtyping import Float, Int

from tmapr.live.viewer import blueprint as at
from tmapr.live.viewer.trail import to_rgb
from tmapr.reports.figures.route_belief import RouteAxes
from tmapr.reports.film.colours import AWAY, BELIEF, Colour
from tmapr.retrieval.memory import Memory
from tmapr.types import RouteBelief

_Bars = Float[np.ndarray, " bars"]
_BARS = 160
_APART = 4
"""Bars that would fit between the route's end and the bar of what is off the map, which is as wide."""


class RouteBars:
    """Bars of equal lengths of the route; probabilities within one are added up."""

    def __init__(self, stream: rr.RecordingStream, memory: Memory) -> None:
        self._stream = stream
        along = RouteAxes.of(memory).along
        width = max(float(along.max()), 1.0) / _BARS
        self._bars: Int[np.ndarray, " refs"] = np.minimum((along / width).astype(np.int64), _BARS - 1)
        self._middles, self._widths = (np.arange(_BARS) + 0.5) * width, np.full(_BARS, width)
        self._away = np.array([(_BARS + 1.5 * _APART) * width]), np.array([_APART * width])

    def draw(self, route: RouteBelief | None) -> None:
        """A belief at the time that is set; only the route filter has one."""
        if route is None:
            return
        heights = np.bincount(self._bars[route.rows], route.masses, minlength=_BARS)
        self._log(at.ROUTE, heights.astype(float), self._middles, self._widths, BELIEF)
        self._log(at.OFF_MAP, np.array([route.p_off_map]), *self._away, AWAY)

    def _log(self, path: str, heights: _Bars, middles: _Bars, widths: _Bars, colour: Colour) -> None:
        single = (each.astype(np.float32) for each in (heights, middles, widths))
        values, abscissa, wide = single
        bars = rr.BarChart(values, abscissa=abscissa, widths=wide, color=to_rgb(colour))
        self._stream.log(path, bars, strict=True)
