"""Writes a journal in a thread of its own, so that neither a frame nor a lesson waits for a disk.

What is noted and not yet written would be lost with the process. So nothing more may be learned (`ready`) once that
could be more than `lose_at_most` lessons: a slow disk slows learning down, and a full one stops it, until there is room
again. Frames are answered meanwhile, and those after which nothing was taught are written down, too.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from types import TracebackType

from tmapr.artifacts.lock import writing
from tmapr.exceptions import InputError
from tmapr.journal.appending import Appender
from tmapr.journal.journal import LOCK, Journal
from tmapr.journal.moment import FILE, Moment
from tmapr.journal.records import Kind, LessonRecord, Mark, Record
from tmapr.journal.segments import WAY_OUT, Header
from tmapr.places.lessons import Kept, Lesson

AT_ONCE = 3
"""Lessons that one frame may bring."""
_RETRY = 1.0
_PATIENCE = 30.0


class JournalWriter:
    """Takes notes of what is learned, from any thread; each is refused or kept, none waits."""

    def __init__(
        self, folder: Path, header: Header, *, lose_at_most: int = 10, fsync_every: int = 10, most: int = 20_000
    ) -> None:
        """`header` says what is known now; a journal that does not end there is refused, as is a second writer.

        `fsync_every`: lessons after which they are flushed to the disk itself, which a power cut needs and a kill does
        not; 0: never. `most`: lessons that are kept; 0.5 GB with the shipped head.
        """
        if lose_at_most < AT_ONCE or fsync_every < 0 or most < 1:
            raise InputError(
                f"{folder}: at least {AT_ONCE} lessons may be lost, which one frame may bring, got {lose_at_most};"
                f" fsync every {fsync_every} and at most {most} lessons must be positive, too"
            )
        self._lose_at_most, self._fsync_every, self._most = lose_at_most, fsync_every, most
        with ExitStack() as held:
            held.enter_context(writing(folder, "give the other drive a folder of its own", LOCK))
            self._appender = _open(folder, header, most)
            self._held = held.pop_all()
        self._last, self._lessons = header.last, header.lessons
        self._changed = Condition()
        self._waiting: deque[Record] = deque()
        self._batch: Sequence[Record] = ()
        self._skipped: range | None = None
        self._moment: Moment | None = None
        self._closing = False
        self.trouble = ""
        """Why nothing can be written now; empty: all is well."""
        self.written = 0
        """Lessons since this writer began."""
        self._thread = Thread(target=self._write_on, name="tmapr journal", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether something may be learned now."""
        with self._changed:
            pending = sum(isinstance(record, LessonRecord) for record in (*self._waiting, *self._batch))
            room = pending + AT_ONCE <= self._lose_at_most
            return room and not self.trouble and self._thread.is_alive() and not self._is_full()

    def _is_full(self) -> bool:
        return self._appender.unsaved >= 2 * self._most

    @property
    def wants_save(self) -> bool:
        """Whether it is time for a whole state: without one old lessons cannot go, and a restart has all to learn."""
        with self._changed:
            return 4 * self._appender.unsaved >= self._most

    def note(self, frame: int, stamp: int, lessons: Iterable[Lesson], kind: Kind = Kind.OWN) -> None:
        """What `teach` learned after a frame, or that it learned nothing; or `learn`, of labels.

        The stamp is of the drive's clock. Frames since the last call that were `skipped` are told apart by it.
        """
        with self._changed:
            self._end_skipping()
            for lesson in lessons:
                self._put(LessonRecord(kind, frame, stamp, Kept.of(lesson)))

    def note_skipped(self, frame: int) -> None:
        """After this frame nothing was taught, because this was not `ready`."""
        with self._changed:
            self._skipped = range(self._skipped.start if self._skipped else frame, frame + 1)

    def note_unlearned(self, lesson: Lesson) -> None:
        """A lesson was taken back."""
        with self._changed:
            self._put(Mark(Kind.UNLEARNED, self._last, self._lessons - 1, names=(lesson.name,)))

    def note_returned(self, frame: int, header: Header) -> None:
        """The guard went back while it taught after this frame; `header` says what is known now."""
        with self._changed:
            self._put(Mark(Kind.RETURNED, header.last, header.lessons, (frame, frame + 1)))

    def note_saved(self, last: bytes) -> None:
        """A whole state with this hash in its ledger was written; if more was learned since, the next one counts."""
        with self._changed:
            if last == self._last:
                self._moment = None
                self._put(Mark(Kind.SAVED, last, self._lessons))

    def note_moment(self, moment: Moment) -> None:
        """Keep the rest of what is known, once the lessons before it are written; a later one takes its place."""
        with self._changed:
            self._moment = moment
            self._changed.notify_all()

    def _put(self, record: Record) -> None:
        self._end_skipping()
        self._waiting.append(record)
        self._last = record.last
        self._lessons = self._lessons + 1 if isinstance(record, LessonRecord) else record.lessons
        self._changed.notify_all()

    def _end_skipping(self) -> None:
        if self._skipped:
            frames = self._skipped.start, self._skipped.stop
            self._waiting.append(Mark(Kind.SKIPPED, self._last, self._lessons, frames))
            self._skipped = None
            self._changed.notify_all()

    def flush(self, seconds: float = _PATIENCE) -> bool:
        """Wait until all that was noted is written, or so long; whether it is."""
        until = monotonic() + seconds
        with self._changed:
            self._end_skipping()
            while self._waiting or self._batch or self._moment:
                if not self._changed.wait(max(0.0, until - monotonic())) and monotonic() >= until:
                    return False
            return True

    def close(self) -> None:
        """Write what is still to be written and let go of the journal; a disk that hangs is let alone."""
        with self._changed:
            self._end_skipping()
            self._closing = True
            self._changed.notify_all()
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            self.trouble = f"{self._appender.path}: the disk does not answer; what was learned last may be lost"
            return
        self._held.close()

    def __enter__(self) -> "JournalWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_on(self) -> None:
        """Until it is closed; then what is left is tried once more."""
        try:
            while self._take_batch():
                if not self._try() and self._closing:
                    return
        except BaseException as error:
            self.trouble = f"{self._appender.path}: is not written any more ({error!r})"
            raise
        finally:
            self._appender.close()

    def _take_batch(self) -> bool:
        """Wait for something to write, or a while after trouble; whether there is something to try."""
        with self._changed:
            if self.trouble and not self._closing:
                self._changed.wait(_RETRY)
            while not (self._waiting or self._batch or self._moment or self.trouble or self._closing):
                self._changed.wait()
            self._batch = [*self._batch, *self._waiting]
            self._waiting.clear()
            return bool(self._batch) or self._moment is not None or not self._closing

    def _try(self) -> bool:
        """Write what there is; whether that was possible."""
        try:
            if self._batch:
                self._appender.append(self._batch)
                if any(record.kind is Kind.SAVED for record in self._batch):  # the state has the drive of then, too
                    (self._appender.folder / FILE).unlink(missing_ok=True)
                self._forget_batch()
            self._appender.flush(self._fsync_every)
            self._appender.drop_oldest()
            self._save_moment()
        except (OSError, InputError) as error:
            self.trouble = _explain(self._appender.path, error)
            return False
        self.trouble = ""
        return True

    def _forget_batch(self) -> None:
        with self._changed:
            self.written += sum(isinstance(record, LessonRecord) for record in self._batch)
            self._batch = ()
            self._changed.notify_all()

    def _save_moment(self) -> None:
        """Never ahead of the lessons: one that came while others wait has to wait with them."""
        with self._changed:
            moment = None if self._waiting else self._moment
        if moment is None:
            return
        self._appender.flush(min(self._fsync_every, 1))
        moment.save(self._appender.folder)
        with self._changed:
            self._moment = None if self._moment is moment else self._moment
            self._changed.notify_all()


def _open(folder: Path, header: Header, most: int) -> Appender:
    found = Journal.open(folder)
    found.check(header.map, header.settings, header.width)
    if found.last not in (None, header.last):
        raise InputError(f"{folder}: does not end with what is learned by now; {WAY_OUT}")
    return Appender(folder, header, most)


def _explain(path: Path, error: OSError | InputError) -> str:
    if isinstance(error, InputError):
        return str(error)
    return f"{path}: cannot be written ({error.strerror}); nothing is learned until it can"
