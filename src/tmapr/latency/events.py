"""Time on a device, by its events around what is asked for; on a CPU by the clock."""

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Float

from tmapr.device.graphs import Recorded
from tmapr.latency.protocol import ROUNDS

Work = Callable[[], object]
Turns = Float[np.ndarray, " turns"]

_WARM_UPS = 5
_AHEAD = 32
"""Turns that a host asks for while the device is kept busy: one that waits for its host is timed with the wait."""
_LEADS = 16
"""Copies that keep it busy, a quarter of a millisecond each on an H200."""
_COPIED = {"cuda": 2**29, "cpu": 2**20}
_LINKED = {"cuda": 2**26, "cpu": 2**20}


def _nothing() -> None:
    """Where nothing has to be done before a turn."""


class DeviceTimer:
    """Repeats work on one device; seconds of each turn."""

    def __init__(self, device: torch.device, rounds: int = ROUNDS) -> None:
        self.device, self._rounds = device, rounds
        size = _COPIED[device.type]
        self._source, self._target = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))

    def time(self, work: Work, before: Work = _nothing, rounds: int | None = None) -> Turns:
        """Work as it is called, without what is done before each turn."""
        for _ in range(_WARM_UPS):
            before()
            work()
        count = rounds or self._rounds
        if self.device.type != "cuda":
            return np.array([_clock_once(work, before) for _ in range(count)])
        taken = list[float]()
        for start in range(0, count, _AHEAD):
            taken.extend(self._time_some(work, before, min(_AHEAD, count - start)))
        return np.array(taken)

    def time_recorded(self, work: Work, before: Work = _nothing, rounds: int | None = None) -> Turns:
        """Work as a graph of its own."""
        return self.time(Recorded(work, self.device), before, rounds)

    def measure_bandwidth(self) -> float:
        """Bytes a second of a copy on the device, read and written."""
        return 2 * self._source.nbytes / float(np.median(self.time(self._copy, rounds=_AHEAD)))

    def measure_link(self) -> float:
        """Bytes a second of a copy to the device."""
        here = torch.zeros(_LINKED[self.device.type], dtype=torch.uint8, pin_memory=self.device.type == "cuda")
        there = here.to(self.device, copy=True)
        turns = self.time(lambda: there.copy_(here, non_blocking=True), rounds=_AHEAD)
        return here.nbytes / float(np.median(turns))

    def settle(self) -> None:
        """Until the device has done what was asked of it."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _copy(self) -> None:
        self._target.copy_(self._source)

    def _time_some(self, work: Work, before: Work, count: int) -> Iterator[float]:
        events = [(_make_event(), _make_event()) for _ in range(count)]
        for _ in range(_LEADS):
            self._copy()
        for start, end in events:
            before()
            start.record()
            work()
            end.record()
        self.settle()
        return (1e-3 * start.elapsed_time(end) for start, end in events)


def _make_event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _clock_once(work: Work, before: Work) -> float:
    before()
    start = perf_counter()
    work()
    return perf_counter() - start
