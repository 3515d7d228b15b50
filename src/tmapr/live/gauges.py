"""How the parts of a live drive are doing, and which of them holds the others up."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from tmapr.live.events import Part

_LATE = 2.0
"""Seconds after which a part that works on one frame, or a source that gives none, is late."""
_FINEST, _FINER = 1e-6, 1.02
"""Seconds, and the ratio of one step of a histogram to the one before."""
_STEPS = 1100  # up to three hours


class Gauge:
    """Of one part: what it has done, since when it works, what it said last. Read from other threads."""

    def __init__(self, name: str, waits_for_work: bool = True) -> None:
        self.name = name
        self.done = 0
        self.spent = 0.0
        """Seconds of work."""
        self.note = ""
        self._waits_for_work = waits_for_work
        """Otherwise its silence is its lateness, as a camera's is."""
        self._finished = time.monotonic()
        self._since: float | None = None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Around the work on one frame."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self.tick()

    def tick(self) -> None:
        """One more is done."""
        now, since = time.monotonic(), self._since
        self.spent += 0.0 if since is None else now - since
        self.done += 1
        self._finished, self._since = now, None

    def read(self, dropped: int = 0) -> Part:
        """As it is now."""
        now, since = time.monotonic(), self._since
        busy, idle = 0.0 if since is None else now - since, now - self._finished
        late = busy > _LATE or (not self._waits_for_work and idle > _LATE)
        return Part(self.name, self.done, dropped, busy, idle, late, self.note)


class Blame:
    """Says which part holds the others up when frames had to be dropped: the one that works without a pause."""

    def __init__(self) -> None:
        self._dropped = 0
        self._spent: dict[str, float] = {}

    def find(self, dropped: int, gauges: Sequence[Gauge]) -> str | None:
        """Asked now and then; the part that had most to do since it was asked last, if frames were dropped."""
        worked = {gauge.name: gauge.spent - self._spent.get(gauge.name, 0.0) for gauge in gauges}
        more = dropped > self._dropped
        self._dropped, self._spent = dropped, {gauge.name: gauge.spent for gauge in gauges}
        return max(worked, key=lambda name: worked[name]) if more and worked else None


class Durations:
    """How long something took, as a histogram: its memory does not grow with the drive."""

    def __init__(self) -> None:
        self._counts: Int[np.ndarray, " steps"] = np.zeros(_STEPS, dtype=np.int64)
        self._lock = threading.Lock()

    def add(self, seconds: float) -> None:
        """Count one more."""
        step = int(np.log(max(seconds, _FINEST) / _FINEST) / np.log(_FINER))
        with self._lock:
            self._counts[min(step, _STEPS - 1)] += 1

    def find_percentile(self, percent: float) -> float:
        """The duration that so many per cent stay within, to 2 %; 0 where nothing was counted."""
        with self._lock:
            total = np.cumsum(self._counts)
        if not total[-1]:
            return 0.0
        step = int(np.searchsorted(total, percent / 100 * total[-1]))
        return float(_FINEST * _FINER ** (step + 1))


def mark_late(parts: Sequence[Part], blamed: str | None) -> tuple[Part, ...]:
    """The parts, with the one that is to blame for dropped frames among those that are late."""
    return tuple(replace(part, late=True) if part.name == blamed else part for part in parts)
