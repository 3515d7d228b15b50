"""Words on pixels: in the font that OpenCV 5 brings, or, where an older one is installed, in strokes.

Both are drawn at double size and made smaller: at ten pixels, letters on whole pixels run into one another.
"""

from functools import cache
from typing import Literal

import cv2
import numpy as np
from jaxtyping import UInt8

from tmapr.reports.film.colours import Colour

Pixels = UInt8[np.ndarray, "height width 3"]
Weight = Literal[400, 600, 700]

_DRAWN = 2
"""How many times larger words are drawn than shown."""
_STROKE_HEIGHT = 30.0
"""Pixels from the foot of a stroke font's capital to the line above it, at a scale of 1."""
_CAPITALS = 0.72
"""Of a font's size that its capitals are high."""
_PLAIN = {"±": "+/-", "·": "-", "–": "-", "−": "-", "…": "...", "’": "'", "→": "->"}
"""Strokes know ASCII alone; what else there is they show as question marks."""


def write(pixels: Pixels, words: str, at: tuple[int, int], size: float, colour: Colour, weight: Weight) -> None:
    """Words from a point of their base line on, to the right; what lies outside is cut off."""
    if not words:
        return
    # Room around them: letters may reach below the line and a little to the left of where they begin.
    before, above, below = 2, int(size) + 2, int(size / 2) + 2
    mask = _draw_mask(words, size, weight, (before, above, below))
    top, left = at[1] - above, at[0] - before
    rows = slice(max(0, -top), max(0, min(mask.shape[0], pixels.shape[0] - top)))
    columns = slice(max(0, -left), max(0, min(mask.shape[1], pixels.shape[1] - left)))
    share = mask[rows, columns, None] / 255.0
    under = pixels[top + rows.start : top + rows.stop, left + columns.start : left + columns.stop]
    if share.size:
        under[:] = np.round(under * (1 - share) + np.array(colour) * share).astype(np.uint8)


def measure(words: str, size: float, weight: Weight) -> float:
    """How many pixels wide words are."""
    return _measure_drawn(words, size, weight) / _DRAWN


def shorten(words: str, width: float, size: float, weight: Weight = 400) -> str:
    """As many of the words as fit into a width."""
    if measure(words, size, weight) <= width:
        return words
    kept = words
    while kept and measure(f"{kept}…", size, weight) > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…" if kept else ""


def wrap(words: str, width: float, size: float) -> list[str]:
    """Words in lines that fit into a width."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and measure(longer, size, 400) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [shorten(line, width, size) for line in lines if line]


def _draw_mask(
    words: str, size: float, weight: Weight, room: tuple[int, int, int]
) -> UInt8[np.ndarray, "rows columns"]:
    """The words in white on black, with room before the first letter, above and below the base line."""
    before, above, below = room
    wide = before + -(-_measure_drawn(words, size, weight) // _DRAWN) + 3
    drawn = np.zeros(((above + below) * _DRAWN, wide * _DRAWN), np.uint8)
    at = (before * _DRAWN, above * _DRAWN)
    if _has_fonts():
        cv2.putText(drawn, words, at, (255,), _open_font(), _scale_font(size), weight)
    else:
        scale, thickness = _shape_strokes(size, weight)
        cv2.putText(drawn, _spell(words), at, cv2.FONT_HERSHEY_DUPLEX, scale, (255,), thickness, cv2.LINE_AA)
    return cv2.resize(drawn, (wide, above + below), interpolation=cv2.INTER_AREA)


def _measure_drawn(words: str, size: float, weight: Weight) -> int:
    if _has_fonts():
        left, _, width, _ = cv2.getTextSize((1, 1), words, (0, 0), _open_font(), _scale_font(size), weight)
        return int(left + width)
    scale, thickness = _shape_strokes(size, weight)
    return int(cv2.getTextSize(_spell(words), cv2.FONT_HERSHEY_DUPLEX, scale, thickness)[0][0])


@cache
def _has_fonts() -> bool:
    return int(cv2.__version__.partition(".")[0]) >= 5


@cache
def _open_font() -> "cv2.FontFace":
    return cv2.FontFace("sans")


def _scale_font(size: float) -> int:
    return max(1, round(_DRAWN * size))


def _shape_strokes(size: float, weight: Weight) -> tuple[float, int]:
    """Scale and thickness of strokes as they are drawn."""
    scale = _DRAWN * size * _CAPITALS / _STROKE_HEIGHT
    return scale, max(1, round(scale * (1.4 if weight == 400 else 2.4)))


def _spell(words: str) -> str:
    plain = "".join(_PLAIN.get(letter, letter) for letter in words)
    return plain.encode("ascii", "replace").decode()
