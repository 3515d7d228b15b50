"""The colours of a film, as OpenCV orders them: blue, green, red.

Pictures are in inferno, black over red to yellow; everything that is said of them is in colours which that does not
have, or stands on the ground. The statuses are as on the page where that is dark.
"""

from functools import cache

import cv2
import numpy as np
from jaxtyping import UInt8

from tmapr.types import Status

Colour = tuple[int, int, int]

_DARKENED = 1.8


def _from_hex(code: str) -> Colour:
    red, green, blue = bytes.fromhex(code)
    return blue, green, red


GROUND, PANEL, RULE = _from_hex("0b0e13"), _from_hex("12171e"), _from_hex("2a323c")
INK, QUIET = _from_hex("f2f5f8"), _from_hex("a3aebb")
ROAD, TRUTH = _from_hex("414c5a"), _from_hex("e4e8ed")
BELIEF, AWAY, ALIKE = _from_hex("2fd0a0"), _from_hex("f0a000"), _from_hex("f2e14c")

STATUSES = {
    Status.LOCALIZED: _from_hex("4cc3ff"),
    Status.APR_ONLY: _from_hex("f0a000"),
    Status.PREDICTING: _from_hex("e08cc8"),
    Status.LOST: _from_hex("ff6b3d"),
}
ALARM = STATUSES[Status.LOST]


@cache
def list_heat() -> UInt8[np.ndarray, "256 3"]:
    """The colour of every level of gray: inferno, in which middle levels, of which a street has most, are darkened."""
    levels = np.round(255 * (np.arange(256) / 255) ** _DARKENED).astype(np.uint8)
    return cv2.applyColorMap(levels[:, None], cv2.COLORMAP_INFERNO)[:, 0]


@cache
def list_grays() -> UInt8[np.ndarray, "256 3"]:
    """From the ground to a quiet white: what a picture looks like that is not believed."""
    share = np.linspace(0.0, 1.0, 256)[:, None]
    return np.round(np.array(GROUND) * (1 - share) + 0.72 * np.array(INK) * share).astype(np.uint8)


def mix(colour: Colour, under: Colour, share: float) -> Colour:
    """A colour over another, of which it hides a share."""
    blue, green, red = (round(over * share + below * (1 - share)) for over, below in zip(colour, under, strict=True))
    return blue, green, red
