"""The paper's latency protocol: one frame at a time, one encoder pass for each, warm-ups left out.

Stages are timed one by one in a pass of their own, and wholes again: a sum of parts leaves out what lies between them.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.metadata import distributions
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from tmapr.artifacts.documents.latency import Latency, StageLatency, UpdateLatency
from tmapr.bench.workload import LESSONS, MANY, VIT, WARM_UPS, Workload, revisit
from tmapr.device import find_processor
from tmapr.places.triangle import RANK
from tmapr.retrieval.condition import Condition
from tmapr.types import Estimate, Frame

_COPIED = 2**25  # doubles, more than a cache holds
_REWRITTEN = 16  # updates after which a GPU rewrites K (gpu/torch_matrices.py)
_COMPUTING = ("tmapr", "numpy", "scipy", "numba", "opencv-python-headless", "onnxruntime", "onnxruntime-gpu", "torch")


class Stopwatch:
    """Collects the turns of every stage; `settle` waits until the device has done what was asked of it."""

    def __init__(self, clock: Callable[[], float] = perf_counter, settle: Callable[[], object] = int) -> None:
        self._clock, self.settle = clock, settle
        self.turns = defaultdict[str, list[float]](list)

    def time(self, stage: str, act: Callable[..., Any], *given: object) -> Any:
        """One turn of a stage."""
        self.settle()
        start = self._clock()
        found = act(*given)
        self.settle()
        self.turns[stage].append(self._clock() - start)
        return found


def time_stages(work: Workload, watch: Stopwatch) -> Iterator[Estimate]:
    """Every frame through all stages and an update, each on its own; the estimates are those of whole cycles."""
    localizer, perceive, condition = work.localizer.new_drive(), work.stream(), Condition()
    memory, classifier, retrieval = localizer.memory, localizer.classifier, localizer.stages.retrieval
    compare, scores, around = localizer.stages.tracking.compares, None, classifier.neighbourhood
    image, size = work.settings.perception.image, work.settings.perception.size
    for frame in work.frames:
        if work.timed.eager is None or image.bilateral:
            watch.time("prepare", lambda frame: image.prepare(frame.image(), size, "area"), frame)
        percept = watch.time("encode", perceive, frame)
        shared = condition.recall(percept.stamp) if compare and retrieval.centred else None
        view = shared.exchange(percept.descriptor, memory.mean) if shared else percept.descriptor
        if retrieval.mode == "places":
            scores = watch.time("places", classifier.predict, view)
        search = partial(retrieval.search, memory, percept.descriptor, scores, around, compare=compare, shared=shared)
        estimate = watch.time("gates_filter", localizer.tracker.advance, percept, watch.time("search", search))
        watch.time("update", classifier.learn, view, estimate.position)
        condition.follow(estimate)
        yield estimate


def begin_drive(work: Workload) -> Callable[[Frame], Estimate]:
    """Image to estimate, as a robot calls it."""
    drive, perceive = work.localizer.new_drive(), work.stream()
    return lambda frame: drive.observe(perceive(frame))


def begin_cycle(work: Workload) -> Callable[[Frame], object]:
    """The same, and the update with the label that a robot has in the field: its own fused position."""
    localize, drive = begin_drive(work), work.localizer
    return lambda frame: drive.learn(estimate := localize(frame), estimate.position, scored=False)


def run_protocol(work: Workload, updates: int, watch: Stopwatch) -> int:
    """Every pass; how many matches were accepted. All learn into one A_t: what it knows costs nothing."""
    accepted = [estimate.verdict.accepted for estimate in time_stages(work, watch)]
    begins: dict[str, Any] = {"localization": partial(begin_drive, work), "cycle": partial(begin_cycle, work)}
    if work.timed.eager:
        eager = replace(work, timed=replace(work.timed, perceiver=work.timed.eager))
        begins |= {"encode_eager": eager.stream, "cycle_eager": partial(begin_cycle, eager)}
    for stage, begin in begins.items():
        run = begin()
        for frame in work.frames:
            watch.time(stage, run, frame)
    memory, classifier, turns = work.localizer.memory, work.localizer.classifier, WARM_UPS + updates
    for percept, _ in islice(revisit(memory), turns):
        watch.time("place_inference", classifier.predict, percept.descriptor)
    for percept, position in islice(revisit(memory), turns):
        watch.time("updates", classifier.learn, percept.descriptor, position)
    ridge, rng = classifier.ridge, np.random.default_rng(4)
    targets, weights = np.eye(RANK, ridge.classes), np.full(RANK, 1 / ridge.dim)
    for _ in range(turns):
        watch.time("ridge_update", ridge.learn, rng.normal(size=(RANK, ridge.dim)), targets, weights)
    return sum(accepted[WARM_UPS:])


def list_floors(work: Workload) -> dict[str, float]:
    """Bytes that stages move: K, on the CPU a triangle, on a GPU whole and rewritten now and then; W; M₀; weights."""
    memory, stages, ridge = work.localizer.memory, work.localizer.stages, work.localizer.classifier.ridge
    K, W = 8.0 * ridge.dim**2, 8.0 * ridge.dim * ridge.classes
    read, both = (K, K + 2 * K / _REWRITTEN) if memory.multiply else (K / 2, K)
    floors = {"places": read + W, "place_inference": read + W, "updates": both + 3 * W, "ridge_update": both + 3 * W}
    if stages.tracking.compares and stages.retrieval.mode != "off":
        floors["search"] = memory.descriptors.nbytes
    if work.timed.weights and (work.timed.notes.device == "cpu" or memory.multiply):
        floors["encode"] = work.timed.weights
    return floors


def _choose_copy(work: Workload) -> tuple[Callable[[], object], Callable[[], object]]:
    """A copy where frames are localized, and what waits for it."""
    if work.localizer.memory.multiply is None or work.timed.notes.device == "cpu":
        return partial(np.copyto, *np.ones((2, _COPIED))), int
    import torch

    here, there = torch.ones((2, _COPIED), dtype=torch.float64, device="cuda")
    return partial(there.copy_, here), torch.cuda.synchronize


def measure(work: Workload, updates: int) -> Latency:
    """Run the protocol; what `tmapr bench` prints as JSON."""
    (copy, settle), perception = _choose_copy(work), work.settings.perception
    watch, memory, classifier = Stopwatch(settle=settle), work.localizer.memory, work.localizer.classifier
    for _ in range(2 * WARM_UPS):
        watch.time("copy", copy)
    bandwidth = 16 * _COPIED / float(np.median(watch.turns.pop("copy")))
    accepted = run_protocol(work, updates, watch)
    seconds = {stage: np.array(turns[WARM_UPS:]) for stage, turns in watch.turns.items()}
    floors = {stage: 1e3 * moved / bandwidth for stage, moved in list_floors(work).items()}
    threads = (os.environ.get(name, "") for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))
    return Latency(
        **dict(work.timed.notes),
        encoder=perception.encoder,
        weights="random" if perception.encoder == VIT else "trained",
        pose_head=work.timed.perceiver.card.apr is not None,
        processor=find_processor(),
        cores=os.cpu_count() or 1,
        threads=next((int(given) for given in threads if given.isdecimal() and int(given)), os.cpu_count() or 1),
        versions={name: each.version for name in _COMPUTING for each in distributions(name=name)},
        warmups=WARM_UPS,
        frames=len(work.frames) - WARM_UPS,
        images=work.images,
        size=perception.size,
        references=len(memory),
        places=classifier.ridge.classes,
        descriptor=classifier.dimension,
        lift=classifier.ridge.dim,
        extensions=work.settings.system.places.use,
        accepted=accepted,
        updates=UpdateLatency.of(seconds.pop("updates"), floors["updates"]),
        ridge_update=UpdateLatency.of(seconds.pop("ridge_update"), floors["ridge_update"]),
        stages={stage: StageLatency.of(turns, floors.get(stage)) for stage, turns in seconds.items()},
        lessons=LESSONS if len(memory) > MANY and not work.settings.data.references else None,
        bandwidth_gb_s=1e-9 * bandwidth,
    )
