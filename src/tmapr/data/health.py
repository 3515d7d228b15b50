"""Whether the images of a stream can be used, judged one by one, online and offline alike."""

import numpy as np
from jaxtyping import Shaped
from pydantic import Field

from tmapr.artifacts.images import Counts
from tmapr.config import Settings
from tmapr.exceptions import InputError
from tmapr.types import HIGHEST_COUNTS, Fault

_FEW = np.s_[::16, ::16]  # pixels that tell nearly all images apart


class Health(Settings):
    """When an image cannot be used, and what in a recording is worth telling."""

    contrast: int = Field(1, ge=1, description="an image is empty if its counts differ by less than this")
    saturated: float = Field(0.5, gt=0, le=1, description="share of pixels at the highest count: unusable from here on")
    repeats: int = Field(1, ge=1, description="equal images in a row: frozen from here on; more if noise is cut off")
    pause: float = Field(3.0, gt=1, description="an interval this many times the median one is a pause")
    flash: float = Field(0.2, gt=0, description="jump of the median count, in units of the image's 5–95 % range")
    sudden: float = Field(5.0, gt=1, description="and in units of the usual jump around it: turning is no flash")
    dead: int = Field(10, ge=2, description="frames through which a dead column or row shows nothing new")


class Detector:
    """Judges the images of one stream in their order. It keeps the last one, to see whether the next is the same."""

    def __init__(self, health: Health | None = None) -> None:
        self._health = health or Health()
        self._last: Counts = np.zeros((0, 0), np.uint8)
        self._repeats = 0

    def inspect(self, counts: Shaped[np.ndarray, "..."]) -> Fault | None:
        """Why an image cannot be used, or None. Costs the same for every image."""
        if counts.dtype not in HIGHEST_COUNTS or counts.ndim != 2 or not counts.size:
            raise InputError(f"an image must be uint8 or uint16 counts, got {counts.dtype} of shape {counts.shape}")
        self._repeats = self._repeats + 1 if self._is_last(counts) else 0
        highest = int(counts.max())
        least = self._health.saturated * counts.size
        if highest in HIGHEST_COUNTS[counts.dtype] and np.count_nonzero(counts == highest) >= least:
            return Fault.SATURATED
        if highest - int(counts.min()) < self._health.contrast:
            return Fault.EMPTY
        # After the others: where no noise is seen, two images may be equal and the camera alive.
        return Fault.FROZEN if self._repeats >= self._health.repeats else None

    def _is_last(self, counts: Counts) -> bool:
        """Whether this is the last image, bit by bit, which the noise of a live sensor makes impossible.

        The image itself is kept, not a digest, and not the caller's array, which a driver may fill with the next image:
        a copy costs an eighth of a CRC and a fortieth of BLAKE2, and the answer is exact.
        """
        if counts.shape != self._last.shape or counts.dtype != self._last.dtype:
            self._last = counts.copy()
            return False
        if np.array_equal(counts[_FEW], self._last[_FEW]) and np.array_equal(counts, self._last):
            return True
        np.copyto(self._last, counts)
        return False
