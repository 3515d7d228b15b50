"""Raw counts become the 8-bit picture an encoder takes: stretch, CLAHE, optional smoothing, crop, resize.

A thermal camera's counts drift, and two cameras of one rig differ by a hundred of them for the same scene. The stretch
looks only at differences to a percentile, so adding a constant to all counts changes no pixel of the picture.
"""

from math import ceil
from typing import Any, Literal

import cv2
import numpy as np
from jaxtyping import Int, Shaped, UInt8
from pydantic import Field, model_validator

from tmapr.artifacts.images import Counts
from tmapr.config import Settings
from tmapr.exceptions import InputError
from tmapr.types import HIGHEST_COUNTS, Fault

Crop = tuple[int, int, int, int]

_PRESETS: dict[str, dict[str, int | float | Crop]] = {
    "ms2": {"bilateral": 5, "bilateral_color": 20.0, "bilateral_space": 15.0, "crop": (9, 35, 28, 34)},
    "sthereo": {"crop": (121, 107, 52, 30)},
}

_MANY_COUNTS = 8192
_MIN_SIDE = 32


class Image(Settings):
    """From counts to a picture; what a preset says holds where the file says nothing."""

    preset: Literal["raw", "ms2", "sthereo"] = Field(
        "raw", description="fills what is not set: bilateral and crop for ms2, crop for sthereo"
    )
    low: float = Field(1.0, ge=0, le=100, description="percentile of the counts that becomes black")
    high: float = Field(99.0, ge=0, le=100, description="percentile of the counts that becomes white")
    clip_limit: float = Field(2.0, ge=0, description="CLAHE: most contrast a tile may gain; 0 turns CLAHE off")
    tiles: int = Field(8, ge=1, le=64, description="CLAHE: tiles along each side")
    bilateral: int = Field(0, ge=0, le=31, description="edge-keeping smoothing: its diameter in pixels; 0: off")
    bilateral_color: float = Field(20.0, gt=0, description="σ of the smoothing over gray levels")
    bilateral_space: float = Field(15.0, gt=0, description="σ of the smoothing over pixels")
    # Not strict as to the container alone: JSON and TOML know no tuples, and the preset's filling hides that from JSON.
    crop: Crop = Field((0, 0, 0, 0), strict=False, description="pixels cut off: top, bottom, left, right")

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, given: Any) -> Any:
        return {**_PRESETS.get(str(given.get("preset")), {}), **given} if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _check(self) -> "Image":
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low:g} and {self.high:g}")
        if min(self.crop) < 0:
            raise ValueError(f"crop must not be negative, got {list(self.crop)}")
        return self

    def prepare(
        self, counts: Shaped[np.ndarray, "..."], size: tuple[int, int], resize: Literal["linear", "area"] = "linear"
    ) -> UInt8[np.ndarray, "{size[0]} {size[1]}"] | Fault:
        """The picture at `size` (height, width), or why there is none. Safe to call from several threads."""
        kept = self.require_counts(counts)
        picture = self._stretch(counts)
        if isinstance(picture, Fault):
            return picture
        if self.clip_limit:
            # Made anew (3 µs): the object keeps its tables between calls and must not be shared by threads.
            picture = cv2.createCLAHE(self.clip_limit, (self.tiles, self.tiles)).apply(picture)
        if self.bilateral:
            picture = cv2.bilateralFilter(picture, self.bilateral, self.bilateral_color, self.bilateral_space)
        method = cv2.INTER_LINEAR if resize == "linear" else cv2.INTER_AREA
        return cv2.resize(picture[kept], size[::-1], interpolation=method)

    def require_counts(self, counts: Shaped[np.ndarray, "..."]) -> tuple[slice, slice]:
        """The rows and columns that the crop leaves; what `prepare` refuses is refused."""
        _refuse_others(counts)
        return self._crop_slices(*counts.shape)

    def takes(self, counts: Shaped[np.ndarray, "..."]) -> bool:
        """Whether `prepare` refuses nothing of it."""
        try:
            self.require_counts(counts)
        except InputError:
            return False
        return True

    def find_fault(self, counts: Shaped[np.ndarray, "..."]) -> Fault | None:
        """Why `prepare` would give no picture, if it would not; what it refuses is refused."""
        self.require_counts(counts)
        levels = self._find_levels(counts)
        return levels if isinstance(levels, Fault) else None

    def cut(self, counts: Counts) -> Shaped[np.ndarray, "cut_height cut_width"]:
        """What the crop leaves of an image, which may be nothing."""
        (height, width), (top, bottom, left, right) = counts.shape, self.crop
        return counts[top : max(top, height - bottom), left : max(left, width - right)]

    def size_after_crop(self, height: int, width: int) -> tuple[int, int]:
        """The height and width that the crop leaves of an image."""
        rows, columns = self._crop_slices(height, width)
        return rows.stop - rows.start, columns.stop - columns.start

    def _crop_slices(self, height: int, width: int) -> tuple[slice, slice]:
        top, bottom, left, right = self.crop
        rows, columns = height - top - bottom, width - left - right
        if min(rows, columns) < _MIN_SIDE:
            raise InputError(
                f"an image of {height}x{width} less a crop of {list(self.crop)} leaves {rows}x{columns} pixels, and at"
                f" least {_MIN_SIDE}x{_MIN_SIDE} are needed; crop less (perception.image.crop), or give larger images"
            )
        return slice(top, height - bottom), slice(left, width - right)

    def _stretch(self, counts: Counts) -> UInt8[np.ndarray, "height width"] | Fault:
        """Counts between the two percentiles become 0…255: the nearest to a float32 product, halves to even."""
        levels = self._find_levels(counts)
        if isinstance(levels, Fault):
            return levels
        black, white = levels
        return cv2.convertScaleAbs(cv2.subtract(counts, np.array([black], float)), alpha=255 / (white - black))

    def _find_levels(self, counts: Counts) -> tuple[int, int] | Fault:
        """The counts that become black and white, or why there are none."""
        lowest, highest = (int(count) for count in cv2.minMaxLoc(counts)[:2])
        at_most = np.cumsum(_histogram(counts, lowest, highest))
        ranks = [ceil(counts.size * (percentile / 100) - 1) for percentile in (self.low, self.high)]
        black, white = (lowest + int(np.searchsorted(at_most, max(rank, 0), side="right")) for rank in ranks)
        if black == white:
            if white in HIGHEST_COUNTS[counts.dtype]:
                return Fault.SATURATED
            # Lamps in an 8-bit night are less than 1 % of the pixels and yet a scene: only if nothing at all differs
            # from the background is there none. A clipped background is none either way: its detail is lost.
            black, white = lowest, highest
        return Fault.EMPTY if black == white else (black, white)


def _refuse_others(counts: Shaped[np.ndarray, "..."]) -> None:
    if counts.dtype not in HIGHEST_COUNTS or counts.ndim != 2:
        raise InputError(
            f"an image must be one plane of uint8 or uint16 counts, got {counts.dtype} of shape {counts.shape};"
            " give the raw counts"
        )


def _histogram(counts: Counts, lowest: int, highest: int) -> Int[np.ndarray, " bins"]:
    """How many pixels have each count from the lowest to the highest.

    Over the few thousand counts of a scene OpenCV takes a third of NumPy's time. Over many NumPy's is the shorter
    where OpenCV has threads: each of them clears and adds up a table of its own.
    """
    if highest - lowest >= _MANY_COUNTS:
        return np.bincount(counts.ravel())[lowest:]
    histogram = cv2.calcHist([counts], [0], None, [highest - lowest + 1], [lowest, highest + 1])
    return histogram.ravel().astype(np.int64)
