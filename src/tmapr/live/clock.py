"""The drive's own clock: a camera's stamps, made to run on where somebody sets the clock that they are taken by.

A frame that comes late has an older stamp than the one before it, and is answered as such. A clock that is set back
gives older stamps for ever: three in a row, each later than the one before, are no accident. A clock that is set
forward looks like a silence, unless the frame came sooner than it can have been taken: frames differ in how long they
are under way, but none is under way for less than the fastest one. Recorded frames do not say when they came; theirs is
the silence that their stamps say.
"""

from dataclasses import dataclass, field

from tmapr.types import LATEST, NANOSECONDS

_STEPPED = 3
"""Older stamps in a row that are a clock's."""
_SOONER = 1 * NANOSECONDS
"""By how much a frame may come sooner than the fastest before it: what a clock is adjusted by is less than that."""
_DRIFT = 1e-3
"""By how much the camera's clock may run faster than ours."""
_USUAL = NANOSECONDS // 10
"""Between frames, before any were seen."""


@dataclass(slots=True)
class Timeline:
    """Places frames on the drive's clock, which is the camera's until that is set."""

    last: int | None = None
    """The latest moment of the drive's clock that a frame was placed at."""
    steps: int = 0
    """How often the camera's clock was set."""
    _offset: int = 0
    _stamp: int = 0
    """Of the frame at `last`, by the camera's clock."""
    _arrived: int | None = None
    _usual: int = _USUAL
    _fastest: float | None = None
    """How long the fastest frame was under way, up to what the two clocks differ by."""
    _older: list[int] = field(default_factory=list)

    def place(self, stamp: int, arrived: int | None = None) -> int:
        """The moment at which a frame was taken, by the drive's clock; not later than `last`: it comes too late."""
        if self.last is None:
            return self._advance(stamp, stamp, arrived)
        if stamp <= self._stamp:
            return self._wait_for_more(stamp, arrived)
        self._older.clear()
        if arrived is not None and self._fastest is not None and arrived - stamp < self._fastest - _SOONER:
            return self._step(stamp, arrived)
        return self._advance(stamp, stamp + self._offset, arrived)

    def _wait_for_more(self, stamp: int, arrived: int | None) -> int:
        """An older stamp is a late frame's, until there are several."""
        placed = max(-LATEST, stamp + self._offset)
        if stamp == self._stamp:  # the same frame once more
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
        self.last, self._stamp, self._arrived, self._offset = placed, stamp, arrived, placed - stamp
        return placed
