"""What of a drive is filmed, and which of its frames each frame of the film shows."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.exceptions import InputError

_LONGEST = 60.0
"""Seconds that a film lasts, unless somebody says how fast it is to be."""
_SLOWEST = 1.0
"""Frames a second of a film, at least."""


@dataclass(frozen=True, slots=True)
class Cut:
    """From a second of the drive to another; `speed` is how many times faster, `rate` frames a second of the film."""

    start: float
    stop: float
    speed: float
    rate: float

    @classmethod
    def of(
        cls,
        seconds: Float[np.ndarray, " n"],
        fastest: float,
        *,
        start: float | None = None,
        stop: float | None = None,
        speed: float | None = None,
        rate: float | None = None,
    ) -> "Cut":
        """What was asked for of a drive; unasked, all of it, in a minute at most, every frame once if there is time."""
        last = float(seconds[-1])
        begin, end = start or 0.0, last if stop is None else min(stop, last)
        if begin > last:
            raise InputError(f"--from {begin:g}: the drive lasts {last:.1f} s")
        length = end - begin
        fast = max(1.0, length / _LONGEST) if speed is None else speed
        recorded = np.count_nonzero((seconds >= begin) & (seconds <= end)) - 1
        own = recorded / length * fast if length else fastest
        return cls(begin, end, fast, float(np.clip(own, _SLOWEST, fastest)) if rate is None else rate)

    @property
    def seconds(self) -> float:
        """How long the film lasts."""
        return self.count / self.rate

    @property
    def count(self) -> int:
        """How many frames the film has: the last one shows the last moment."""
        return 1 + int(np.floor((self.stop - self.start) / self.speed * self.rate + 1e-6))

    def choose_rows(self, seconds: Float[np.ndarray, " n"]) -> Int[np.ndarray, " frames"]:
        """The frame of the drive that each frame of the film shows: the latest one until then."""
        moments = self.start + np.arange(self.count) / self.rate * self.speed
        # A thousandth of a frame: a moment that is a frame's own must not miss it by rounding.
        late = 1e-3 * self.speed / self.rate
        return np.maximum(np.searchsorted(seconds, moments + late, side="right") - 1, 0)
