"""The whole way of a frame: Percept → PlaceScores → Recognition → Verdict → Estimate.

`observe` never learns, `learn` never moves the estimate, and the reference memory never changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, Header, put, save_arrays, take
from tmapr.exceptions import InputError
from tmapr.fusion.capf import Fusion
from tmapr.labels import Teacher
from tmapr.places.classifier import Classifier
from tmapr.retrieval.memory import Memory
from tmapr.retrieval.search import Retrieval
from tmapr.track import make_tracker
from tmapr.tracking import Tracking
from tmapr.types import Estimate, Fault, Frame, Lesson, Percept, Recognition

STATE_KIND, STATE_VERSION = "state", 2
Perceive = Callable[[Frame], Percept]
_UNIT_TOLERANCE = 1e-2
_FARTHEST = 1e8  # metres: more than around the Earth is no position
_LATEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Stages:
    """The settings of the stages, and the names that tie a saved state to its map."""

    retrieval: Retrieval
    tracking: Tracking
    fusion: Fusion
    map_digest: str
    settings_digest: str


class Localizer:
    """Owns the learned state A_t and the tracker; shares the map."""

    def __init__(
        self,
        stages: Stages,
        memory: Memory,
        classifier: Classifier,
        teacher: Teacher,
        perceive: Perceive | None = None,
    ) -> None:
        self.memory = memory
        self.classifier = classifier
        self._stages = stages
        self._teacher = teacher
        self._perceive = perceive
        self.tracker = make_tracker(stages.tracking, stages.fusion, memory)

    def step(self, frame: Frame) -> Estimate:
        """Localize a camera frame."""
        if self._perceive is None:
            raise InputError("this map was made from a program's own percepts; give them to `observe`")
        return self.observe(self._perceive(frame))

    def observe(self, percept: Percept) -> Estimate:
        """Localize one percept. Older, repeated and faulty ones are answered with a reason, never refused."""
        if not -_LATEST <= percept.stamp <= _LATEST:
            raise InputError(f"percept at {percept.stamp}: the stamp must be nanoseconds since the epoch in 64 bits")
        late = self.tracker.answer_late(percept)
        if late:
            return late
        if percept.fault or self._invalid(percept):
            return self.tracker.pass_over(percept)
        return self.tracker.advance(percept, self.recognise(percept))

    def recognise(self, percept: Percept, count: int | None = None) -> Recognition:
        """What a usable frame looks like: as many references as are judged, or so many."""
        retrieval = self._stages.retrieval
        scores = self.classifier.predict(percept.descriptor) if retrieval.mode == "places" else None
        compare = self._stages.tracking.method == "route"
        return retrieval.search(self.memory, percept.descriptor, scores, self.classifier.neighbourhood, count, compare)

    def learn(self, percept: Percept, position: Float[np.ndarray, "2"], scored: bool = True) -> Lesson:
        """Adapt A_t to a percept whose position is known, now or long after it was seen.

        How well it was recognised before teaches the tracking how far to believe frames like it; a position that the
        localizer itself found proves nothing, so it is not `scored`.
        """
        if percept.fault or self._invalid(percept):
            fault = percept.fault or Fault.INVALID
            raise InputError(f"percept at {percept.stamp}: a faulty frame ({fault}) cannot be learned from")
        if not np.isfinite(position).all():
            raise InputError(f"percept at {percept.stamp}: its label {position.tolist()} is not finite")
        label = np.asarray(position, dtype=float)
        if scored:
            # Before it is learned: afterwards every frame looks like itself.
            self.tracker.score_label(percept, self.recognise(percept), label)
        return self.classifier.learn(percept.descriptor, label)

    def teach(self, estimate: Estimate, truth: Float[np.ndarray, "2"] | None = None) -> list[Lesson]:
        """Learn what the labels' settings say is due after this frame."""
        return [self.learn(*label, scored=False) for label in self._teacher.due(estimate, truth)]

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        self.tracker.start_at(stamp, np.asarray(position, dtype=float), deviation)

    def expect_head(self, error: float | None) -> None:
        """Trust the pose head from the start as far as its validation says, by its error in metres."""
        if error is not None:
            self.tracker.expect_head(error)

    def _invalid(self, percept: Percept) -> bool:
        """Whether the numbers are unusable. A descriptor of another kind is the caller's mistake and refused."""
        descriptor = percept.descriptor
        if descriptor.shape != (self.classifier.dimension,):
            raise InputError(
                f"percept at {percept.stamp}: its descriptor has {descriptor.size} dimensions,"
                f" this map was made with {self.classifier.dimension}; run `tmapr map` again"
            )
        length = float(np.linalg.norm(descriptor))
        if length > 0 and np.isfinite(length) and abs(length - 1) > _UNIT_TOLERANCE:
            raise InputError(f"percept at {percept.stamp}: its descriptor has length {length:g}, it must be 1")
        pose = np.array([*(() if percept.position is None else percept.position), percept.heading or 0.0])
        # A comparison with NaN is False, so this also finds what is not a number.
        return length == 0 or not np.isfinite(length) or not bool((np.abs(pose) < _FARTHEST).all())

    def save(self, directory: str | Path) -> None:
        """Write state.npz beside the map it belongs to; a kill at any moment leaves the old or the new one."""
        path = Path(directory) / "state.npz"
        if not path.with_name("map.npz").exists():
            raise InputError(f"{directory}: holds no map.npz; a state is only of use beside its map")
        notes = {"map": self._stages.map_digest, "method": self._stages.tracking.method}
        header = Header(STATE_KIND, STATE_VERSION, self._stages.settings_digest, notes)
        save_arrays(path, header, self.arrays())

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes: A_t, labels still due, the track."""
        learned, due = self.classifier.arrays(), self._teacher.arrays()
        return put("classifier.", learned) | put("labels.", due) | put("track.", self.tracker.arrays())

    def restore(self, arrays: Arrays, method: str) -> None:
        """Continue from where `arrays` were taken; the classifier is given at construction.

        What another method carried from frame to frame means nothing here: then the drive starts anew.
        """
        self._teacher.restore(take(arrays, "labels."))
        if method == self._stages.tracking.method:
            self.tracker.restore(take(arrays, "track."))
