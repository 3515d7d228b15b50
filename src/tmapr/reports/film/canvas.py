"""A film's frame while it is drawn: places in points, of which it is 1280 wide, on as many pixels as were asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from tmapr.artifacts.letters import Pixels, measure, shorten, write
from tmapr.reports.film.colours import Colour

WIDTH, HEIGHT = 1280, 720
_FINE = 4
"""Bits of a pixel's fraction that lines know."""

Points = Float[np.ndarray, "n 2"]
Aligned = Literal["left", "right", "middle"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in points."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    def shrink(self, by: float) -> "Box":
        """The same with a margin inside."""
        return Box(self.left + by, self.top + by, self.width - 2 * by, self.height - 2 * by)


@dataclass(frozen=True, slots=True)
class Canvas:
    """Pixels that are drawn on; `corner` is where the first of them lies, in points. What lies outside is cut off."""

    pixels: Pixels
    scale: float
    corner: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def blank(cls, width: int, colour: Colour) -> "Canvas":
        """A frame so many pixels wide; both sides are even, as videos want them."""
        wide = width - width % 2
        height = round(wide * HEIGHT / WIDTH / 2) * 2
        return cls(np.full((height, wide, 3), colour, np.uint8), wide / WIDTH)

    def copy(self) -> "Canvas":
        """The same on pixels of its own."""
        return Canvas(self.pixels.copy(), self.scale, self.corner)

    def inside(self, box: Box) -> "Canvas":
        """The part in a box, on the same pixels."""
        left, top, right, bottom = self._find_edges(box)
        x, y = self.corner
        corner = (x + left / self.scale, y + top / self.scale)
        return Canvas(self.pixels[top:bottom, left:right], self.scale, corner)

    @contextmanager
    def glaze(self, share: float) -> Iterator["Canvas"]:
        """What is drawn inside hides only a share of what is beneath."""
        over = self.copy()
        yield over
        cv2.addWeighted(over.pixels, share, self.pixels, 1 - share, 0.0, dst=self.pixels)

    def fill(self, box: Box, colour: Colour) -> None:
        """A rectangle."""
        left, top, right, bottom = self._find_edges(box)
        self.pixels[top:bottom, left:right] = colour

    def line(self, points: Points, colour: Colour, width: float) -> None:
        """A line through points."""
        if len(points) > 1:
            cv2.polylines(self.pixels, [self._place(points)], False, colour, self._thick(width), cv2.LINE_AA, _FINE)

    def area(self, points: Points, colour: Colour) -> None:
        """A polygon."""
        cv2.fillPoly(self.pixels, [self._place(points)], colour, cv2.LINE_AA, _FINE)

    def dot(self, point: Float[np.ndarray, "2"], radius: float, colour: Colour) -> None:
        """A disc."""
        self._circle(point, radius, colour, -1)

    def ring(self, point: Float[np.ndarray, "2"], radius: float, colour: Colour, width: float) -> None:
        """A circle."""
        self._circle(point, radius, colour, self._thick(width))

    def text(self, words: str, at: tuple[float, float], size: float, colour: Colour, align: Aligned = "left") -> float:
        """Words on a base line; where they end, in points."""
        large = size * self.scale
        wide = measure(words, large)
        x, y = (at[0] - self.corner[0]) * self.scale, (at[1] - self.corner[1]) * self.scale
        x -= {"left": 0.0, "middle": wide / 2, "right": wide}[align]
        write(self.pixels, words, (round(x), round(y)), large, colour)
        return (x + wide) / self.scale + self.corner[0]

    def shorten(self, words: str, width: float, size: float) -> str:
        """As many of the words as fit into so many points."""
        return shorten(words, width * self.scale, size * self.scale)

    def paste(self, picture: UInt8[np.ndarray, "rows columns 3"], box: Box) -> None:
        """A picture, stretched over a box."""
        left, top, right, bottom = self._find_edges(box)
        smaller = picture.shape[0] > bottom - top
        method = cv2.INTER_AREA if smaller else cv2.INTER_CUBIC
        self.pixels[top:bottom, left:right] = cv2.resize(picture, (right - left, bottom - top), interpolation=method)

    def _find_edges(self, box: Box) -> tuple[int, int, int, int]:
        x, y = self.corner
        edges = (box.left - x, box.top - y, box.right - x, box.bottom - y)
        left, top, right, bottom = (max(0, round(edge * self.scale)) for edge in edges)
        return left, top, max(right, left + 1), max(bottom, top + 1)

    def _place(self, points: Points) -> np.ndarray:
        # Far outside the frame an estimate that strays could not be told apart anyway, and would overflow.
        placed = np.clip((points - self.corner) * self.scale, -20000, 20000)
        return np.round(placed * (1 << _FINE)).astype(np.int32)

    def _circle(self, point: Float[np.ndarray, "2"], radius: float, colour: Colour, thickness: int) -> None:
        x, y = self._place(point[None])[0].tolist()
        wide = max(1, round(radius * self.scale * (1 << _FINE)))
        cv2.circle(self.pixels, (x, y), wide, colour, thickness, cv2.LINE_AA, _FINE)

    def _thick(self, width: float) -> int:
        return max(1, round(width * self.scale))
