"""Animated GIF, written frame by frame, so that one of any length takes the memory of a frame.

Its 255 colours are known before the first frame, since a film has few: those of heat, of gray, and each of the others
on its way from the ground. A frame says only what has changed since the one before it.
"""

import struct
from functools import cache
from typing import IO

import numpy as np
from jaxtyping import Bool, Int, UInt8
from scipy.spatial import KDTree

from tmapr.reports.film.colours import ALIKE, AWAY, BELIEF, GROUND, INK, PANEL, ROAD, RULE, STATUSES, list_heat, mix
from tmapr.reports.film.lettering import Pixels
from tmapr.reports.film.lzw import compress

CLEAR = 255
"""The colour that shows nothing."""
_LEVELS, _GRAYS, _TINTS = 112, 40, 16
_ALIKE = 24.0
"""How far two colours of heat or gray may be apart that count as the same, in shades of 256."""
_NEAREST = 12
_FINE = 6
"""Bits of a channel by which the nearest colour is looked up."""
_SHADES = np.array([0.75, 1.0, 0.95])
"""How much a step of blue, green and red is seen."""


class GifWriter:
    """Writes the frames of an animation that goes on for ever; the rate is kept to a hundredth of a second."""

    def __init__(self, stream: IO[bytes], rate: float) -> None:
        self._stream, self._rate = stream, rate
        self._shown: UInt8[np.ndarray, " pixels"] | None = None
        self._frames = 0

    def write(self, pixels: Pixels) -> None:
        """The next frame; all are of one size."""
        height, width = pixels.shape[:2]
        colours = reduce_colours(pixels).ravel()
        if self._shown is None:
            self._write_head(width, height)
            self._shown = np.full(colours.shape, CLEAR, np.uint8)
        near, looks = list_alike()
        coded = compress(colours, self._shown, near, looks, CLEAR)
        stream = self._stream
        stream.write(b"\x21\xf9\x04" + struct.pack("<BHBB", 0b0000_0101, self._count_hundredths(), CLEAR, 0))
        stream.write(b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x08")
        for start in range(0, len(coded), 255):
            part = coded[start : start + 255].tobytes()
            stream.write(bytes([len(part)]) + part)
        stream.write(b"\0")
        self._frames += 1

    def finish(self) -> None:
        """The last byte."""
        self._stream.write(b"\x3b")

    def _count_hundredths(self) -> int:
        """How long a frame stays; what rounding takes from one the next one gets."""
        begin, end = (round(100 * number / self._rate) for number in (self._frames, self._frames + 1))
        return max(2, end - begin)

    def _write_head(self, width: int, height: int) -> None:
        self._stream.write(b"GIF89a" + struct.pack("<HHBBB", width, height, 0b1111_0111, 0, 0))
        self._stream.write(list_palette()[:, ::-1].tobytes())
        self._stream.write(b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")


def reduce_colours(pixels: Pixels) -> UInt8[np.ndarray, "height width"]:
    """The number of the nearest colour of the palette."""
    return _list_nearest()[_find_cells(pixels)]


@cache
def list_palette() -> UInt8[np.ndarray, "256 3"]:
    """All colours, the last of which is never seen."""
    heat = list_heat()[np.linspace(0, 255, _LEVELS).round().astype(int)]
    grays = [mix(INK, GROUND, share) for share in np.linspace(0, 1, _GRAYS).tolist()]
    others = [*STATUSES.values(), BELIEF]
    tints = [mix(colour, PANEL, share) for colour in others for share in np.linspace(0.12, 1, _TINTS).tolist()]
    found = np.array(
        [
            *heat.tolist(),
            *grays,
            *tints,
            PANEL,
            ROAD,
            RULE,
            AWAY,
            *(mix(ALIKE, PANEL, share) for share in (0.25, 0.5, 0.75, 1.0)),
        ],
        np.uint8,
    )
    palette = np.zeros((256, 3), np.uint8)
    palette[: len(found)] = found
    return palette


@cache
def list_alike() -> tuple[Int[np.ndarray, "256 some"], Bool[np.ndarray, "256 256"]]:
    """Of each colour those that may stand for it, the best first; and whether one may for another."""
    seen = list_palette() * _SHADES
    apart = np.linalg.norm(seen[:, None] - seen, axis=-1)
    # Words and lines have few colours and sharp edges: there only what is the same is the same.
    alike = np.eye(256, dtype=bool)
    alike[:_LEVELS, :_LEVELS] = apart[:_LEVELS, :_LEVELS] <= _ALIKE
    alike[CLEAR] = alike[:, CLEAR] = False
    order = np.argsort(np.where(alike, apart, np.inf), axis=1, kind="stable")[:, :_NEAREST]
    near = np.where(np.take_along_axis(alike, order, axis=1), order, -1)
    return near.astype(np.int16), alike


@cache
def _list_nearest() -> UInt8[np.ndarray, " cells"]:
    """By the leading bits of blue, green and red; a colour of the palette is its own nearest."""
    steps = (np.arange(1 << _FINE) + 0.5) * (256 >> _FINE)
    cells = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    palette = list_palette()[:CLEAR]
    _, nearest = KDTree(palette * _SHADES).query(cells * _SHADES)
    found = nearest.astype(np.uint8)
    found[_find_cells(palette)] = np.arange(len(palette))
    return found


def _find_cells(pixels: UInt8[np.ndarray, "*shape 3"]) -> Int[np.ndarray, "*shape"]:
    blue, green, red = (pixels[..., channel].astype(np.int32) >> (8 - _FINE) for channel in range(3))
    return blue << 2 * _FINE | green << _FINE | red
