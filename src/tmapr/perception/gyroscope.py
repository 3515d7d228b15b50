"""How far the camera turned from one image to the next, seen in the images alone.

A turn moves the whole picture sideways, whatever is in it. Phase correlation of two small band-passed pictures finds by
how much, and their normalized cross-correlation at that shift says whether it is so. Motion ahead moves a picture apart
around its middle, not sideways, so little of it is left in the shift.
"""

from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float32

from tmapr.artifacts.images import Counts

Sketch = Float32[np.ndarray, "rows 128"]

_WIDTH = 128
_LEAST_SIDE = 32
"""Pixels of an image, below which it shows no scene."""
_LEAST_HEIGHT, _MOST_HEIGHT = 16, 512
"""Of a sketch: a strip that is flatter says nothing, a taller one takes too long."""
LARGEST_SKETCH = _MOST_HEIGHT * _WIDTH
"""Its pixels."""
_FINE, _COARSE = 1.0, 8.0
"""σ in pixels of a sketch: details that are smaller are noise, and shades that are larger are the sensor's own."""
_LOW, _HIGH = 1, 99
_LEAST_MATCH = 0.5
_LEAST_OVERLAP = 0.25


class Sight(NamedTuple):
    """What is compared of an image: how large it is, and its sketch, unless it is too small or shows nothing."""

    size: tuple[int, ...]
    sketch: Sketch | None


class Gyroscope:
    """Compares the images of one stream in their order. It keeps a sketch of the last one."""

    def __init__(self) -> None:
        self._last: Sight | None = None

    def measure(self, counts: Counts) -> float | None:
        """How far the picture moved to the right since the last one, in widths: positive where the camera turned left.

        None for the first image, after another size, without contrast, and where the two do not match.
        """
        seen = see(counts)
        return self.join(seen, seen)

    def join(self, first: Sight, last: Sight) -> float | None:
        """The same of an image that was seen elsewhere; `last` is what the next one will be compared with."""
        before, self._last = self._last, last
        return None if before is None else find_shift(before, first)


def see(counts: Counts) -> Sight:
    """What an image is compared by; takes three quarters of the time of a comparison, and no memory of others."""
    return Sight(counts.shape, _sketch(counts))


def find_shift(before: Sight, after: Sight) -> float | None:
    """How far the picture moved from one image to another; None where nobody can tell."""
    if before.size != after.size or before.sketch is None or after.sketch is None:
        return None
    return _correlate(before.sketch, after.sketch)


def _sketch(counts: Counts) -> Sketch | None:
    """The picture, small and band-passed; None if it is too small or shows nothing."""
    height, width = counts.shape
    rows = round(_WIDTH * height / width) if min(height, width) >= _LEAST_SIDE else 0
    if not _LEAST_HEIGHT <= rows <= _MOST_HEIGHT:
        return None
    small = cv2.resize(_bin(counts), (_WIDTH, rows), interpolation=cv2.INTER_AREA)
    # Of the small picture, which takes a twentieth of the time; a lamp or the sun must not outshine the scene.
    black, white = np.percentile(small, (_LOW, _HIGH)).tolist()
    if not black < white:
        return None
    clipped = ((np.clip(small, black, white) - black) / (white - black)).astype(np.float32)
    return cv2.GaussianBlur(clipped, (0, 0), _FINE) - cv2.GaussianBlur(clipped, (0, 0), _COARSE)


def _bin(counts: Counts) -> Float32[np.ndarray, "binned_height binned_width"]:
    """Means of as many whole pixels as make the picture no narrower than a sketch.

    Bins of whole pixels take a tenth of the time of others; what is left over at the edges is less than a bin. As
    float32: means of counts are no counts, and a dim scene has few of them.
    """
    bins = max(1, counts.shape[1] // _WIDTH)
    height, width = (side // bins for side in counts.shape)
    whole = counts[: height * bins, : width * bins].astype(np.float32)
    return cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA)


def _correlate(before: Sketch, after: Sketch) -> float | None:
    height, width = before.shape
    window = cv2.createHanningWindow((width, height), cv2.CV_32F)
    # Copies: where a sketch's sides suit the transform, OpenCV multiplies its arguments themselves by the window.
    (right, down), _ = cv2.phaseCorrelate(before.copy(), after.copy(), window)
    if not (abs(right) < width and abs(down) < height):  # the centre of a peak without any weight is anywhere
        return None
    return right / width if _match(before, after, round(right), round(down)) > _LEAST_MATCH else None


def _match(before: Sketch, after: Sketch, right: int, down: int) -> float:
    """Normalized cross-correlation of what both show, when one is moved; 0 if that is too little."""
    height, width = before.shape
    was = before[max(-down, 0) : height - max(down, 0), max(-right, 0) : width - max(right, 0)]
    now = after[max(down, 0) : height - max(-down, 0), max(right, 0) : width - max(-right, 0)]
    if was.size < _LEAST_OVERLAP * before.size:
        return 0.0
    was, now = was - was.mean(), now - now.mean()
    energy = float(np.sqrt(np.sum(was * was) * np.sum(now * now)))
    return float(np.sum(was * now)) / energy if energy > 0 else 0.0
