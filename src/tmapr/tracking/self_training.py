"""Self-training: a view becomes a training sample once the drive stayed proven for some views after it.

It is learned with counter-lessons of other places. Both classifiers are asked about a view when it is seen; where
labels contradict what is seen, the guard has all of it taken back.

After a frame one lesson is learned, or where each frame is a new view, as many as a view brings. What is learned when
depends on the frames alone, not on a clock. Vectors have float32's digits, as a journal keeps them.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.places.classifier import Classifier
from tmapr.places.lessons import Lesson
from tmapr.retrieval.memory import Memory
from tmapr.tracking import balance, guard
from tmapr.tracking.balance import Balance
from tmapr.tracking.guard import Guard
from tmapr.tracking.route import Route
from tmapr.types import FARTHEST

LAG = 4
"""Views that have to be proven after one: a wrong match seldom outlives ten metres, and a view is a few."""
_COUNTERS = 2
"""Counter-lessons of a lesson."""
_PATIENT = 6
"""Lessons that may wait; with more of them a frame brings two, and with twice as many as many as a view does."""

LAYOUT = {
    **{f"{kind}.vectors": Array("f", f"{kind} width") for kind in ("seen", "due")},
    **{f"{kind}.differences": Array("f", f"{kind} width") for kind in ("seen", "due")},
    **{f"{kind}.positions": Array("f", f"{kind} 2", -FARTHEST, FARTHEST) for kind in ("seen", "due")},
    **{f"{kind}.said": Array("f", f"{kind} 2") for kind in ("seen", "due")},
    **{f"{kind}.places": Array("i", kind, 0) for kind in ("seen", "due")},
    **{f"{kind}.lessons": Array("i", kind, 0) for kind in ("seen", "due")},
    **{f"{kind}.own": Array("b", kind) for kind in ("seen", "due")},
    **put("balance.", balance.LAYOUT),
    **put("guard.", guard.LAYOUT),
}
"""Of what `Student.arrays` gives, beside the classifier under `guard.base.`."""

Vector = Float[np.ndarray, " dim"]
Shares = Float[np.ndarray, " refs"]
Weigh = Callable[[Classifier, Vector], Shares]
"""The log-evidence of each reference along the route, as a classifier has it."""


@dataclass(frozen=True, slots=True)
class View:
    """Where a new view was taken: references along the route, with probabilities that add up to 1; none: not proven."""

    rows: Int[np.ndarray, " near"]
    masses: Float[np.ndarray, " near"]


@dataclass(frozen=True, slots=True)
class _Sample:
    """What may be learned: a proven view, or with `own` unset a counter-lesson."""

    vector: Vector
    position: Float[np.ndarray, "2"]
    difference: Vector
    """From the references where the view was taken."""
    said: Float[np.ndarray, "2"]
    """The evidence for its place when it was seen, by the learned classifier and by the base."""
    place: int
    lessons: int
    """That there were then."""
    own: bool = True


class Student:
    """Owns what is seen until it is learned, and the guard over what was."""

    def __init__(self, route: Route, memory: Memory) -> None:
        self.guard = Guard()
        self._route, self._memory = route, memory
        self._balance = Balance(memory)
        self._seen: deque[_Sample] = deque()
        self._due: deque[_Sample] = deque()

    @property
    def used(self) -> bool:
        """Whether there is anything to be saved."""
        return bool(self._seen or self._due) or self.guard.base is not None

    def choose(self, learned: Classifier, believed: Callable[[], Shares] | None = None) -> Classifier:
        """The classifier that answers where the route filter believes the camera to be, or, without one, anywhere."""
        if self.guard.base is None:
            return learned
        share = believed() if believed else self._route.share
        return self.guard.choose(learned, float(share[self._balance.known[self._route.rows]].sum()))

    def begin_drive(self) -> "Student":
        """One with the same guard and what else was learned, that has seen nothing yet."""
        other = Student(self._route, self._memory)
        other.guard, other._balance, other._due = self.guard, self._balance, self._due
        return other

    def begin_anew(self) -> None:
        """Forget the last views: the next one does not follow on them."""
        self._seen.clear()

    def see(self, view: View, vector: Vector, learned: Classifier, weigh: Weigh) -> None:
        """Keep a new view, and what both classifiers make of it now. Nothing is learned."""
        if not len(view.rows):
            self._seen.clear()
            return
        if len(self._seen) > LAG:  # nobody asked for the lesson
            self._let_go()
        said = np.zeros(2)  # without a base both are one
        if self.guard.base:
            evidence = (weigh(each, vector)[view.rows] for each in (learned, self.guard.base))
            said = np.array([np.log(np.exp(each) @ view.masses) for each in evidence])
        memory, rows, vector = self._memory, self._route.rows[view.rows], _shorten(vector)
        mean = view.masses @ memory.descriptors[rows]
        difference = vector - mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny)
        position, place = view.masses @ memory.positions[rows], int(memory.places[rows[view.masses.argmax()]])
        self._seen.append(_Sample(vector, position, difference, said, place, self._balance.lessons))

    def learn_due(self, learned: Classifier) -> list[Lesson]:
        """Learn what is due after a frame, from views whose places have become certain."""
        label = self._let_go() if len(self._seen) > LAG else None
        if self.guard.fallen:
            self.roll_back(learned)
        if label and not self.guard.resting:
            self._due.append(label)
        turns = min(1 + len(self._due) // (1 + _PATIENT), 1 + _COUNTERS)
        return [self._learn_next(learned) for _ in range(min(turns, len(self._due)))]

    def _let_go(self) -> _Sample:
        """The oldest view as a label; it shows what both classifiers were worth."""
        seen = self._seen.popleft()
        self.guard.check(float(seen.said[1]))
        if self._balance.knows(seen.place, seen.lessons):
            self.guard.judge(float(seen.said[0] - seen.said[1]))
        return seen

    def roll_back(self, learned: Classifier) -> None:
        """Go back to what was there before, with all that waits to be learned."""
        self.guard.roll_back(learned)
        self._balance.begin_anew()
        self._due.clear()

    def _learn_next(self, learned: Classifier) -> Lesson:
        due = self._due.popleft()
        self.guard.begin(learned)
        lesson = learned.learn(due.vector, due.position)
        if not due.own:
            return replace(lesson, imagined=True)
        self._balance.note(lesson.place, due.difference)
        self._due.extendleft(reversed([self._imagine(row) for row in self._balance.pick(_COUNTERS).tolist()]))
        return lesson

    def relearn(self, lesson: Lesson, learned: Classifier) -> None:
        """Learn once more what was learned of oneself before a stop that nobody saw coming."""
        self.guard.begin(learned)
        learned.relearn(lesson)
        # It may have waited for its turn when the rest was saved.
        self._due = deque(due for due in self._due if not np.array_equal(due.vector, lesson.descriptor))
        if not lesson.imagined:
            self._balance.note_again(lesson.place, lesson.descriptor)

    def _imagine(self, row: int) -> _Sample:
        memory = self._memory
        imagined, place = self._balance.imagine(memory.descriptors[row].astype(float)), int(memory.places[row])
        return _Sample(_shorten(imagined), memory.positions[row], np.zeros_like(imagined), np.zeros(2), place, 0, False)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return self.moment() | put("guard.", self.guard.arrays())

    def moment(self) -> dict[str, np.ndarray]:
        """Everything that changes but the guard's base, which is large."""
        waiting = put("seen.", self._pack(self._seen)) | put("due.", self._pack(self._due))
        return waiting | put("balance.", self._balance.arrays()) | put("guard.", self.guard.moment())

    def _pack(self, samples: Iterable[_Sample]) -> dict[str, np.ndarray]:
        width = self._memory.descriptors.shape[1]
        return {
            "vectors": np.array([each.vector for each in samples]).reshape(-1, width),
            "positions": np.array([each.position for each in samples]).reshape(-1, 2),
            "differences": np.array([each.difference for each in samples]).reshape(-1, width),
            "said": np.array([each.said for each in samples]).reshape(-1, 2),
            "places": np.array([each.place for each in samples], dtype=np.int64),
            "lessons": np.array([each.lessons for each in samples], dtype=np.int64),
            "own": np.array([each.own for each in samples], dtype=bool),
        }

    def restore(self, arrays: Arrays, learned: Classifier) -> None:
        """Continue from where `arrays` were taken."""
        self._seen, self._due = (deque(_unpack(take(arrays, kind))) for kind in ("seen.", "due."))
        self._balance.restore(take(arrays, "balance."))
        self.guard.restore(take(arrays, "guard."), learned)


def _unpack(arrays: Arrays) -> list[_Sample]:
    vectors = (np.array(arrays[name]) for name in ("vectors", "positions", "differences", "said"))
    numbers = (arrays[name].tolist() for name in ("places", "lessons", "own"))
    return [_Sample(*each) for each in zip(*vectors, *numbers, strict=True)]


def _shorten(vector: Vector) -> Vector:
    """With the digits of float32, as a copy: a program may fill its array with the next frame."""
    return vector.astype(np.float32).astype(float)
