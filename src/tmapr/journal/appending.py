"""The newest segment of a journal, open for writing: whole records are appended, or nothing is."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tmapr.artifacts.atomic import naming, replacing
from tmapr.artifacts.lock import writing
from tmapr.journal.journal import LOCK, Journal, name_segment
from tmapr.journal.records import LESSONS, Kind, LessonRecord, Record, pack
from tmapr.journal.segments import Header, pack_frame, pack_header

_SEGMENTS = 20
"""A full journal has about so many: that share of it goes at once."""
_UNBOUNDED = 1 << 62


class Appender:
    """Owns the open file, and knows which of the others a saved state has made dispensable. Not for several threads.

    Every method may raise OSError; then nothing was appended, and it can be tried again.
    """

    def __init__(self, folder: Path, header: Header, most: int) -> None:
        """Opens a journal that goes on from `header.last`, whose torn tail is cut off, or begins one."""
        self.folder, self._most = folder, most
        self.header = header
        """As a segment that began now would have it."""
        self.counts: dict[int, int] = {}
        """Lessons in each segment, by its number."""
        self.saved = 0
        """The segment in which a whole saved state says that it has everything before."""
        self._file, self._end, self._unflushed = -1, 0, 0
        found = Journal.open(folder)
        if found.segments:
            self._take_up(found)
        else:
            self._begin_segment(1)

    def _take_up(self, found: Journal) -> None:
        newest = found.segments[-1]
        self.counts = {segment.number: 0 for segment in found.segments}
        for entry in found.entries:
            self.counts[entry.segment] += entry.kind in LESSONS
            if entry.kind is Kind.SAVED:
                self.saved = entry.segment
        self._file, self._end = os.open(newest.path, os.O_WRONLY | os.O_CLOEXEC), newest.end
        if newest.size > newest.end:
            os.ftruncate(self._file, newest.end)
            os.fsync(self._file)

    @property
    def newest(self) -> int:
        """The number of the segment that is written."""
        return max(self.counts)

    @property
    def path(self) -> Path:
        """The file that is written."""
        return self.folder / name_segment(self.newest)

    @property
    def lessons(self) -> int:
        """In all segments."""
        return sum(self.counts.values())

    @property
    def unsaved(self) -> int:
        """Lessons in segments that no whole saved state makes dispensable."""
        return sum(count for number, count in self.counts.items() if number >= self.saved)

    def append(self, records: Sequence[Record]) -> None:
        """Write records, all or none of them; a long segment is followed by the next."""
        if self.counts[self.newest] >= max(1, self._most // _SEGMENTS):
            self.flush()
            self._begin_segment(self.newest + 1)
        if not os.fstat(self._file).st_nlink:
            raise FileNotFoundError(2, "was removed", str(self.path))
        data = b"".join(pack_frame(record.kind, pack(record)) for record in records)
        try:
            _write_at(self._file, data, self._end)
        except OSError:
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(data)
        for record in records:
            self._count(record)

    def _count(self, record: Record) -> None:
        learned = isinstance(record, LessonRecord)
        held = self.header.lessons + 1 if isinstance(record, LessonRecord) else record.lessons
        self.header = replace(self.header, last=record.last, lessons=held)
        self.counts[self.newest] += learned
        self._unflushed += 1
        if record.kind is Kind.SAVED:
            self.saved = self.newest

    def flush(self, every: int = 1) -> None:
        """See to it that all of it reaches the disk, if as many records as that came since; 0: never."""
        if every and self._unflushed >= every:
            os.fsync(self._file)
            self._unflushed = 0

    def drop_oldest(self) -> None:
        """Remove whole segments, oldest first, beyond the bound: those that a saved state contains, and no others."""
        for number in sorted(self.counts):
            if self.lessons <= self._most or number >= self.saved:
                return
            (self.folder / name_segment(number)).unlink(missing_ok=True)
            del self.counts[number]

    def _begin_segment(self, number: int) -> None:
        path = self.folder / name_segment(number)
        top = pack_header(self.header)
        with replacing(path) as stream:  # a header is there whole, or the file is not
            stream.write(top)
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self.close()
        self._file, self._end, self.counts[number] = file, len(top), 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def append_marks(folder: Path, before: Header, *records: Record) -> None:
    """Append to a journal that nobody else writes, flushed; `before` is what was learned when it ended."""
    with writing(folder, "wait until the drive ends", LOCK), naming(folder):
        appender = Appender(folder, before, _UNBOUNDED)
        try:
            appender.append(records)
            appender.flush()
        finally:
            appender.close()


def _write_at(file: int, data: bytes, start: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, start)
        view, start = view[written:], start + written
