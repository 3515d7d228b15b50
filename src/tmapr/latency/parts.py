"""The parts of a frame's way on a device, each by events of its own: its time, what it must move.

Every part is made from the pieces that a localizer there is made of, and does to them what a frame does.
"""

from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
import torch
from torch import Tensor

from tmapr.artifacts.documents.latency import DeviceStage
from tmapr.device.classifier import DeviceClassifier
from tmapr.device.graphs import Recorded
from tmapr.device.perceiving import SeeingNetwork, Shape, scale_rows
from tmapr.device.placing import DevicePlacer, split_numbers
from tmapr.device.triangle import UPDATES as WAITING
from tmapr.device.views import Glimpse
from tmapr.device.way import DeviceWay
from tmapr.latency.events import DeviceTimer, Turns
from tmapr.latency.sight import DeviceSight
from tmapr.latency.workload import Workload, revisit
from tmapr.localizer import Localizer

_VISITS = 256
"""Views that updates take in turn."""
_FIRST = 20
"""Frames after which a drive's belief is like that of any other frame."""
_DOUBLE = 8  # bytes


class Stages:
    """Collects what was measured."""

    def __init__(self, timer: DeviceTimer) -> None:
        self.turns: dict[str, Turns] = {}
        self._floors: dict[str, float] = {}
        self.bandwidth, self.link = timer.measure_bandwidth(), timer.measure_link()

    def add(self, name: str, turns: Turns, moved: int = 0, linked: int = 0) -> None:
        """A part that moves so many bytes on the device, and so many to it or from it; none: launches are its cost."""
        self.turns[name] = turns
        if moved or linked:
            self._floors[name] = moved / self.bandwidth + linked / self.link

    def floor(self, *names: str) -> float:
        """Milliseconds of the named parts, by what they move."""
        return 1e3 * sum(self._floors.get(name, 0.0) for name in names)

    def tabulate(self) -> dict[str, DeviceStage]:
        """Every part in milliseconds."""
        return {name: self._summarize(name) for name in self.turns}

    def _summarize(self, name: str) -> DeviceStage:
        turns = 1e3 * self.turns[name]
        p50, p99 = (float(each) for each in np.percentile(turns, (50, 99)))
        floor = self._floors.get(name)
        return DeviceStage(
            mean_ms=float(turns.mean()),
            p50_ms=p50,
            p99_ms=p99,
            floor_ms=None if floor is None else 1e3 * floor,
        )


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a frame's way is made of, after some frames of a drive."""

    way: DeviceWay
    placer: DevicePlacer
    classifier: DeviceClassifier
    seeing: SeeingNetwork
    counts: Tensor
    descriptor: Tensor


def gather_pieces(work: Workload, sight: DeviceSight) -> Pieces:
    """Of a localizer that has seen the first frames; what recognises is a way of its own beside it."""
    localizer = work.localizer()
    estimates = [localizer.step(frame) for frame in work.frames[:_FIRST]]
    placer, classifier = localizer.tracker.placer, localizer.classifier
    way = _begin_way(work, localizer)
    if not isinstance(placer, DevicePlacer) or not isinstance(classifier, DeviceClassifier):
        raise TypeError(f"a frame's way there needs a placer there, got {type(placer).__name__}")
    there, percept = way.drive.there, estimates[-1].percept
    for estimate in estimates:
        way.drive.send(estimate.percept)
        there.turn_to(estimate.percept.stamp)
        there.note(way.descriptor, way.descriptor.new_ones(()))
        there.keep(estimate.percept.stamp)
    there.turn_to(percept.stamp)
    image = work.frames[_FIRST - 1].image()
    height, width = image.shape
    seeing = sight.eye.build(Shape(1, height, width, image.dtype))
    return Pieces(way, placer, classifier, seeing, torch.from_numpy(image)[None].to(sight.device), way.descriptor)


def _begin_way(work: Workload, localizer: Localizer) -> DeviceWay:
    way = work.backend.begin_way(localizer.stages, localizer.memory, localizer.classifier) if work.backend else None
    if not isinstance(way, DeviceWay):
        raise TypeError(f"parts are those of a way on a device, got {type(way).__name__}")
    return way


def time_seeing(stages: Stages, timer: DeviceTimer, pieces: Pieces) -> None:
    """From host memory to the row of an image."""
    counts, seeing = pieces.counts, pieces.seeing
    here = torch.empty(counts.shape, dtype=counts.dtype, pin_memory=counts.is_cuda)
    here.copy_(counts)
    stages.add("copy_in", timer.time(lambda: counts.copy_(here, non_blocking=True)), linked=counts.nbytes)
    weights = sum(each.nbytes for each in seeing.network.parameters())
    if seeing.prepare:
        prepare = seeing.prepare
        stages.add("preparation", timer.time_recorded(lambda: prepare(counts)))
        picture = prepare(counts)[0]
        stages.add("network", timer.time_recorded(lambda: scale_rows(seeing.network(picture)[0])), weights)
    stages.add("encode", timer.time_recorded(lambda: seeing(counts)), weights)


def time_recognition(stages: Stages, timer: DeviceTimer, pieces: Pieces) -> None:
    """From a descriptor to what the host needs of it."""
    recogniser, descriptor = pieces.way.recogniser, pieces.descriptor
    memory, places, ridge = recogniser.memory, recogniser.places, pieces.classifier.ridge
    if places is None:
        raise ValueError("parts are timed in retrieval.mode 'places'")
    prepared = recogniser.prepare(descriptor)
    rows = places.spread(prepared.view)
    observed, products = places.observe(rows), memory.multiply(prepared.queries)
    weights = _DOUBLE * ridge.dim * ridge.classes
    stages.add("asked", timer.time_recorded(lambda: places.spread(recogniser.prepare(descriptor).view)))
    stages.add("search_read", timer.time_recorded(lambda: memory.multiply(prepared.queries)), memory.nbytes)
    stages.add("ridge_read", timer.time_recorded(lambda: places.observe(rows)), ridge.nbytes + weights)
    stages.add("place_scores", timer.time_recorded(lambda: places.score(prepared.view)), ridge.nbytes + weights)

    def conclude() -> None:
        scores = places.conclude(prepared.view, observed)
        recogniser.steps.conclude(prepared, products, scores, observed)

    stages.add("conclude", timer.time_recorded(conclude))
    both = memory.nbytes + ridge.nbytes + weights
    stages.add("recognition", timer.time_recorded(lambda: recogniser.recognise(descriptor)), both)


def time_tracking(stages: Stages, timer: DeviceTimer, pieces: Pieces, stamp: int) -> None:
    """From comparisons to what the host is told."""
    placer, found = pieces.placer, pieces.way.recogniser.recognise(pieces.descriptor)
    sent = torch.tensor(placer.list_numbers(stamp, None, None), device=pieces.descriptor.device)
    looks = pieces.descriptor, found.similarity, found.place, found.cosine, placer.local
    frame, mass = Glimpse(*looks, *split_numbers(sent)), placer.state.belief.mass
    moved = 2 * mass.nbytes + 3 * found.cosine.nbytes + placer.told.nbytes
    stages.add("route_filter", timer.time_recorded(lambda: placer.look(frame)), moved)
    crossings = pieces.way.crossings
    fetching = timer.time(lambda: [each.fetch() for each in crossings])
    stages.add("crossing", fetching, linked=sum(each.nbytes for each in crossings))


def time_learning(stages: Stages, timer: DeviceTimer, pieces: Pieces, work: Workload, updates: int) -> None:
    """A lesson of a view that was observed, K's rewriting, and the update as a whole, of one view after the other."""
    classifier = pieces.classifier
    places, ridge, device = classifier.places, classifier.ridge, classifier.device
    visits = list(islice(revisit(work.environment.memory), min(_VISITS, updates)))
    views = torch.tensor(np.array([percept.descriptor for percept, _ in visits]), device=device)
    numbers = torch.tensor([classifier.enter(position) for _, position in visits], device=device)
    view, place, turns = views[0].clone(), numbers[:1].clone(), cycle(range(len(visits)))
    terms, weights = ridge.terms(information=places.information), _DOUBLE * ridge.dim * ridge.classes

    def advance() -> None:
        turn = next(turns)
        view.copy_(views[turn])
        place.copy_(numbers[turn : turn + 1])

    def absorb() -> None:
        lesson = places.learn(view, place, observed)
        ridge.absorb_place(place[0], lesson.weights, terms)

    observed, absorbing = classifier.observe(view), Recorded(absorb, device)
    observing, flushing = Recorded(lambda: classifier.observe(view), device), Recorded(ridge.flush, device)

    def prepare() -> None:
        flushing()
        advance()
        observing()

    def wait() -> None:
        prepare()
        absorbing()

    stages.add("lesson", timer.time(absorbing, prepare), 2 * weights)
    stages.add("flush", timer.time(flushing, wait), 2 * ridge.nbytes)
    # One rewriting, of all tiles, for as many updates as may wait.
    moved = ridge.nbytes + 2 * ridge.nbytes // WAITING + 3 * weights

    def update() -> None:
        classifier.learn_observed(view, place, classifier.observe(view))

    ridge.flush()
    stages.add("update", timer.time_recorded(update, advance, updates), moved)
    ridge.check()
