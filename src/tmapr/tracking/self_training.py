"""Teaching oneself: a view is a label once the drive stayed proven for some views after it, and not before.

If its place was proven then, it becomes a lesson, with counter-lessons of other places. Both classifiers are asked
about it before it is learned: when it is seen, which counts if its place had lessons by then, and, of every third one,
once those around it are learned. Where labels contradict what is seen, the guard has all of it taken back.

After a frame one lesson is learned, so that the next frame waits for no more than one; where frames are so few that
each is a new view, as many as a view brings. What is learned when depends on the frames alone, not on a clock: a drive
that is replayed learns the same. Vectors have float32's digits, as a journal keeps them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
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
_EXAMINED = 3
"""Of so many labels one is asked about before it is learned."""
_WAITING = 2
"""Those that wait for it: when the next one comes, those around the first are learned."""
_PATIENT = 6
"""Lessons that may wait; with more of them a frame brings two, and with twice as many as many as a view does."""

LAYOUT = {
    **{f"{kind}.vectors": Array("f", f"{kind} width") for kind in ("seen", "exams", "due")},
    **{f"{kind}.counts": Array("i", kind, 0) for kind in ("seen", "exams")},
    **{f"{kind}.rows": Array("i", f"{kind}_rows", 0) for kind in ("seen", "exams")},
    **{f"{kind}.masses": Array("f", f"{kind}_rows", 0, 1.01) for kind in ("seen", "exams")},
    "seen.said": Array("f", "seen 2"),
    "seen.lessons": Array("i", "seen", 0),
    "labels": Array("i", "", 0),
    "due.positions": Array("f", "due 2", -FARTHEST, FARTHEST),
    "due.differences": Array("f", "due width"),
    "due.own": Array("b", "due"),
    **put("balance.", balance.LAYOUT),
    **put("guard.", guard.LAYOUT),
}
"""Of what `Student.arrays` gives, beside the classifier under `guard.base.`."""

Vector = Float[np.ndarray, " dim"]
Weigh = Callable[[Classifier, Vector], Float[np.ndarray, " refs"]]
"""The log-evidence of each reference along the route, as a classifier has it."""


@dataclass(frozen=True, slots=True)
class View:
    """Where a new view was taken: references along the route, with probabilities that add up to 1; none: not proven."""

    rows: Int[np.ndarray, " near"]
    masses: Float[np.ndarray, " near"]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A proven view as the classifiers were given it, and what the learned one and the base said of its place."""

    vector: Vector
    place: View
    said: Float[np.ndarray, "2"]
    lessons: int = 0
    """That there were by then."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A lesson that waits for its turn."""

    vector: Vector
    position: Float[np.ndarray, "2"]
    difference: Vector
    """From the references where the view was taken."""
    own: bool = True
    """Whether it is of a view, not a counter-lesson."""


class Student:
    """Owns what is seen until it is learned, and the guard over what was."""

    def __init__(self, route: Route, memory: Memory) -> None:
        self.guard = Guard()
        self._route, self._memory = route, memory
        self._balance = Balance(memory)
        self._seen: deque[_Seen] = deque()
        self._exams: deque[_Seen] = deque()
        self._labels = 0
        self._due: deque[_Due] = deque()

    @property
    def used(self) -> bool:
        """Whether there is anything to be saved."""
        return len(self._seen) > 0 or len(self._due) > 0 or self.guard.base is not None

    @property
    def coverage(self) -> float:
        """The share of the route whose places have lessons of their own."""
        return self._measure_known(self._route.share)

    def choose(
        self, learned: Classifier, believed: Callable[[], Float[np.ndarray, " refs"]] | None = None
    ) -> Classifier:
        """The classifier that answers where the route filter believes the camera to be, or, without one, anywhere."""
        if self.guard.base is None:
            return learned
        return self.guard.choose(learned, self.coverage if believed is None else self._measure_known(believed()))

    def _measure_known(self, share: Float[np.ndarray, " refs"]) -> float:
        return float(share[self._balance.known[self._route.rows]].sum())

    def begin_drive(self) -> "Student":
        """One with the same guard and what else was learned, that has seen nothing yet."""
        other = Student(self._route, self._memory)
        other.guard, other._balance = self.guard, self._balance
        other._exams, other._labels, other._due = self._exams, self._labels, self._due
        return other

    def begin_anew(self) -> None:
        """Forget the last views: the next one does not follow on them."""
        self._seen.clear()

    def see(self, place: View, vector: Vector, learned: Classifier, weigh: Weigh) -> None:
        """Keep a new view, and what both classifiers make of it now. Nothing is learned."""
        if not len(place.rows):
            self._seen.clear()
            return
        if len(self._seen) > LAG:  # nobody asked for the lesson
            self._let_go()
        # A copy: a program may fill its array with the next frame.
        said = self._ask(vector, place, learned, weigh)
        self._seen.append(_Seen(_shorten(vector), place, said, self._balance.lessons))

    def learn_due(self, learned: Classifier, weigh: Weigh) -> list[Lesson]:
        """Learn what is due after a frame, from views whose places have become certain."""
        label = self._let_go() if len(self._seen) > LAG else None
        if self.guard.fallen:
            self.roll_back(learned)
        if label and not self.guard.resting:
            self._wait_in_turn(label, learned, weigh)
        turns = min(1 + len(self._due) // (1 + _PATIENT), 1 + _COUNTERS)
        return [self._learn_next(learned) for _ in range(min(turns, len(self._due)))]

    def _ask(self, vector: Vector, place: View, learned: Classifier, weigh: Weigh) -> Float[np.ndarray, "2"]:
        """The logarithms of how much likelier than the mean of the route each classifier takes the place for."""
        if self.guard.base is None:  # then both are one
            return np.zeros(2)
        asked = (weigh(learned, vector), weigh(self.guard.base, vector))
        return np.array([np.log(np.exp(each[place.rows]) @ place.masses) for each in asked])

    def _let_go(self) -> _Seen:
        """The oldest view as a label; it shows what both classifiers were worth."""
        seen = self._seen.popleft()
        if seen.lessons:  # before the first one nobody was asked
            self.guard.check(float(seen.said[1]))
        if self._balance.knows(int(self._route.places[seen.place.rows[seen.place.masses.argmax()]]), seen.lessons):
            self.guard.judge(float(seen.said[0] - seen.said[1]))
        return seen

    def roll_back(self, learned: Classifier) -> None:
        """Go back to what was there before, with all that waits to be learned."""
        self.guard.begin(learned)  # one that is done again may begin there
        self.guard.roll_back(learned)
        self._balance.begin_anew()
        self._exams.clear()
        self._due.clear()

    def _wait_in_turn(self, label: _Seen, learned: Classifier, weigh: Weigh) -> None:
        self._labels += 1
        if self._labels % _EXAMINED:
            self._due.append(self._make_lesson(label))
            return
        self._exams.append(label)
        if len(self._exams) > _WAITING:
            due = self._exams.popleft()
            said = self._ask(due.vector, due.place, learned, weigh)
            self.guard.judge(float(said[0] - said[1]))
            self._due.append(self._make_lesson(due))

    def _make_lesson(self, label: _Seen) -> _Due:
        memory, rows, masses = self._memory, self._route.rows[label.place.rows], label.place.masses
        mean = masses @ memory.descriptors[rows]
        mean = mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny)
        return _Due(label.vector, masses @ memory.positions[rows], label.vector - mean)

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

    def _imagine(self, row: int) -> _Due:
        imagined = _shorten(self._balance.imagine(self._memory.descriptors[row].astype(float)))
        return _Due(imagined, self._memory.positions[row], np.zeros_like(imagined), own=False)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""
        return self.moment() | put("guard.", self.guard.arrays())

    def moment(self) -> dict[str, np.ndarray]:
        """Everything that changes but the guard's base, which is large."""
        seen, due = self._seen, self._due
        return {
            **put("seen.", self._pack(seen)),
            "seen.said": np.array([each.said for each in seen]).reshape(-1, 2),
            "seen.lessons": np.array([each.lessons for each in seen], dtype=np.int64),
            **put("exams.", self._pack(self._exams)),
            "labels": np.array(self._labels),
            "due.vectors": self._stack(each.vector for each in due),
            "due.positions": np.array([each.position for each in due]).reshape(-1, 2),
            "due.differences": self._stack(each.difference for each in due),
            "due.own": np.array([each.own for each in due], dtype=bool),
            **put("balance.", self._balance.arrays()),
            **put("guard.", self.guard.moment()),
        }

    def _stack(self, vectors: Iterable[Vector]) -> Float[np.ndarray, "vectors dim"]:
        return np.array([*vectors]).reshape(-1, self._memory.descriptors.shape[1])

    def _pack(self, seen: Sequence[_Seen]) -> dict[str, np.ndarray]:
        return {
            "vectors": self._stack(each.vector for each in seen),
            "counts": np.array([len(each.place.rows) for each in seen], dtype=np.int64),
            "rows": np.concatenate([np.zeros(0, dtype=np.int64), *(each.place.rows for each in seen)]),
            "masses": np.concatenate([np.zeros(0), *(each.place.masses for each in seen)]),
        }

    def _unpack(self, arrays: Arrays) -> list[_Seen]:
        counts, rows, masses = arrays["counts"], np.array(arrays["rows"]), np.array(arrays["masses"])
        if int(counts.sum()) != len(rows) or rows.max(initial=-1) >= len(self._route.rows) or (counts < 1).any():
            raise ValueError(f"{len(rows)} references of views, {counts.sum()} counted, of {len(self._route.rows)}")
        ends = np.cumsum(counts)[:-1]
        places = zip(np.split(rows, ends), np.split(masses, ends), strict=True) if len(counts) else ()
        vectors = np.array(arrays["vectors"])
        return [_Seen(vector, View(*place), np.zeros(2)) for vector, place in zip(vectors, places, strict=True)]

    def restore(self, arrays: Arrays, learned: Classifier) -> None:
        """Continue from where `arrays` were taken."""
        due = (np.array(arrays[f"due.{name}"]) for name in ("vectors", "positions", "differences"))
        self._due = deque(_Due(*each) for each in zip(*due, arrays["due.own"].tolist(), strict=True))
        views = zip(self._unpack(take(arrays, "seen.")), arrays["seen.said"], arrays["seen.lessons"], strict=True)
        self._seen = deque(replace(seen, said=np.array(said), lessons=int(lessons)) for seen, said, lessons in views)
        self._exams = deque(self._unpack(take(arrays, "exams.")))
        self._labels = int(arrays["labels"])
        self._balance.restore(take(arrays, "balance."))
        self.guard.restore(take(arrays, "guard."), learned)


def _shorten(vector: Vector) -> Vector:
    """With the digits of float32."""
    return vector.astype(np.float32).astype(float)
