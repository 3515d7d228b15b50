"""What a journal holds: lessons, each with all that its rows are made of, and marks of what else was done.

A lesson is kept by its descriptor and U's step, not by its rows: 23.9 kB instead of 49 kB with the shipped head, whose
own lessons have float32's digits. Nothing in a record is code, and no length in it is believed beyond what is there.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from tmapr.places.lessons import Kept

WIDEST = 1 << 17
"""Numbers of a descriptor."""
LONGEST = 24 * WIDEST
"""Bytes of a record: a lesson of the widest descriptor."""
_LESSON = struct.Struct("<qqQ8sqqqBBBB")
_MARK = struct.Struct("<8sQqq")
_FEWEST_BYTES = np.dtype("<f4")
_ALL_BYTES = np.dtype("<f8")
_MOST_POINTS = 3


class Kind(IntEnum):
    """What a record is of."""

    OWN = 1
    """A lesson that `teach` learned."""
    LABEL = 2
    """A lesson that `learn` was given."""
    UNLEARNED = 3
    """Lessons that were taken back one by one."""
    VOIDED = 4
    """Lessons that somebody went back behind."""
    RETURNED = 5
    """The guard went back to what was known before anything taught itself."""
    SAVED = 6
    """A whole state was written, with everything that stands before."""
    SKIPPED = 7
    """Frames after which nothing was taught, because the disk was too slow or full."""
    BEYOND = 8
    """The state has more than what stands before: of other robots, or learned and saved before it could be written."""


LESSONS = (Kind.OWN, Kind.LABEL)


@dataclass(frozen=True, slots=True)
class LessonRecord:
    """A lesson, and when it was learned."""

    kind: Kind
    frame: int
    """The number of the last frame before it."""
    stamp: int
    """That of the frame, by the drive's clock."""
    kept: Kept

    @property
    def last(self) -> bytes:
        """The ledger's hash behind it."""
        return self.kept.name.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class Mark:
    """Anything but a lesson."""

    kind: Kind
    last: bytes
    """The ledger's hash behind it."""
    lessons: int
    """In the state behind it."""
    frames: tuple[int, int] = (0, 0)
    """From which one on, and before which one."""
    names: tuple[int, ...] = ()


Record = LessonRecord | Mark


def pack(record: Record) -> bytes:
    """The bytes of a record."""
    if isinstance(record, Mark):
        head = _MARK.pack(record.last, record.lessons, *record.frames)
        return head + np.array(record.names, dtype="<u8").tobytes()
    kept = record.kept
    short = bool((kept.descriptor.astype(_FEWEST_BYTES).astype(float) == kept.descriptor).all())
    numbers = kept.name, kept.after, kept.place, *kept.cell
    flags = kept.imagined, short, kept.step is not None, len(kept.weights)
    step = b"" if kept.step is None else kept.step.astype(_ALL_BYTES).tobytes()
    descriptor = kept.descriptor.astype(_FEWEST_BYTES if short else _ALL_BYTES).tobytes()
    weights = kept.weights.astype(_ALL_BYTES).tobytes()
    return _LESSON.pack(record.frame, record.stamp, *numbers, *flags) + descriptor + step + weights


def unpack(kind: Kind, payload: bytes, width: int) -> Record:
    """The record that bytes are of; ValueError where they are of none."""
    if kind in LESSONS:
        return _unpack_lesson(kind, payload, width)
    if len(payload) < _MARK.size or (len(payload) - _MARK.size) % 8:
        raise ValueError(f"{len(payload)} bytes are no mark")
    last, lessons, first, stop = _MARK.unpack_from(payload)
    names = np.frombuffer(payload, dtype="<u8", offset=_MARK.size)
    return Mark(kind, last, lessons, (first, stop), tuple(names.tolist()))


def _unpack_lesson(kind: Kind, payload: bytes, width: int) -> LessonRecord:
    if len(payload) < _LESSON.size:
        raise ValueError(f"{len(payload)} bytes are no lesson")
    frame, stamp, name, after, place, column, row, *flags = _LESSON.unpack_from(payload)
    imagined, short, stepped, points = flags
    digits = _FEWEST_BYTES if short else _ALL_BYTES
    sizes = width * digits.itemsize, bool(stepped) * width * _ALL_BYTES.itemsize, points * _ALL_BYTES.itemsize
    if _LESSON.size + sum(sizes) != len(payload) or not 0 < points <= _MOST_POINTS or place < 0:
        raise ValueError(f"{len(payload)} bytes are no lesson of {width} numbers")
    starts = np.cumsum([_LESSON.size, *sizes]).tolist()
    descriptor, step, weights = (
        np.frombuffer(payload[start:stop], dtype=kept).astype(float)
        for start, stop, kept in zip(starts, starts[1:], (digits, _ALL_BYTES, _ALL_BYTES), strict=False)
    )
    if not all(np.isfinite(numbers).all() for numbers in (descriptor, step, weights)):
        raise ValueError("a lesson's numbers are not finite")
    where = place, (column, row), name, after
    kept = Kept(weights, *where, descriptor, step if stepped else None, bool(imagined))
    return LessonRecord(kind, frame, stamp, kept)
