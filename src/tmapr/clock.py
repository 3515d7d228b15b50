"""The drive's own clock: a camera's stamps, made to run on where somebody sets the clock that they are taken by.

A frame that comes late has an older stamp than the one before it, and is answered as such. A clock that is set back
gives older stamps for ever: three in a row, each later than the one before, are no accident. A clock that is set
forward looks like a silence, unless the frame came sooner than it can have been taken: frames differ in how long they
are under way, but none is under way for less than the fastest one. Recorded frames do not say when they came; theirs is
the silence that their stamps say. A frame that comes too late moves nothing, in a recording as on a robot.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.exceptions import StateError
from tmapr.types import LATEST, NANOSECONDS

_STEPPED = 3
"""Older stamps in a row that are a clock's."""
_SOONER = 1 * NANOSECONDS
"""By how much a frame may come sooner than the fastest before it: what a clock is adjusted by is less than that."""
_DRIFT = 1e-3
"""By how much the camera's clock may run faster than ours."""
_USUAL = NANOSECONDS // 10
"""Between frames, before any were seen."""

LAYOUT = {"moments": Array("i", "moments", -LATEST, LATEST)}
"""Of what `Timeline.arrays` gives."""


@dataclass(slots=True)
class Timeline:
    """Places frames on the drive's clock, which is the camera's until that is set."""

    last: int | None = None
    """The latest moment of the drive's clock that a frame was placed at."""
    stamp: int = 0
    """Of the frame at `last`, by the camera's clock."""
    steps: int = 0
    """How often the camera's clock was set."""
    _arrived: int | None = None
    _usual: int = _USUAL
    _fastest: float | None = None
    """How long the fastest frame was under way, up to what the two clocks differ by."""
    _older: list[int] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """How far the drive's clock is ahead of the camera's."""
        return (self.last or 0) - self.stamp

    def place(self, stamp: int, arrived: int | None = None) -> int:
        """The moment at which a frame was taken, by the drive's clock; not later than `last`: it comes too late."""
        if self.last is None:
            return self._advance(stamp, stamp, arrived)
        if stamp <= self.stamp:
            return self._wait_for_more(stamp, arrived)
        self._older.clear()
        if arrived is not None and self._fastest is not None and arrived - stamp < self._fastest - _SOONER:
            return self._step(stamp, arrived)
        return self._advance(stamp, stamp + self.offset, arrived)

    def _wait_for_more(self, stamp: int, arrived: int | None) -> int:
        """An older stamp is a late frame's, until there are several."""
        placed = max(-LATEST, stamp + self.offset)
        if stamp == self.stamp:  # the same frame once more
            return placed
        self._older = [*self._older, stamp] if not self._older or stamp > self._older[-1] else [stamp]
        return self._step(stamp, arrived) if len(self._older) == _STEPPED else placed

    def _step(self, stamp: int, arrived: int | None) -> int:
        """The camera's clock was set: go on from the last frame, by the time that passed here since."""
        known = arrived is not None and self._arrived is not None
        since = (arrived or 0) - (self._arrived or 0) if known else max(len(self._older), 1) * self._usual
        self.steps += 1
        self._older.clear()
        self._fastest = None
        return self._advance(stamp, (self.last or 0) + max(since, 1), arrived, usual=False)

    def _advance(self, stamp: int, placed: int, arrived: int | None, usual: bool = True) -> int:
        placed = max(-LATEST, min(placed, LATEST))
        if usual and self.last is not None and 0 < placed - self.last < NANOSECONDS:
            self._usual = placed - self.last
        if arrived is not None:
            under_way = float(arrived - stamp)
            elapsed = 0 if self._arrived is None else arrived - self._arrived
            kept = under_way if self._fastest is None else self._fastest + _DRIFT * elapsed
            self._fastest = min(under_way, kept)
        self.last, self.stamp, self._arrived = placed, stamp, arrived
        return placed

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes but when frames came, which the next process counts from another start."""
        known = [] if self.last is None else [self.last, self.stamp, self._usual, *self._older]
        return {"moments": np.array(known, dtype=np.int64)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Timeline":
        """The clock that `arrays` described."""
        if not len(arrays["moments"]):
            return cls()
        if len(arrays["moments"]) < 3:
            raise StateError(f"clock.moments has {len(arrays['moments'])} numbers, not 3 or more; remove the state")
        last, stamp, usual, *older = arrays["moments"].tolist()
        return cls(last, stamp, _usual=usual, _older=older)


def place_all(stamps: Int[np.ndarray, " frames"]) -> Int[np.ndarray, " frames"]:
    """The drive's clock after each frame of a recording; one that it stands still at came too late."""
    if (np.diff(stamps) > 0).all():
        return stamps
    timeline = Timeline()
    return np.maximum.accumulate(np.array([timeline.place(stamp) for stamp in stamps.tolist()], dtype=np.int64))


def list_late(stamps: Int[np.ndarray, " frames"]) -> Bool[np.ndarray, " frames"]:
    """Which frames of a recording came too late to move anything."""
    late: Bool[np.ndarray, " frames"] = np.append(False, np.diff(place_all(stamps)) == 0)[: len(stamps)]
    return late
