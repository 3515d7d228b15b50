"""A track on the map, sent in pieces: what is far behind is never sent again, however long the drive."""

import numpy as np
import rerun as rr
from jaxtyping import Float

from tmapr.reports.film.colours import Colour

_PIECE = 64
"""Points of a piece: twice as many are one more kilobyte a frame, half as many more to draw for the viewer."""


def to_rgb(colour: Colour) -> tuple[int, int, int]:
    """The film's colours are as OpenCV orders them."""
    blue, green, red = colour
    return red, green, blue


class Trail:
    """Dots in the order they were driven: no line claims what lies between two answers."""

    def __init__(self, stream: rr.RecordingStream, past: str, recent: str, *, radius: float, order: float) -> None:
        self._stream, self._past, self._recent = stream, past, recent
        self._radius, self._order = rr.Radius.ui_points(radius), order
        self._points = list[Float[np.ndarray, "2"]]()
        self._colours = list[tuple[int, int, int]]()

    def extend(self, point: Float[np.ndarray, "2"], colour: Colour) -> None:
        """One more dot; a piece that is full is laid to those before it."""
        self._points.append(point)
        self._colours.append(to_rgb(colour))
        if len(self._points) == _PIECE:
            self._send(self._past)
            self._points.clear()
            self._colours.clear()
        self._send(self._recent)

    def _send(self, path: str) -> None:
        points = np.array(self._points).reshape(-1, 2)
        dots = rr.Points2D(points, colors=self._colours, radii=self._radius, draw_order=self._order)
        self._stream.log(path, dots, strict=True)
