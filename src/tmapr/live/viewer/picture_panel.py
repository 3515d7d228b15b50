"""A picture in the viewer, in the colours of heat, and words over it."""

import cv2
import numpy as np
import rerun as rr

from tmapr.live.viewer.trail import to_rgb
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.film.colours import INK, PANEL, list_grays, list_heat

_QUALITY = 85
_LOWER_EDGE = 0.88
_BLANK = (256, 320)
"""Rows and columns of a picture of nothing, where none was shown before."""


class PicturePanel:
    """Shows one picture at a time; coloured here and sent as JPEG, which takes a tenth of what counts would."""

    def __init__(self, stream: rr.RecordingStream, image: str, words: str) -> None:
        self._stream, self._image, self._words = stream, image, words
        self._shape = _BLANK
        self._written: tuple[str, tuple[int, int], float] | None = None

    def show(self, picture: PagePicture, *, believed: bool = True) -> None:
        """A picture, gray where it is not believed."""
        height, width = picture.shape
        self._shape = height, width
        self._send((list_heat() if believed else list_grays())[picture])

    def explain(self, absent: str) -> None:
        """Words in place of a picture."""
        self._send(np.full((*self._shape, 3), PANEL, np.uint8))
        self.write(absent, 0.5)

    def write(self, words: str, down: float = _LOWER_EDGE) -> None:
        """Words over the picture, so far down; as the label of a point that is not seen."""
        written = words, self._shape, down
        if written == self._written:
            return
        self._written = written
        height, width = self._shape
        points = [[0.5 * width, down * height]] if words else []
        label = rr.Points2D(points, labels=[words] * len(points), colors=to_rgb(INK), radii=0.0, show_labels=True)
        self._stream.log(self._words, label, strict=True)

    def _send(self, pixels: np.ndarray) -> None:
        _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        image = rr.EncodedImage(contents=encoded.tobytes(), media_type="image/jpeg")
        self._stream.log(self._image, image, strict=True)
