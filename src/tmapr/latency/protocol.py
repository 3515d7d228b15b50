"""The paper's latency protocol: one frame at a time, one encoder pass for each, warm-ups left out.

Stages are timed one by one in a pass of their own. What they are together, localization and the whole cycle, is timed
again as a whole and not added up: a sum of parts leaves out what lies between them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from time import perf_counter

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.documents.latency import StageLatency, UpdateLatency
from tmapr.latency.workload import Workload, revisit
from tmapr.places.classifier import Classifier
from tmapr.retrieval.condition import Condition
from tmapr.track import make_tracker
from tmapr.types import Estimate

WARM_UPS = 20
"""First turns of every stage that do not count: compilers, caches and clocks settle in them."""

ROUNDS = 200
"""Turns of every part on a device."""

UPDATES = "updates"
_MILLISECONDS = 1000.0
_PARTS = 3


def summarize_turns(seconds: Float[np.ndarray, " turns"]) -> StageLatency:
    """Condense the turns of a stage."""
    mean = float(seconds.mean())
    p50, p95, p99 = (_MILLISECONDS * float(each) for each in np.percentile(seconds, (50, 95, 99)))
    return StageLatency(mean_ms=_MILLISECONDS * mean, p95_ms=p95, hz=1.0 / mean, p50_ms=p50, p99_ms=p99)


def compare_thirds(seconds: Float[np.ndarray, " turns"]) -> tuple[tuple[float, float, float], float]:
    """Whether later turns take longer: the means of first, middle and last third in ms, and last to first."""
    if len(seconds) < _PARTS:
        raise ValueError(f"thirds of {len(seconds)} turns do not exist; {_PARTS} are the least")
    first, middle, last = (_MILLISECONDS * float(part.mean()) for part in np.array_split(seconds, _PARTS))
    return (first, middle, last), last / first


def summarize_updates(seconds: Float[np.ndarray, " turns"]) -> UpdateLatency:
    """Condense the turns of an update, and say whether they grow."""
    thirds, ratio = compare_thirds(seconds)
    worst = _MILLISECONDS * float(seconds.max())
    whole = summarize_turns(seconds)
    return UpdateLatency(**dict(whole), count=len(seconds), thirds_ms=thirds, ratio=ratio, worst_ms=worst)


def _nothing() -> None:
    """A processor has no queue to wait for."""


class Stopwatch:
    """Collects the turns of every stage; `settle` waits until the device has done what was asked of it."""

    def __init__(self, clock: Callable[[], float] = perf_counter, settle: Callable[[], None] = _nothing) -> None:
        self._clock = clock
        self._settle = settle
        self._turns: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """One turn of a stage."""
        self._settle()
        start = self._clock()
        yield
        self._settle()
        self._turns[stage].append(self._clock() - start)

    def seconds(self, stage: str) -> Float[np.ndarray, " turns"]:
        """The turns of a stage that count."""
        counted = self._turns[stage][WARM_UPS:]
        if not counted:
            raise ValueError(f"{stage} had {len(self._turns[stage])} turns, and {WARM_UPS} warm-ups do not count")
        return np.array(counted)

    def latencies(self) -> dict[str, StageLatency]:
        """Every stage that was timed, in the order of its first turn."""
        return {stage: summarize_turns(self.seconds(stage)) for stage in self._turns}


def time_stages(work: Workload, watch: Stopwatch) -> tuple[Estimate, ...]:
    """Every frame through all stages and an update, each stage on its own; the estimates are those of `time_cycle`."""
    retrieval, memory, classifier = work.system.retrieval, work.environment.memory, work.environment.classifier()
    tracker = make_tracker(work.system.tracking, work.system.fusion, memory)
    perceive, estimates, condition = work.stream(), [], Condition()
    compare = work.system.tracking.compares
    for frame in work.frames:
        with watch.timing("prepare"):
            work.image.prepare(frame.image(), work.size, "area")
        with watch.timing("encode"):
            percept = perceive(frame)
        shared = condition.recall(percept.stamp) if compare and retrieval.centred else None
        view = shared.exchange(percept.descriptor, memory.mean) if shared else percept.descriptor
        scores = None
        if retrieval.mode == "places":
            with watch.timing("places"):
                scores = classifier.predict(view)
        with watch.timing("search"):
            recognition = retrieval.search(
                memory,
                percept.descriptor,
                scores,
                classifier.neighbourhood,
                compare=compare,
                shared=shared,
            )
        with watch.timing("gates_filter"):
            estimate = tracker.advance(percept, recognition)
        with watch.timing("update"):
            classifier.learn(view, estimate.position)
        condition.follow(estimate)
        estimates.append(estimate)
    return tuple(estimates)


def time_localization(work: Workload, watch: Stopwatch) -> Iterator[Estimate]:
    """Image to estimate, as a robot calls it.

    Estimates come one by one: whoever keeps them all also keeps, where they come from a device, the memory that they
    were copied into, and every frame then waits for more of it.
    """
    localizer = work.localizer()
    for frame in work.frames:
        with watch.timing("localization"):
            estimate = localizer.step(frame)
        yield estimate


def time_cycle(work: Workload, watch: Stopwatch) -> Iterator[Estimate]:
    """Image to estimate, and the update with the label that a robot has in the field: its own fused position."""
    localizer = work.localizer()
    for frame in work.frames:
        with watch.timing("cycle"):
            estimate = localizer.step(frame)
            localizer.learn(estimate, estimate.position, scored=False)
        yield estimate


def time_place_inference(work: Workload, count: int, watch: Stopwatch) -> None:
    """Place scores alone, from descriptor after descriptor."""
    classifier = work.environment.classifier()
    for percept, _ in islice(revisit(work.environment.memory), WARM_UPS + count):
        with watch.timing("place_inference"):
            classifier.predict(percept.descriptor)


def time_updates(work: Workload, count: int, watch: Stopwatch) -> Classifier:
    """One-sample updates alone, each with another descriptor, place after place, lap after lap."""
    classifier = work.environment.classifier()
    for percept, position in islice(revisit(work.environment.memory), WARM_UPS + count):
        with watch.timing(UPDATES):
            classifier.learn(percept.descriptor, position)
    return classifier
