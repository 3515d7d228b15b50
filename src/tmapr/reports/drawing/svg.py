"""Drawings as SVG: marks, axes, legends, layers. Coordinates are pixels, y downward; colours are the style sheet's.

A mark names its role ("truth", "lost" …) as a class and nothing else about its looks, so that one style sheet serves
light, dark and paper. Layers, named by their roles too, the keys that take them away and a marker are what a reader can
move; without a script nothing moves: the keys are then a legend, every layer is there, and the marker is nowhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from tmapr.reports.drawing.markup import element, escape, tenths
from tmapr.reports.drawing.scale import Scale

WIDTH = 920.0
"""Of a figure that is as wide as the page, in pixels."""

HALF = 460.0
"""Of a figure beside another one; on a phone, where it stands alone, its words keep their size."""

_LETTER = 6.9
_SWATCH = 22.0
_KEY = "0 0 22 12"
_TITLE_AT = 14
_EMPTY = "M0 0"
_SPOTS = ("here", "matched")


Anchor = Literal["start", "middle", "end"]
"""Which point of the words their x is."""


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: the mark's shape, its role, and words for it."""

    shape: Literal["line", "dot", "area"]
    role: str
    words: str
    away: bool = False
    """Whether its layer is away until the key is pressed."""


def drawing(height: float, title: str, description: str, parts: Sequence[str], width: float = WIDTH) -> str:
    """A figure, by default of the page's width; the title is its name for those who cannot see it."""
    head = element("title", {}, escape(title)) + element("desc", {}, escape(description))
    size = f"0 0 {tenths(width)} {tenths(height)}"
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": size, "role": "img", "aria-label": title}
    return element("svg", attributes, head, *parts)


def window(x: tuple[float, float], y: tuple[float, float], parts: Sequence[str]) -> str:
    """Marks that are cut off at the edges of a rectangle, given by its left, right, top and bottom."""
    left, top, width, height = x[0], y[0], x[1] - x[0], y[1] - y[0]
    box = " ".join(map(tenths, (left, top, width, height)))
    place: dict[str, str | float] = {"x": left, "y": top, "width": width, "height": height, "viewBox": box}
    return element("svg", {"class": "window", **place}, *parts)


def line(points: Float[np.ndarray, "n 2"], role: str) -> str:
    """A line through points; a single one is a dot."""
    return lines([points], role)


def lines(parts: Sequence[Float[np.ndarray, "_ 2"]], role: str) -> str:
    """Lines of one role, as one mark."""
    return element("path", {"class": f"line {role}", "d": "".join(map(_path_data, parts)) or _EMPTY})


def dots(points: Float[np.ndarray, "n 2"], role: str) -> str:
    """Round dots of the role's width."""
    corners = np.round(points * 10).astype(np.int64)
    moves = "".join(f"M{tenths(x / 10)} {tenths(y / 10)}h0" for x, y in corners.tolist())
    return element("path", {"class": f"dots {role}", "d": moves or _EMPTY})


def area(points: Float[np.ndarray, "n 2"], floor: float, role: str) -> str:
    """The surface between a line and a level."""
    ends = np.array([[points[-1, 0], floor], [points[0, 0], floor]])
    return element("path", {"class": f"area {role}", "d": _path_data(np.vstack([points, ends])) + "z"})


def strips(spans: Sequence[tuple[float, float]], y: tuple[float, float], role: str) -> str:
    """Filled rectangles side by side, by their lefts and rights, as one mark."""
    height = tenths(y[1] - y[0])
    boxes = (f"M{tenths(a)} {tenths(y[0])}h{tenths(b - a)}v{height}h{tenths(a - b)}z" for a, b in spans)
    return element("path", {"class": f"area {role}", "d": "".join(boxes) or _EMPTY})


def rectangle(x: tuple[float, float], y: tuple[float, float], role: str) -> str:
    """A filled rectangle by its left, right, top and bottom."""
    size = {"x": x[0], "y": y[0], "width": x[1] - x[0], "height": y[1] - y[0]}
    return element("rect", {"class": f"area {role}", **size})


def label(x: float, y: float, words: str, anchor: Anchor = "start", role: str = "") -> str:
    """Words whose baseline is at y."""
    return element("text", {"class": role, "x": x, "y": y, "text-anchor": anchor}, escape(words))


def axes(x: Scale, y: Scale, titles: tuple[str, str]) -> str:
    """Grid, numbers and titles of two axes."""
    (left, right), (bottom, top) = x.pixels, y.pixels
    parts = []
    for words, place in place_ticks(x):
        parts.append(line(np.array([[place, bottom], [place, top]]), "grid"))
        parts.append(label(place, bottom + 17, words, "middle", "tick"))
    for words, place in place_ticks(y):
        parts.append(line(np.array([[left, place], [right, place]]), "grid"))
        parts.append(label(left - 8, place + 4, words, "end", "tick"))
    parts.append(label((left + right) / 2, bottom + 36, titles[0], "middle", "title"))
    turned = f"translate({_TITLE_AT} {tenths((top + bottom) / 2)}) rotate(-90)"
    upright = {"class": "title", "text-anchor": "middle", "transform": turned}
    parts.append(element("text", upright, escape(titles[1])))
    return "".join(parts)


def place_ticks(scale: Scale) -> list[tuple[str, float]]:
    """The ticks as they are written, and their pixels."""
    ticks = scale.ticks()
    places = scale(np.array([value for value, _ in ticks], dtype=float)).tolist()
    return [(words, place) for (_, words), place in zip(ticks, places, strict=True)]


def legend(keys: Sequence[Key], x: float, y: float, right: float = WIDTH) -> str:
    """Entries from left to right, wrapped at the figure's right edge."""
    parts, start = [], x
    for key in keys:
        width = _SWATCH + 6 + _LETTER * len(key.words) + 14
        if x + width > right and x > start:
            x, y = start, y + 18
        parts += [_swatch(key, x, y), label(x + _SWATCH + 6, y + 4, key.words, role="key")]
        x += width
    return "".join(parts)


def layer(role: str, *marks: str) -> str:
    """Marks that come and go together."""
    return element("g", {"data-layer": role}, *marks)


def away_layer(role: str, *marks: str) -> str:
    """The same, away until its key brings it."""
    return element("g", {"data-layer": role, "class": "away"}, *marks)


def anchored_label(at: Float[np.ndarray, "2"], offset: tuple[float, float], words: str, role: str) -> str:
    """Words beside a point of a map that can be zoomed: they keep their size and their distance from it."""
    x, y = at.tolist()
    anchor: Anchor = "start" if offset[0] else "middle"
    place: dict[str, str | float] = {"x": x + offset[0], "y": y + offset[1], "text-anchor": anchor}
    origin = f"transform-origin:{tenths(x)}px {tenths(y)}px"
    return element("text", {"class": role, **place, "style": origin}, escape(words))


def marker(*roles: str) -> str:
    """Marks of the frame that is looked at, empty for now: spots, and lines for all other roles."""
    shapes = (dots(np.zeros((0, 2)), role) if role in _SPOTS else lines([], role) for role in roles)
    return element("g", {"class": "marker"}, *shapes)


def layer_keys(keys: Sequence[Key]) -> str:
    """A legend, each entry of which is the switch of its layer."""
    return element("div", {"class": "keys"}, *map(_switch, keys))


def _swatch(key: Key, x: float, y: float) -> str:
    if key.shape == "area":
        return rectangle((x, x + _SWATCH), (y - 5, y + 5), key.role)
    if key.shape == "dot":
        return dots(np.array([[x + 4, y], [x + 11, y - 3], [x + 18, y + 2]]), key.role)
    return line(np.array([[x, y], [x + _SWATCH, y]]), key.role)


def _switch(key: Key) -> str:
    pressed = "false" if key.away else "true"
    attributes = {"type": "button", "data-switch": key.role, "aria-pressed": pressed, "disabled": "disabled"}
    return element("button", attributes, _show(key), escape(key.words))


def _show(key: Key) -> str:
    return element("svg", {"viewBox": _KEY, "aria-hidden": "true"}, legend([replace(key, words="")], 0.0, 6.0))


def _path_data(points: Float[np.ndarray, "n 2"]) -> str:
    """Path data in tenths of a pixel; steps from the rounded point before, so that rounding never adds up."""
    corners = np.round(points * 10).astype(np.int64)
    start = " ".join(tenths(value / 10) for value in corners[0].tolist())
    moves = np.diff(corners, axis=0)
    moves = moves[moves.any(axis=1)]
    steps = "".join(f"l{tenths(x / 10)} {tenths(y / 10)}" for x, y in moves.tolist())
    return f"M{start}{steps or 'h0'}"
