"""What sensors beside the camera say of its motion: readings of a speed or a yaw rate, and their value at an image.

Values are instantaneous, so they are interpolated linearly. Nothing is invented: in a gap that is too long, and before
the first and after the last reading, there is none.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.data.poses import MAX_BEYOND
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS

MAX_GAP = 0.5
"""Seconds: the longest gap between two readings that is bridged; a vehicle brakes within it."""

LIMITS = {"speed": (100.0, "metres"), "yaw_rate": (35.0, "radians")}
"""The largest value that is believed, per second: beyond what cars do and what gyroscopes can measure."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Values at increasing stamps."""

    stamps: Int[np.ndarray, " n"]
    values: Float[np.ndarray, " n"]

    @classmethod
    def sort(cls, stamps: Int[np.ndarray, " n"], values: Float[np.ndarray, " n"]) -> "Readings":
        """Readings in any order; where stamps repeat, the first counts."""
        known, rows = np.unique(stamps, return_index=True)
        return cls(known, values[rows])

    def at(self, stamp: int) -> float | None:
        """The value at a stamp, if there is one."""
        after = int(np.searchsorted(self.stamps, stamp))
        rows = [row for row in (after - 1, after) if 0 <= row < len(self.stamps)]
        times, values = self.stamps[rows].tolist(), self.values[rows].tolist()
        if len(rows) < 2:
            return values[0] if rows and abs(times[0] - stamp) <= MAX_BEYOND * NANOSECONDS else None
        if times[1] == stamp:
            return values[1]
        if times[1] - times[0] > MAX_GAP * NANOSECONDS:
            return None
        share = (stamp - times[0]) / (times[1] - times[0])
        return (1 - share) * values[0] + share * values[1]


NO_READINGS = Readings(np.zeros(0, np.int64), np.zeros(0))


def refuse_absurd(where: str, name: str, value: float, way_out: str = "") -> None:
    """One line for a number that is none, or that nothing on wheels, legs or wings comes to."""
    limit, unit = LIMITS[name]
    if not abs(value) <= limit:
        raise InputError(f"{where}: {name} is {value:g}; it must be in {unit} per second, within ±{limit:g}{way_out}")
