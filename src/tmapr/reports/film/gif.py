"""Animated GIF by Pillow, written frame by frame, so that one of any length takes the memory of a frame.

Its 255 colours are known before the first frame, since a film has few: those of heat, of gray, and each of the others
on its way from the ground. A frame says only what has changed since the one before it.
"""

from functools import cache
from typing import IO

import numpy as np
from jaxtyping import UInt8
from PIL import Image
from PIL.GifImagePlugin import getdata, getheader

from tmapr.artifacts.letters import Pixels
from tmapr.reports.film.colours import ALIKE, BELIEF, GROUND, INK, PANEL, ROAD, RULE, STATUSES, list_heat, mix

_CLEAR = 255
"""The colour that shows nothing."""


class GifWriter:
    """Writes the frames of an animation that goes on for ever; the rate is kept to a hundredth of a second."""

    def __init__(self, stream: IO[bytes], rate: float) -> None:
        self._stream, self._rate = stream, rate
        self._shown: UInt8[np.ndarray, "height width"] | None = None
        self._frames = 0

    def write(self, pixels: Pixels) -> None:
        """The next frame; all are of one size."""
        image = Image.fromarray(pixels[..., ::-1]).quantize(palette=_open_palette(), dither=Image.Dither.NONE)
        colours = np.asarray(image)
        if self._shown is None:
            header, _ = getheader(image, info={"loop": 0})
            self._stream.writelines(header)
        else:
            image.paste(_CLEAR, mask=Image.fromarray(colours == self._shown))
        self._stream.writelines(getdata(image, duration=self._count_milliseconds(), transparency=_CLEAR, disposal=1))
        self._shown = colours
        self._frames += 1

    def finish(self) -> None:
        """The last byte."""
        self._stream.write(b";")

    def _count_milliseconds(self) -> int:
        """How long a frame stays; what rounding takes from one the next one gets."""
        begin, end = (round(100 * number / self._rate) for number in (self._frames, self._frames + 1))
        return 10 * max(2, end - begin)


@cache
def _open_palette() -> Image.Image:
    """An image that has the colours of a film."""
    heat = list_heat()[np.linspace(0, 255, 48).round().astype(int)]
    grays = [mix(INK, GROUND, share) for share in np.linspace(0, 1, 48).tolist()]
    others = (*STATUSES.values(), BELIEF, ALIKE)
    tints = [mix(colour, PANEL, share) for colour in others for share in np.linspace(0.125, 1, 16).tolist()]
    colours = np.array([*heat.tolist(), *grays, *tints, PANEL, ROAD, RULE], np.uint8)
    opened = Image.new("P", (1, 1))
    opened.putpalette(np.vstack([colours, np.repeat(colours[:1], 256 - len(colours), axis=0)])[:, ::-1].tobytes())
    return opened
