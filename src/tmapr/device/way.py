"""The way of a frame on a device, from an image or a descriptor to all that the host needs of it, in one crossing.

    counts ─▶ eye ─▶ descriptor ─▶ recognition ─▶ route filter ─▶ one tensor ─▶ host: Kalman filter, `Estimate`

What follows a descriptor is looked for before the host has decided anything: whether the frame is heeded at all, and
whether its place is in doubt so that local features are matched. Where it is dropped, the state before it is still the
state; where matches add something, the filter looks once more. Every step is recorded as a graph when it is done for
the second time.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from tmapr.device.aside import Aside
from tmapr.device.classifier import DeviceClassifier
from tmapr.device.condition import DeviceCondition
from tmapr.device.crossing import Crossing, Fetched
from tmapr.device.driving import DriveCondition
from tmapr.device.found import Found
from tmapr.device.graphs import Moment, Recorded
from tmapr.device.memory import DeviceMemory
from tmapr.device.perceiving import POSE, DeviceEye, DevicePass
from tmapr.device.placing import SENT, Ahead, DevicePlacer, split_numbers
from tmapr.device.recognition import Asked, Recogniser
from tmapr.device.seeing import Sight, WayEye
from tmapr.device.shortcut import Noted, TakeDown
from tmapr.device.views import Glimpse
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.perceiver import Perceiver
from tmapr.places.triangle import RANK
from tmapr.retrieval.memory import Memory
from tmapr.retrieval.search import BEYOND_DOUBT, Retrieval
from tmapr.stages import BeginStream, Perceive
from tmapr.types import Comparison, Frame, Percept, Picture, PlaceScores, Recognition

_HEAD = slice(3, 5)
"""Of the numbers that are sent, the pose head's position."""


@dataclass(frozen=True, slots=True)
class Kit:
    """What the ways of several drives share."""

    retrieval: Retrieval
    memory: Memory
    there: DeviceMemory
    classifier: DeviceClassifier
    radius: float
    heeds_head: bool
    """Whether the pose head's positions count as evidence."""
    begin_stream: BeginStream | None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A frame on its way: when it was taken, what its estimate keeps of what crosses, and all else."""

    stamp: int
    kept: Fetched
    fetched: Fetched
    """Behind what is kept: when this is here, so is that."""
    lesson: TakeDown
    """What a lesson of it would be made of."""


class DeviceWay:
    """The way of one drive's frames. Nobody else may use it meanwhile: a localizer's lock sees to that."""

    def __init__(self, kit: Kit, placer: DevicePlacer) -> None:
        self._kit, self.placer, device = kit, placer, kit.there.device
        dimension, places = kit.classifier.dimension, kit.classifier.places
        self.drive = DriveCondition(DeviceCondition(dimension, device))
        scored = places if kit.retrieval.mode == "places" else None
        self._recogniser = Recogniser(kit.retrieval, kit.there, scored, self.drive.there, kit.radius)
        self.descriptor = self.drive.descriptor
        self._sent = torch.zeros(SENT, dtype=torch.float64, device=device)
        # A copy from memory that is not pinned would wait for all that the device has to do.
        self._to_send = torch.zeros(SENT, dtype=torch.float64, pin_memory=device.type == "cuda")
        self._arrived = Moment(device)
        self._device, self._generation = device, kit.classifier.generation
        self._ask = Recorded(self._ask_there, device)
        self._look = Recorded(self._look_there, device)
        self._look_again = Recorded(self._look_with_matches, device)
        self._aside = Aside(device)
        self._asked: Asked | None = None
        self._lay_out()
        self._begun: _Begun | None = None
        self._expected: tuple[int, float | None] | None = None
        self._follows: dict[DevicePass, Recorded] = {}
        """By the pass of the eye: its rows stay where they are."""

    def _lay_out(self) -> None:
        refs, capacity = len(self._kit.memory), self._kit.classifier.places.capacity
        width, features = len(self.descriptor), self._kit.classifier.ridge.dim
        # Apart: who keeps every estimate of a drive keeps no more of it than on the CPU.
        kept = {"similarity": refs, "place": refs, "cosine": refs, "view": width, "descriptor": width}
        passing = {"packed": self._recogniser.packing.size, "scores": capacity, "answers": capacity, "refused": 1}
        passing |= {"seen": POSE + 1, "told": len(self.placer.told)}
        lesson = {"rows": RANK * features, "step": width}
        self._kept, self._crossing, self._lesson = (Crossing(each, self._device) for each in (kept, passing, lesson))
        self._found: Found | None = None

    @property
    def recogniser(self) -> Recogniser:
        """What recognises its frames."""
        return self._recogniser

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """What crosses for each of them; other ones when places have grown past their room."""
        return self._kept, self._crossing, self._lesson

    def begin_stream(self) -> Perceive:
        """The perceiver of the map for one stream of frames; where it sees on this device, frames cross once."""
        if self._kit.begin_stream is None:
            raise ValueError("a program that has percepts of its own begins no stream")
        stream = self._kit.begin_stream()
        if isinstance(stream, Perceiver) and isinstance(stream.eye, DeviceEye):
            return stream.with_eye(WayEye(self, stream.eye, stream.normaliser))
        return stream

    def expect(self, frame: Frame, seconds: float) -> None:
        """The frame that is perceived next comes so long after the last one, and is localized at once."""
        self._expected = frame.stamp, self.placer.foresee_metres(frame.motion, seconds)

    def begin(self, eye: DeviceEye, normaliser: Normaliser | None, image: Picture) -> Sight | None:
        """See an image that was expected, and begin with all that follows from it; None if it was not."""
        expected, self._expected, self._begun = self._expected, None, None
        if expected is None:
            return None
        with eye.turn:  # until what it gives is put aside
            passed = eye.launch([image])
            # The head's position is put among the numbers there; whether it counts is known here.
            heeded = np.zeros(2) if self._kit.heeds_head and passed.poses is not None else None
            self._prepare(*expected, heeded)
            if passed not in self._follows:
                self._follows[passed] = self._record_follow(passed, normaliser)
            self._follows[passed]()
        self.drive.held = expected[0]
        self._begun = self._recognise_there(expected[0])
        return Sight(image, passed, self._begun.kept, self._begun.fetched)

    def _record_follow(self, passed: DevicePass, normaliser: Normaliser | None) -> Recorded:
        """What the eye gave, where the rest looks for it."""
        scale = normaliser.scale if normaliser else 1.0
        centre = self.descriptor.new_tensor(normaliser.center if normaliser else (0.0, 0.0))

        def follow() -> None:
            rest = passed.rest[0]
            self._crossing["seen"][-len(rest) :].copy_(rest)
            wide = passed.descriptors[0].double()
            torch.div(wide, torch.linalg.vector_norm(wide), out=self.descriptor)
            if passed.poses is not None and self._kit.heeds_head:
                self._sent[_HEAD].copy_(passed.poses[0, :2].double() * scale + centre)

        return Recorded(follow, self._device)

    def recognise(self, percept: Percept, seconds: float) -> Recognition:
        """What a usable frame looks like; where it is, the placer knows when it is asked."""
        begun, self._begun, self._expected = self._begun, None, None
        if begun is None or begun.stamp != percept.stamp:
            begun = self._begin(percept, self.placer.foresee_metres(percept.motion, seconds))
        begun.fetched.wait()
        fetched, kept = begun.fetched, begun.kept
        compared = Comparison(kept["similarity"], kept["place"], kept["cosine"])
        packing = self._recogniser.packing
        found = packing.unpack(fetched["packed"], self._kit.memory, compared, kept["view"])
        told = fetched["told"]
        if self._is_in_doubt(percept, fetched):
            found = self._verify(percept, found, fetched)
            told = self._look_at_matches(found.comparison)
        if found.comparison is not None:
            self.placer.expect(Ahead(found.comparison, told))
        self._note(found, begun)
        return found

    def _note(self, found: Recognition, begun: _Begun) -> None:
        """For a lesson of just this view, if it is learned before anything else: K was read for it already."""
        there, fetched, classifier = self._found, begun.fetched, self._kit.classifier
        if there is None or there.observed is None or found.view is None:
            return
        if fetched["refused"][0]:
            classifier.ridge.check()
        state = fetched["answers"], classifier.ledger.last, classifier.generation
        noted = Noted(found.view, there.view, begun.lesson, *state)
        classifier.shortcut.note(noted)

    def _begin(self, percept: Percept, metres: float | None) -> _Begun:
        """With a descriptor that the host has."""
        self._prepare(percept.stamp, metres, percept.position if self._kit.heeds_head else None)
        self.drive.send(percept)
        return self._recognise_there(percept.stamp)

    def _recognise_there(self, stamp: int) -> _Begun:
        """What a lesson would be made of comes first, and is hashed while all else is looked for."""
        self._ask()
        self._aside.follow()
        self._look()
        with self._aside.stay():
            lesson = self._lesson.fetch()
        kept, fetched = self._kept.fetch(awaited=False), self._crossing.fetch()
        self._aside.join()
        classifier = self._kit.classifier
        taken = classifier.shortcut.begin(lesson, classifier.ledger.last, classifier.row_count)
        return _Begun(stamp, kept, fetched, taken)

    def _prepare(self, stamp: int, metres: float | None, head: Float[np.ndarray, "2"] | None) -> None:
        if self._generation != self._kit.classifier.generation:
            for recorded in (self._ask, self._look, self._look_again, *self._follows.values()):
                recorded.forget()
            self._generation = self._kit.classifier.generation
            self._lay_out()
        self._kit.classifier.shortcut.forget()
        # Of the frame before: nobody had to wait for these.
        self.drive.settle()
        self.placer.settle()
        self.drive.there.turn_to(stamp)
        self.placer.send_local(None)
        self._arrived.wait()
        self._to_send.numpy()[:] = self.placer.list_numbers(stamp, metres, head)
        self._sent.copy_(self._to_send, non_blocking=True)
        self._arrived.record()

    def _ask_there(self) -> None:
        self._asked = asked = self._recogniser.ask(self.descriptor)
        if asked.rows is not None:
            self._lesson.write({"rows": asked.rows, "step": self._kit.classifier.places.step})

    def _look_there(self) -> None:
        if self._asked is None:
            raise ValueError("ridge and memory are asked first")
        self._found = found = self._recogniser.answer(self._asked)
        looks = {"similarity": found.similarity, "place": found.place, "cosine": found.cosine, "view": found.view}
        self._kept.write(looks | {"descriptor": self.descriptor})
        parts = {"packed": found.packed}
        if found.scores and found.observed:
            parts |= {"scores": found.scores.scores, "answers": found.observed.logits[0]}
            parts |= {"refused": self._kit.classifier.ridge.refused.double()}
        self._crossing.write(parts)
        self._look_with_matches()

    def _look_with_matches(self) -> None:
        found = self._found
        if found is None:
            raise ValueError("a frame is looked at before its matches")
        looks = self.descriptor, found.similarity, found.place, found.cosine, self.placer.local
        self.placer.look(Glimpse(*looks, *split_numbers(self._sent)), self._crossing["told"])

    def _is_in_doubt(self, percept: Percept, fetched: Fetched) -> bool:
        """Whether local features are to be matched: where places remain that look alike."""
        if percept.keypoints is None or self._kit.memory.keypoints is None:
            return False
        likely = self._recogniser.packing.list_likely(fetched["packed"])
        return len(likely.rows) > 0 and likely.share <= BEYOND_DOUBT

    def _verify(self, percept: Percept, found: Recognition, fetched: Fetched) -> Recognition:
        kit, classes = self._kit, len(self._kit.classifier.grid)
        if percept.keypoints is None or found.comparison is None:
            return found
        scores = None if found.leverage is None else PlaceScores(fetched["scores"][:classes], found.leverage)
        if scores and kit.retrieval.grouped and self._found and self._found.scores:
            posterior = kit.classifier.places.find_posterior(self._found.scores)
            scores = replace(scores, posterior=None if posterior is None else posterior[:classes].cpu().numpy())
        around = kit.classifier.neighbourhood
        verified = kit.retrieval.verify(
            kit.memory, percept.descriptor, scores, around, found.comparison, percept.keypoints
        )
        familiar = found.familiar
        if familiar is not None and verified.comparison is not None and verified.comparison.local is not None:
            familiar = np.array([*familiar[:2], np.nanmax(verified.comparison.local)])
        return replace(verified, view=found.view, familiar=familiar)

    def _look_at_matches(self, compared: Comparison | None) -> Float[np.ndarray, " numbers"]:
        self.placer.send_local(compared)
        self._look_again()
        fetched = self._crossing.fetch()
        fetched.wait()
        return fetched["told"]
