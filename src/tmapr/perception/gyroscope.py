"""How far the camera turned from one image to the next, seen in the images alone.

A turn moves the whole picture sideways, whatever is in it. Phase correlation of two small band-passed pictures finds by
how much, and their normalized cross-correlation at that shift says whether it is so. Motion ahead moves a picture apart
around its middle, not sideways, so little of it is left in the shift.
"""

from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float32

from tmapr.artifacts.images import Counts
from tmapr.perception.sketching import average_bins, match_sketches

Sketch = Float32[np.ndarray, "rows 128"]

_WIDTH = 128
_LEAST_SIDE = 32
"""Pixels of an image, below which it shows no scene."""
_LEAST_HEIGHT, _MOST_HEIGHT = 16, 512
"""Of a sketch: a strip that is flatter says nothing, a taller one takes too long."""
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
    # Bins of whole pixels first, which take a tenth of the time of others. As float32: means of counts are no counts,
    # and a dim scene has few of them.
    small = average_bins(counts, max(1, width // _WIDTH))
    if small.shape != (rows, _WIDTH):
        small = cv2.resize(small, (_WIDTH, rows), interpolation=cv2.INTER_AREA)
    black, white = _find_range(small)
    if not black < white:
        return None
    clipped = ((np.clip(small, black, white) - black) / (white - black)).astype(np.float32)
    return cv2.GaussianBlur(clipped, (0, 0), _FINE) - cv2.GaussianBlur(clipped, (0, 0), _COARSE)


def _find_range(small: Float32[np.ndarray, "rows 128"]) -> tuple[float, float]:
    """Low and high percentile: a lamp or the sun must not outshine the scene.

    Sorting the small picture takes a third of what NumPy's percentiles take to find out what is asked for.
    """
    ordered = np.sort(small, axis=None)
    return _interpolate(ordered, _LOW), _interpolate(ordered, _HIGH)


def _interpolate(ordered: Float32[np.ndarray, " pixels"], percent: int) -> float:
    place = percent / 100 * (len(ordered) - 1)
    below = int(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return low + (high - low) * (place - below)


def _correlate(before: Sketch, after: Sketch) -> float | None:
    height, width = before.shape
    window = _make_window(width, height)
    # Copies: where a sketch's sides suit the transform, OpenCV multiplies its arguments themselves by the window.
    (right, down), _ = cv2.phaseCorrelate(before.copy(), after.copy(), window)
    if not (abs(right) < width and abs(down) < height):  # the centre of a peak without any weight is anywhere
        return None
    match, overlap = match_sketches(before, after, round(right), round(down))
    return right / width if overlap >= _LEAST_OVERLAP * before.size and match > _LEAST_MATCH else None


@lru_cache(maxsize=4)
def _make_window(width: int, height: int) -> Float32[np.ndarray, "rows 128"]:
    """Of the few sizes that a program's cameras have."""
    return cv2.createHanningWindow((width, height), cv2.CV_32F)
