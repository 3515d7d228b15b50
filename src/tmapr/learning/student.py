"""Teaching oneself: a view is a label once later views have made its place certain, and not before.

Each new view is kept until the smoother lets it go. If its place is certain then, it becomes a lesson, with
counter-lessons of other places. Both classifiers are asked about it before it is learned: when it is seen, which counts
if its place had lessons by then, and, of every third one, once those around it are learned. Where labels contradict
what is seen, the guard has all of it taken back; that happens where lessons are learned and nowhere else.

After a frame one lesson is learned, so that the next frame waits for no more than one; where frames are so few that
each is a new view, as many as a view brings: there is time between them. What is learned when depends on the frames
alone, not on a clock: a drive that is replayed learns the same. Vectors have float32's digits, as a journal keeps them.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.artifacts.layout import Array
from tmapr.learning import balance, guard
from tmapr.learning.balance import Balance
from tmapr.learning.guard import Guard
from tmapr.places.classifier import Classifier
from tmapr.places.lessons import Lesson
from tmapr.retrieval.memory import Memory
from tmapr.tracking import smoothing
from tmapr.tracking.route import Route
from tmapr.tracking.smoothing import Smoother, View, pack_views, unpack_views
from tmapr.types import FARTHEST

_COUNTERS = 2
"""Counter-lessons of a lesson."""
_EXAMINED = 3
"""Of so many labels one is asked about before it is learned."""
_WAITING = 2
"""Those that wait for it: when the next one comes, those around the first are learned."""
_PATIENT = 6
"""Lessons that may wait; with more of them a frame brings two, and with twice as many as many as a view does."""

LAYOUT = {
    **put("views.", smoothing.LAYOUT),
    "vectors": Array("f", "views width"),
    "lessons": Array("i", "views", 0),
    "chances": Array("f", "2 likely"),
    "exams.counts": Array("i", "exams", 0),
    "exams.rows": Array("i", "examined", 0),
    "exams.masses": Array("f", "examined", 0, 1.01),
    "exams.metres": Array("f", "exams", 0),
    "exam_vectors": Array("f", "exams width"),
    "labels": Array("i", "", 0),
    "due.vectors": Array("f", "due width"),
    "due.positions": Array("f", "due 2", -FARTHEST, FARTHEST),
    "due.differences": Array("f", "own width"),
    "due.own": Array("b", "due"),
    **put("balance.", balance.LAYOUT),
    **put("guard.", guard.LAYOUT),
}
"""Of what `Student.arrays` gives, beside the classifier under `guard.base.`."""

Vector = Float[np.ndarray, " dim"]
Weigh = Callable[[Classifier, Vector], Float[np.ndarray, " refs"]]
"""The log-evidence of each reference along the route, as a classifier has it."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A new view as the classifiers were given it, and what they made of it at the references that were kept."""

    vector: Vector
    chances: Float[np.ndarray, "2 likely"]
    """By the learned one and by the base."""
    lessons: int
    """That there were by then."""


@dataclass(frozen=True, slots=True)
class _Label:
    """A view whose place is certain: the references there, with probabilities that add up to 1."""

    vector: Vector
    place: View


@dataclass(frozen=True, slots=True)
class _Due:
    """A lesson that waits for its turn."""

    vector: Vector
    position: Float[np.ndarray, "2"]
    difference: Vector | None = None
    """From the references where the view was taken; None: a counter-lesson, which no view was taken for."""


class Student:
    """Owns what is seen until it is learned, and the guard over what was."""

    def __init__(self, route: Route, memory: Memory, radius: float, certainty: float) -> None:
        self.guard = Guard()
        self._route, self._memory = route, memory
        self._radius, self._certainty = radius, certainty
        self._share = route.widths / route.widths.sum()
        self._smoother, self._balance = Smoother(route), Balance(memory)
        self._seen: deque[_Seen] = deque()
        self._exams: deque[_Label] = deque()
        self._labels = 0
        self._due: deque[_Due] = deque()

    @property
    def used(self) -> bool:
        """Whether there is anything to be saved."""
        return len(self._smoother) > 0 or len(self._due) > 0 or self.guard.base is not None

    @property
    def coverage(self) -> float:
        """The share of the route whose places have lessons of their own."""
        return self._measure_known(self._share)

    def choose(self, learned: Classifier, where: Float[np.ndarray, " refs"] | None = None) -> Classifier:
        """The classifier that answers where the route filter believes the camera to be, or, without one, anywhere."""
        if self.guard.base is None:
            return learned
        return self.guard.choose(learned, self.coverage if where is None else self._measure_known(where))

    def _measure_known(self, share: Float[np.ndarray, " refs"]) -> float:
        return float(share[self._balance.known[self._route.rows]].sum())

    def begin_drive(self) -> "Student":
        """One with the same guard and what else was learned, that has seen nothing yet."""
        other = Student(self._route, self._memory, self._radius, self._certainty)
        other.guard, other._balance = self.guard, self._balance
        other._exams, other._labels, other._due = self._exams, self._labels, self._due
        return other

    def begin_anew(self) -> None:
        """Forget the last views: the next one does not follow on them."""
        self._smoother.forget()
        self._seen.clear()

    def see(self, view: View, vector: Vector, learned: Classifier, weigh: Weigh) -> None:
        """Keep a new view, and what both classifiers make of it now. Nothing is learned."""
        if self._smoother.full:  # nobody asked for the lesson
            self._let_go()
        chances = self._ask(vector, learned, weigh)[:, view.rows]
        # A copy: a program may fill its array with the next frame.
        self._seen.append(_Seen(_shorten(vector), chances, self._balance.lessons))
        self._smoother.add(view)

    def learn_due(self, learned: Classifier, weigh: Weigh) -> list[Lesson]:
        """Learn what is due after a frame, from views whose places have become certain."""
        label = self._let_go() if self._smoother.full else None
        if self.guard.fallen:
            self.roll_back(learned)
        if label and not self.guard.resting:
            self._wait_in_turn(label, learned, weigh)
        turns = min(1 + len(self._due) // (1 + _PATIENT), 1 + _COUNTERS)
        return [self._learn_next(learned) for _ in range(min(turns, len(self._due)))]

    def _ask(self, vector: Vector, learned: Classifier, weigh: Weigh) -> Float[np.ndarray, "2 refs"]:
        if self.guard.base is None:  # then both are one
            return np.zeros((2, len(self._route)))
        return np.array([weigh(learned, vector), weigh(self.guard.base, vector)])

    def _let_go(self) -> _Label | None:
        """The oldest view as a label, if its place is certain; then it shows what both classifiers were worth."""
        smoothed, seen = self._smoother.smooth_oldest(), self._seen.popleft()
        if not len(smoothed.rows):
            return None
        spots = self._route.positions[smoothed.rows]
        peak = int(np.argmax(smoothed.masses))
        near = np.hypot(*(spots - spots[peak]).T) <= self._radius
        certain = float(smoothed.masses[near].sum())
        if certain < self._certainty:
            return None
        place = View(smoothed.rows[near], smoothed.masses[near] / certain, smoothed.metres)
        if seen.lessons:  # before the first one nobody was asked
            self.guard.check(float(np.log(np.exp(seen.chances[1, near]) @ place.masses)))
        if self._balance.knows(int(self._route.places[smoothed.rows[peak]]), seen.lessons):
            self.guard.judge(_relate(seen.chances[:, near], place))
        return _Label(seen.vector, place)

    def roll_back(self, learned: Classifier) -> None:
        """Go back to what was there before, with all that waits to be learned."""
        self.guard.begin(learned)  # one that is done again may begin there
        self.guard.roll_back(learned)
        self._balance.begin_anew()
        self._exams.clear()
        self._due.clear()

    def _wait_in_turn(self, label: _Label, learned: Classifier, weigh: Weigh) -> None:
        self._labels += 1
        if self._labels % _EXAMINED:
            self._due.append(self._make_lesson(label))
            return
        self._exams.append(label)
        if len(self._exams) > _WAITING:
            due = self._exams.popleft()
            self.guard.judge(_relate(self._ask(due.vector, learned, weigh)[:, due.place.rows], due.place))
            self._due.append(self._make_lesson(due))

    def _make_lesson(self, label: _Label) -> _Due:
        memory, rows, masses = self._memory, self._route.rows[label.place.rows], label.place.masses
        mean = masses @ memory.descriptors[rows]
        mean = mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny)
        return _Due(label.vector, masses @ memory.positions[rows], label.vector - mean)

    def _learn_next(self, learned: Classifier) -> Lesson:
        due = self._due.popleft()
        self.guard.begin(learned)
        lesson = learned.learn(due.vector, due.position)
        if due.difference is None:
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

    def _imagine(self, row: int) -> _Due:
        imagined = self._balance.imagine(self._memory.descriptors[row].astype(float))
        return _Due(_shorten(imagined), self._memory.positions[row])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return self.moment() | put("guard.", self.guard.arrays())

    def moment(self) -> dict[str, np.ndarray]:
        """Everything that changes but the guard's base, which is large."""
        width = self._memory.descriptors.shape[1]
        seen, exams = self._seen, self._exams
        return {
            **put("views.", self._smoother.arrays()),
            "vectors": np.array([each.vector for each in seen]).reshape(len(seen), width),
            "lessons": np.array([each.lessons for each in seen], dtype=np.int64),
            "chances": np.concatenate([np.zeros((2, 0)), *(each.chances for each in seen)], axis=1),
            **put("exams.", pack_views(each.place for each in exams)),
            "exam_vectors": np.array([each.vector for each in exams]).reshape(len(exams), width),
            "labels": np.array(self._labels),
            **put("due.", self._pack_due()),
            **put("balance.", self._balance.arrays()),
            **put("guard.", self.guard.moment()),
        }

    def _pack_due(self) -> dict[str, np.ndarray]:
        width, due = self._memory.descriptors.shape[1], self._due
        own = [each.difference for each in due if each.difference is not None]
        return {
            "vectors": np.array([each.vector for each in due]).reshape(len(due), width),
            "positions": np.array([each.position for each in due]).reshape(len(due), 2),
            "differences": np.array(own).reshape(len(own), width),
            "own": np.array([each.difference is not None for each in due], dtype=bool),
        }

    def _unpack_due(self, arrays: Arrays) -> deque[_Due]:
        own, rows = iter(arrays["differences"]), zip(arrays["vectors"], arrays["positions"], strict=True)
        if int(np.count_nonzero(arrays["own"])) != len(arrays["differences"]):
            raise ValueError(f"{len(arrays['differences'])} lessons of {int(arrays['own'].sum())} are from views")
        return deque(
            _Due(np.array(vector), np.array(position), np.array(next(own)) if from_view else None)
            for (vector, position), from_view in zip(rows, arrays["own"].tolist(), strict=True)
        )

    def restore(self, arrays: Arrays, learned: Classifier) -> None:
        """Continue from where `arrays` were taken."""
        self._due = self._unpack_due(take(arrays, "due."))
        self._smoother.restore(take(arrays, "views."))
        ends = np.cumsum(arrays["views.counts"])
        parts = np.split(arrays["chances"], ends[:-1], axis=1) if len(ends) else []
        self._seen = deque(
            _Seen(np.array(vector), np.array(chances), lessons)
            for vector, chances, lessons in zip(arrays["vectors"], parts, arrays["lessons"].tolist(), strict=True)
        )
        places = unpack_views(take(arrays, "exams."), len(self._route))
        vectors = arrays["exam_vectors"]
        self._exams = deque(_Label(np.array(vector), place) for vector, place in zip(vectors, places, strict=True))
        self._labels = int(arrays["labels"])
        self._balance.restore(take(arrays, "balance."))
        self.guard.restore(take(arrays, "guard."), learned)


def _shorten(vector: Vector) -> Vector:
    """With the digits of float32."""
    return vector.astype(np.float32).astype(float)


def _relate(chances: Float[np.ndarray, "2 likely"], place: View) -> float:
    """How much more the learned one gave to where a view was taken than the base, in logarithms."""
    learned, base = np.exp(chances) @ place.masses
    return float(np.log(learned / base))
