"""The journal of a run: RUN/journal/000001.journal and so on, read as one list of what happened.

Only an index is kept in memory; lessons are read where they are asked for. Reading changes nothing: a torn tail is left
to the next writer, who cuts it off.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tmapr.exceptions import InputError
from tmapr.files import open_regular
from tmapr.journal.records import LESSONS, Kind, LessonRecord, Mark, Record, unpack
from tmapr.journal.segments import SEGMENT_BYTES, WAY_OUT, Frame, Header, TornError, read_frame_at, read_header, scan
from tmapr.places.lessons import show_name

FOLDER = "journal"
LOCK = ".writer"
"""In it: who writes it, beside the writer of the run."""
SUFFIX = ".journal"
_MOST_SEGMENTS = 100_000
_TRIES = 10


class Entry(NamedTuple):
    """Where a record lies, and what of it is asked for often."""

    segment: int
    start: int
    kind: Kind
    last: bytes
    frame: int
    stamp: int
    imagined: bool

    @property
    def name(self) -> int:
        """Of the lesson that it is."""
        return int.from_bytes(self.last, "little")


@dataclass(frozen=True, slots=True)
class Segment:
    """One file: whole records end at `end`, of `size` bytes."""

    number: int
    path: Path
    header: Header
    end: int
    size: int


@dataclass(frozen=True, slots=True)
class Journal:
    """What happened, in its order."""

    folder: Path
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]

    @classmethod
    def open(cls, folder: Path) -> "Journal":
        """Look through all that is there; what is damaged is refused, a folder that is not there is empty."""
        for _ in range(_TRIES):
            try:
                return cls._read(folder)
            except FileNotFoundError:  # its writer has just dropped the oldest one
                continue
            except OSError as error:
                raise InputError(f"{folder}: cannot be read ({error.strerror}); {WAY_OUT}") from None
        raise InputError(f"{folder}: its files go while they are read; try again")

    @classmethod
    def _read(cls, folder: Path) -> "Journal":
        segments: list[Segment] = []
        entries: list[Entry] = []
        paths, last = list_segments(folder), b""
        for path in paths:
            before = len(entries)
            segment = _look_through(path, entries, newest=path == paths[-1])
            if segments:
                _refuse_gap(segments[-1], segment, last)
            segments.append(segment)
            last = entries[-1].last if len(entries) > before else segment.header.last
        return cls(folder, tuple(segments), tuple(entries))

    @property
    def header(self) -> Header | None:
        """Of the oldest segment that is left; None where nothing was ever written."""
        return self.segments[0].header if self.segments else None

    @property
    def last(self) -> bytes | None:
        """The ledger's hash behind all of it."""
        if self.entries and self.segments[-1].number == self.entries[-1].segment:
            return self.entries[-1].last
        return self.segments[-1].header.last if self.segments else None

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(segment.size for segment in self.segments)

    @property
    def torn(self) -> int:
        """Bytes behind the last whole record."""
        return sum(segment.size - segment.end for segment in self.segments)

    @property
    def lessons(self) -> list[Entry]:
        """The lessons that it holds, whether they still count or not."""
        return [entry for entry in self.entries if entry.kind in LESSONS]

    @property
    def skipped(self) -> list[range]:
        """The frames after which nothing was taught: a replay leaves the same ones out."""
        marks = (self.read(entry) for entry in self.entries if entry.kind is Kind.SKIPPED)
        return [range(*mark.frames) for mark in marks if isinstance(mark, Mark)]

    def read(self, entry: Entry) -> Record:
        """A record from the disk."""
        segment = self.segments[entry.segment - self.segments[0].number]
        return _unpack(read_frame_at(segment.path, entry.start), segment)

    def read_lesson(self, entry: Entry) -> LessonRecord:
        """A lesson from the disk."""
        record = self.read(entry)
        if not isinstance(record, LessonRecord):
            raise ValueError(f"{entry.kind.name} is no lesson")
        return record

    def find(self, name: int) -> Entry:
        """Where a lesson stands; the later one where two have one name."""
        for entry in reversed(self.entries):
            if entry.kind in LESSONS and entry.name == name:
                return entry
        raise InputError(
            f"{self.folder}: holds no lesson {show_name(name)}; `tmapr state show` lists those that it has"
        )

    def check(self, map_digest: str, settings: str, width: int) -> None:
        """Refuse one of another map."""
        if self.header and (self.header.map, self.header.settings, self.header.width) != (map_digest, settings, width):
            raise InputError(f"{self.folder}: belongs to another map; {WAY_OUT}")


def list_segments(folder: Path) -> list[Path]:
    """The files of a journal in their order; what is called otherwise is none of them."""
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.stem.isdecimal())
    except FileNotFoundError:
        return []
    if len(found) > _MOST_SEGMENTS or any(path.name != name_segment(int(path.stem)) for path in found):
        raise InputError(f"{folder}: holds files that are no journal's; {WAY_OUT}")
    return found


def name_segment(number: int) -> str:
    """The file of a segment."""
    return f"{number:06d}{SUFFIX}"


def _look_through(path: Path, entries: list[Entry], *, newest: bool) -> Segment:
    number = int(path.stem)
    with open_regular(path, SEGMENT_BYTES) as stream:
        header, end = read_header(stream, path), stream.tell()
    segment = Segment(number, path, header, end, path.stat().st_size)
    try:
        for frame in scan(path):
            entries.append(_index(number, frame.start, _unpack(frame, segment)))
            end = frame.stop
    except TornError as torn:
        if not newest:
            raise InputError(f"{path}: ends in the middle of a record, and others follow; {WAY_OUT}") from None
        end = torn.end
    return Segment(number, path, header, end, segment.size)


def _unpack(frame: Frame, segment: Segment) -> Record:
    try:
        return unpack(frame.kind, frame.payload, segment.header.width)
    except ValueError as error:
        raise InputError(f"{segment.path}: is damaged at byte {frame.start} ({error}); {WAY_OUT}") from None


def _index(segment: int, start: int, record: Record) -> Entry:
    if isinstance(record, LessonRecord):
        return Entry(segment, start, record.kind, record.last, record.frame, record.stamp, record.kept.imagined)
    return Entry(segment, start, record.kind, record.last, record.frames[0], 0, False)


def _refuse_gap(before: Segment, after: Segment, last: bytes) -> None:
    alike = (before.header.map, before.header.settings) == (after.header.map, after.header.settings)
    if after.number != before.number + 1 or after.header.last != last or not alike:
        raise InputError(f"{after.path}: does not go on where {before.path.name} ends; {WAY_OUT}")
