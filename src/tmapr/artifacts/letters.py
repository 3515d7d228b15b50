"""Words on pixels, in the font that comes with Pillow: letters of English, digits and common signs."""

import unicodedata
from functools import cache
from typing import cast

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont

Pixels = UInt8[np.ndarray, "height width 3"]

_DRAWN = 2
"""How many times larger words are drawn than shown: at ten pixels, letters on whole pixels run into one another."""
_PLAIN = str.maketrans({"–": "-", "−": "-", "×": "x", "→": "->", "ß": "ss"})
"""What the font has not; letters with accents are written without them, other alphabets as boxes."""


def write(pixels: Pixels, words: str, at: tuple[int, int], size: float, colour: tuple[int, int, int]) -> None:
    """Words from a point of their base line on, to the right; what lies outside is cut off."""
    spelt, font, (x, y) = _spell(words), _open_font(size), at
    before, above, after, below = (int(edge) // _DRAWN for edge in font.getbbox(spelt, anchor="ls"))
    left, top, right, bottom = x + before, y + above, x + after + 1, y + below + 1
    under = pixels[max(0, top) : max(0, bottom), max(0, left) : max(0, right)]
    if under.size:
        mask = Image.new("L", ((right - left) * _DRAWN, (bottom - top) * _DRAWN))
        ImageDraw.Draw(mask).text((-before * _DRAWN, -above * _DRAWN), spelt, 255, font, anchor="ls")
        drawn = Image.fromarray(under)
        drawn.paste(colour, (min(0, left), min(0, top)), mask.reduce(_DRAWN))
        under[:] = np.asarray(drawn)


def measure(words: str, size: float) -> float:
    """How many pixels wide words are."""
    return _open_font(size).getlength(_spell(words)) / _DRAWN


def shorten(words: str, width: float, size: float) -> str:
    """As many of the words as fit into a width."""
    if measure(words, size) <= width:
        return words
    kept = words
    while kept and measure(f"{kept}…", size) > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…" if kept else ""


def wrap(words: str, width: float, size: float) -> list[str]:
    """Words in lines that fit into a width."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and measure(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [shorten(line, width, size) for line in lines if line]


def _spell(words: str) -> str:
    apart = unicodedata.normalize("NFD", words.translate(_PLAIN))
    letters = (letter for letter in apart if not unicodedata.combining(letter))
    return "".join(letter if letter.isprintable() else "?" for letter in letters)


@cache
def _open_font(size: float) -> ImageFont.FreeTypeFont:
    # With a size it is one of FreeType, or nothing at all: only without does Pillow fall back to its other kind.
    return cast(ImageFont.FreeTypeFont, ImageFont.load_default(max(1.0, _DRAWN * size)))
