"""What was learned, by name: a lesson is unlearned as often as it was learned, and only where it was.

A lesson's name is a hash of all lessons before it and of its own content. No clock and no chance enters: a state that
is saved and continued gives the same names as one that never stopped, and robots that start from one state and see
different things give different ones. So the names of merged states need no renaming: they are added as K⁻¹ is.
"""

import reprlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from jaxtyping import Float, UInt64

from tmapr.artifacts.arrays import Arrays
from tmapr.exceptions import InputError, StateError
from tmapr.places.grid import CellIndex, Grid

_BYTES = 8
_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one `learn` absorbed: the classifier rows, their weights and the place. `unlearn` takes it back."""

    rows: Float[np.ndarray, "k dim"]
    weights: Float[np.ndarray, " k"]
    place: int
    cell: CellIndex
    """Of the place, whose number may be another one after a merge."""
    name: int
    """Of this lesson alone, among those of all states that grew from one: a hash of what is above and of `after`."""
    after: bytes
    """The hash of the lessons before it."""
    descriptor: Float[np.ndarray, " width"]
    """What the rows were made of, with `step`: half of their size, and less where float32 holds the descriptor."""
    step: Float[np.ndarray, " width"] | None
    """One deviation along U's direction as it was then; None without U."""
    imagined: bool = False
    """Whether nobody saw it: a place that was not visited, as it would look by now."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A lesson without its rows, which a classifier of its map makes again, bit for bit."""

    weights: Float[np.ndarray, " k"]
    place: int
    cell: CellIndex
    name: int
    after: bytes
    descriptor: Float[np.ndarray, " width"]
    step: Float[np.ndarray, " width"] | None
    imagined: bool = False

    @classmethod
    def of(cls, lesson: Lesson) -> "Kept":
        """What has to be kept of a lesson."""
        where = lesson.place, lesson.cell, lesson.name, lesson.after
        return cls(lesson.weights, *where, lesson.descriptor, lesson.step, lesson.imagined)

    def rebuild(self, rows: Float[np.ndarray, "k dim"]) -> Lesson:
        """The lesson as it was; with other rows than it had it would have another name."""
        where = self.place, self.cell, self.name, self.after
        lesson = Lesson(rows, self.weights, *where, self.descriptor, self.step, self.imagined)
        if not is_named_right(lesson):
            raise InputError(
                f"the lesson {show_name(self.name)} cannot be made again: what was kept of it gives other rows here;"
                " it was learned with another map, or by a processor or a version that computes otherwise"
            )
        return lesson


def show_name(name: int) -> str:
    """As a user reads and types it."""
    return f"{name:016x}"


def check_lesson(given: object, grid: Grid, features: int) -> None:
    """Refuse what no classifier with these places and so many features can have returned."""
    if not isinstance(given, Lesson):
        raise InputError(f"only a Lesson that `learn` returned can be unlearned, got {type(given).__name__}")
    changed = InputError(
        f"the lesson of place {reprlib.repr(given.place)} holds something else than `learn` gave it;"
        " unlearn it as it was returned"
    )
    if not _is_formed(given):
        raise changed
    if given.rows.shape[1] != features or given.place >= len(grid) or grid.find_cell(given.cell) is None:
        raise InputError(
            f"the lesson is of place {given.place} with {given.rows.shape[1]} features; this classifier has"
            f" {len(grid)} places and {features} features, so it was not learned here"
        )
    if not is_named_right(given):
        raise changed


def check_next(lesson: Lesson, ledger: "Ledger", grid: Grid, features: int) -> None:
    """Refuse what was not learned in just this state, before anything of it changes."""
    place = grid.find_cell(lesson.cell)
    follows = lesson.after == ledger.last and lesson.place == (len(grid) if place is None else place)
    if not follows or lesson.rows.shape[1] != features or not is_named_right(lesson):
        raise InputError(
            f"the lesson {show_name(lesson.name)} does not follow on what is learned here;"
            " it was learned in another state"
        )


def is_named_right(lesson: Lesson) -> bool:
    """Whether it holds what it held when it was given its name."""
    name = _make_name(lesson.after, lesson.rows, lesson.weights, lesson.place, lesson.cell)
    return int.from_bytes(name, "little") == lesson.name


def _is_formed(lesson: Lesson) -> bool:
    """Whether its parts are of the kinds that a name is made of."""
    arrays = isinstance(lesson.rows, np.ndarray) and isinstance(lesson.weights, np.ndarray)
    if not arrays or {lesson.rows.dtype, lesson.weights.dtype} != {np.dtype(float)} or lesson.rows.ndim != 2:
        return False
    cell = lesson.cell if isinstance(lesson.cell, tuple) else ()
    integers = all(type(number) is int for number in (lesson.place, lesson.name, *cell))
    ranged = len(cell) == 2 and integers and lesson.place >= 0 and 0 <= lesson.name < 1 << 8 * _BYTES
    return len(lesson.rows) > 0 and ranged and isinstance(lesson.after, bytes)


class Ledger:
    """The names of the lessons that are in K and W: 8 bytes each."""

    def __init__(self, origin: bytes = b"") -> None:
        self._last = _hash(origin)
        self._names = np.zeros(_FIRST_CAPACITY, dtype=np.uint64)
        self._count = 0

    @property
    def names(self) -> UInt64[np.ndarray, " lessons"]:
        """In the order in which they were learned."""
        return self._names[: self._count]

    @property
    def last(self) -> bytes:
        """The hash of all that happened here so far: what the next lesson is `after`."""
        return self._last

    def turn(self, last: bytes) -> None:
        """Lessons behind this hash were taken back: what is learned from here on must not be named as they are."""
        self._last = _hash(last, b"turned")

    def enter(
        self,
        rows: Float[np.ndarray, "k dim"],
        weights: Float[np.ndarray, " k"],
        place: int,
        cell: CellIndex,
        descriptor: Float[np.ndarray, " width"],
        step: Float[np.ndarray, " width"] | None,
    ) -> Lesson:
        """Give a lesson its name and write it down."""
        after = self._last
        self._last = _make_name(after, rows, weights, place, cell)
        name = int.from_bytes(self._last, "little")
        self._write(name)
        return Lesson(rows, weights, place, cell, name, after, descriptor, step)

    def adopt(self, lesson: Lesson) -> None:
        """Write a lesson down that another ledger named."""
        self._last = _hash(self._last, lesson.name.to_bytes(_BYTES, "little"))
        self._write(lesson.name)

    def _write(self, name: int) -> None:
        if self._count == len(self._names):
            self._names = np.concatenate([self._names, np.zeros_like(self._names)])
        self._names[self._count] = name
        self._count += 1

    def holds(self, name: int) -> bool:
        """Whether a lesson of that name stands here."""
        return bool((self.names == np.uint64(name)).any())

    def find(self, name: int) -> int:
        """Where a lesson stands; one that does not was learned elsewhere, or is unlearned already."""
        found = np.flatnonzero(self.names == np.uint64(name))
        if not len(found):
            raise InputError("the lesson was not learned here, or is unlearned already; each is unlearned once")
        return int(found[-1])

    def strike(self, place: int) -> None:
        """Remove the lesson that stands there."""
        self._names[place : self._count - 1] = self._names[place + 1 : self._count].copy()
        self._count -= 1

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs."""
        return {"names": self.names, "last": np.frombuffer(self._last, dtype=np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Ledger":
        """The ledger that `arrays` described."""
        ledger = cls()
        names, last = arrays["names"], arrays["last"]
        if names.dtype != np.uint64 or names.ndim != 1 or last.dtype != np.uint8 or last.shape != (_BYTES,):
            raise ValueError(
                f"a ledger's names are {names.dtype} {names.shape}, its last one {last.dtype} {last.shape}"
            )
        ledger._last = last.tobytes()
        ledger._count = len(names)
        ledger._names = np.concatenate([names, np.zeros(max(len(names), _FIRST_CAPACITY), dtype=np.uint64)])
        return ledger


def pool(states: Sequence[Ledger], base: Ledger, held: Sequence[Ledger | None] = ()) -> Ledger:
    """The lessons of the base, and of each state those that it learned since it, or since what is `held` of it."""
    pooled = Ledger(b"".join(each._last for each in (base, *states)))
    names: list[int] = base.names.tolist()
    for state, known in zip(states, held or [None] * len(states), strict=True):
        if known is None:
            names += _list_gained(state, base)
        else:
            names = _exchange(names, known, state)
    pooled._names = np.array([*names, *[0] * _FIRST_CAPACITY], dtype=np.uint64)
    pooled._count = len(names)
    return pooled


def _exchange(names: list[int], known: Ledger, state: Ledger) -> list[int]:
    """Without what a state has taken back since it was known so, and with what it has learned since."""
    before, after = Counter(known.names.tolist()), Counter(state.names.tolist())
    if before - Counter(names):
        raise StateError("what is held of a state has lessons that the base lacks; it was never merged into it")
    gone, kept = before - after, []
    for name in names:
        if gone[name]:
            gone[name] -= 1
        else:
            kept.append(name)
    return [*kept, *(after - before).elements()]


def _list_gained(state: Ledger, base: Ledger) -> Iterator[int]:
    known = Counter(base.names.tolist())
    for name in state.names.tolist():
        if known[name]:
            known[name] -= 1
        else:
            yield name
    if known.total():
        raise StateError(f"a state lacks {known.total()} lessons of the base; only states that kept them can be merged")


def _make_name(
    after: bytes, rows: Float[np.ndarray, "k dim"], weights: Float[np.ndarray, " k"], place: int, cell: CellIndex
) -> bytes:
    """All of a lesson enters, so that one that was changed since has another name."""
    told = ",".join(map(str, (place, *cell))).encode()
    return _hash(after, np.ascontiguousarray(rows).data, weights.tobytes(), told)


def _hash(*parts: bytes | memoryview) -> bytes:
    total = blake2b(digest_size=_BYTES)
    for part in parts:
        total.update(part)
    return total.digest()
