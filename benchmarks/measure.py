"""What benchmarks share: metrics with bounds, contenders timed in turn, resident memory, the speed a thread keeps.

Machines are noisy and shared, so no absolute time decides anything. Contenders take turns within a round, and a bound
is on the median of the rounds' ratios: what slows one turn down slows its neighbours too. Times are the calling
thread's processor time, so contenders must not use other threads. On an idle machine that is the time on the clock; on
a busy one a turn of 2 ms that is put aside for 4 ms would otherwise count as 6.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, sleep, thread_time
from typing import Literal, TypeVar

import numpy as np
from jaxtyping import Float
from scipy.stats import binomtest

from tmapr.evaluation.bootstrap import Interval

Input = TypeVar("Input")
Seconds = Mapping[str, Float[np.ndarray, " rounds"]]

_MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Metric:
    """One number, the direction in which it is good, and the bound it has to keep, if any."""

    name: str
    value: float
    unit: str
    direction: Literal["lower", "higher"] = "lower"
    bound: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the bound is kept; None where there is none."""
        if self.bound is None:
            return None
        return self.value <= self.bound if self.direction == "lower" else self.value >= self.bound

    def line(self) -> str:
        """One row of the table."""
        sign = "≤" if self.direction == "lower" else "≥"
        bound = "" if self.bound is None else f"{sign} {self.bound:g}"
        verdict = {None: "", True: "holds", False: "MISSED"}[self.holds]
        return f"  {self.name:<66} {self.value:>10.4g} {self.unit:<6} {bound:>8}  {verdict}".rstrip()


def show(title: str, metrics: Iterable[Metric]) -> list[Metric]:
    """Print one section of the table as soon as it is measured."""
    found = list(metrics)
    print(title, *(metric.line() for metric in found), sep="\n", flush=True)
    return found


def conclude(benchmark: str, metrics: Iterable[Metric], notes: Mapping[str, object]) -> None:
    """Print what was missed and, as the last line, everything as JSON."""
    found = list(metrics)
    missed = [metric.name for metric in found if metric.holds is False]
    bounded = sum(metric.holds is not None for metric in found)
    print(f"{bounded - len(missed)} of {bounded} bounds hold", *(f"  MISSED: {name}" for name in missed), sep="\n")
    records = [asdict(metric) | {"holds": metric.holds} for metric in found]
    print(json.dumps({"benchmark": benchmark, "metrics": records, "notes": dict(notes)}, ensure_ascii=False))


def in_turn(contenders: Mapping[str, Callable[[Input], object]], inputs: Iterable[Input], warm_up: int = 2) -> Seconds:
    """Give every input to every contender, one round per input; the first rounds are run but not counted.

    The order is drawn anew each round, and nobody follows itself. Rotating it would leave everybody the same
    predecessor: what that wrote has to leave the cache first, which alone moved a stream's time by a fifth.
    """
    rng = np.random.default_rng(0)
    order = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in order}
    for given in inputs:
        for name in order:
            start = thread_time()
            contenders[name](given)
            seconds[name].append(thread_time() - start)
        last = order[-1]
        order = rng.permutation([name for name in order if name != last]).tolist()
        order.insert(int(rng.integers(1, len(order) + 1)), last)
    return {name: np.array(taken[warm_up:]) for name, taken in seconds.items()}


def ratio(seconds: Seconds, name: str, other: str) -> float:
    """The median over the rounds of one contender's time in units of another's."""
    return float(np.median(seconds[name] / seconds[other]))


def milliseconds(seconds: Seconds, name: str, percentile: float = 50.0) -> float:
    """A percentile of one contender's times."""
    return float(1e3 * np.percentile(seconds[name], percentile))


def resident() -> float:
    """Resident memory of this process in MiB, as Linux counts it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MEBIBYTE


def memory_gained(verb: Callable[[Input], object], inputs: Iterator[Input], times: int, warm_up: int = 100) -> float:
    """How much resident memory, in MiB, a verb has gained after it was given so many inputs."""
    for given in islice(inputs, warm_up):
        verb(given)
    before = resident()
    for given in islice(inputs, times):
        verb(given)
    return resident() - before


@dataclass(frozen=True, slots=True)
class Window:
    """What happened in one window: counts of the thread, repetitions of the work, seconds in all and in a queue."""

    counts: int
    works: int
    elapsed: float
    queued: float

    @property
    def rate(self) -> float:
        """Counts per second in which a core was free: on a busy machine that queue hides what the GIL costs."""
        return self.counts / (self.elapsed - self.queued)


class Counter(Thread):
    """A thread that counts in pure Python: it stands for the camera's, and is stopped on leaving `with`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._count = 0
        self._done = Event()

    def run(self) -> None:
        """Count until told to stop."""
        while not self._done.is_set():
            for _ in range(100):
                self._count += 1

    def __enter__(self) -> "Counter":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.join()

    def window(self, work: Callable[[], object], length: float) -> Window:
        """Count while the caller repeats `work` for so many seconds."""
        count, queued, start = self._count, self._queued(), perf_counter()
        works = 0
        while perf_counter() - start < length:
            work()
            works += 1
        return Window(self._count - count, works, perf_counter() - start, self._queued() - queued)

    def _queued(self) -> float:
        """Seconds that the thread was ready and no core was free, so far, as Linux counts them."""
        _ran, waited, _slices = Path(f"/proc/self/task/{self.native_id}/schedstat").read_text().split()
        return int(waited) / 1e9


@dataclass(frozen=True, slots=True)
class Kept:
    """The share of its speed that a thread keeps, how long it had to queue for a core, what one work costs it."""

    share: float
    queued: float
    lost_ms: float


def speed_kept(works: Mapping[str, Callable[[], object]], windows: int, length: float = 0.3) -> dict[str, Kept]:
    """What a Python thread keeps of its speed beside each work: medians over alternating windows."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in works}
    with Counter() as counter:
        for _ in range(windows):
            for name, work in works.items():
                alone = counter.window(lambda: sleep(length), length)
                beside = counter.window(work, length)
                share = beside.rate / alone.rate
                lost_ms = 1e3 * (1 - share) * beside.elapsed / beside.works
                found[name].append((share, beside.queued / beside.elapsed, lost_ms))
    return {name: Kept(*np.median(rows, axis=0).tolist()) for name, rows in found.items()}


def wilson(successes: int, trials: int) -> Interval:
    """Wilson's 95 % interval of a share of independent trials; unlike the normal one it is honest near 0 and 1."""
    found = binomtest(successes, trials).proportion_ci(method="wilson")
    return Interval(float(found.low), float(found.high))
