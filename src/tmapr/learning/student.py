"""Teaching oneself: a view is a label once later views have made its place certain, and not before.

Each new view is kept until the smoother lets it go. If its place is certain then, it becomes a lesson, with
counter-lessons of other places. Both classifiers are asked about it before it is learned: when it is seen, which counts
if its place had lessons by then, and, of every third one, once those around it are learned.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

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

_COUNTERS = 2
"""Counter-lessons of a lesson."""
_EXAMINED = 3
"""Of so many labels one is asked about before it is learned."""
_WAITING = 2
"""Those that wait for it: when the next one comes, those around the first are learned."""

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

    @property
    def used(self) -> bool:
        """Whether there is anything to be saved."""
        return len(self._smoother) > 0 or self.guard.base is not None

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
        other._exams, other._labels = self._exams, self._labels
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
        self._seen.append(_Seen(vector.copy(), chances, self._balance.lessons))
        self._smoother.add(view)

    def learn_due(self, learned: Classifier, weigh: Weigh) -> list[Lesson]:
        """Learn from the views whose places have become certain."""
        if not self._smoother.full:
            return []
        label = self._let_go()
        return self._learn_in_turn(label, learned, weigh) if label else []

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
        if self._balance.knows(int(self._route.places[smoothed.rows[peak]]), seen.lessons):
            self.guard.judge(_relate(seen.chances[:, near], place))
        return _Label(seen.vector, place)

    def _learn_in_turn(self, label: _Label, learned: Classifier, weigh: Weigh) -> list[Lesson]:
        self._labels += 1
        if self._labels % _EXAMINED:
            return self._learn(label, learned)
        self._exams.append(label)
        if len(self._exams) <= _WAITING:
            return []
        due = self._exams.popleft()
        self.guard.judge(_relate(self._ask(due.vector, learned, weigh)[:, due.place.rows], due.place))
        return self._learn(due, learned)

    def _learn(self, label: _Label, learned: Classifier) -> list[Lesson]:
        self.guard.begin(learned)
        memory, rows, masses = self._memory, self._route.rows[label.place.rows], label.place.masses
        mean = masses @ memory.descriptors[rows]
        mean = mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny)
        lessons = [learned.learn(label.vector, masses @ memory.positions[rows])]
        self._balance.note(lessons[0].place, label.vector - mean)
        for row in self._balance.pick(_COUNTERS).tolist():
            imagined = self._balance.imagine(memory.descriptors[row].astype(float))
            lessons.append(learned.learn(imagined, memory.positions[row]))
        return lessons

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
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
            **put("balance.", self._balance.arrays()),
            **put("guard.", self.guard.arrays()),
        }

    def restore(self, arrays: Arrays, learned: Classifier) -> None:
        """Continue from where `arrays` were taken."""
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


def _relate(chances: Float[np.ndarray, "2 likely"], place: View) -> float:
    """How much more the learned one gave to where a view was taken than the base, in logarithms."""
    learned, base = np.exp(chances) @ place.masses
    return float(np.log(learned / base))
