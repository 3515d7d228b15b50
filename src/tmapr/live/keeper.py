"""What outlives a drive: a journal of lessons and moments, and whole states at its end and when the journal is long."""

import ctypes
import logging
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import TmaprError
from tmapr.journal.journal import FOLDER
from tmapr.journal.moment import go_on
from tmapr.journal.redo import describe
from tmapr.journal.writer import JournalWriter
from tmapr.live.events import Part
from tmapr.localizer import Localizer

_log = logging.getLogger("tmapr")


@dataclass(frozen=True, slots=True)
class Keeping:
    """What a kill or a power cut may cost, and how much of the past can be taken back."""

    lose_at_most: int = 10
    """Lessons that a kill may lose."""
    fsync_every: int = 10
    """Lessons after which they are flushed to the disk itself; 0: never."""
    most: int = 20_000
    """Lessons that the journal keeps: half a gigabyte with the shipped descriptor."""


KEEPING = Keeping()


class Keeper:
    """The only writer of a run folder's state and journal."""

    def __init__(self, localizer: Localizer, folder: Path, keeping: Keeping = KEEPING) -> None:
        """Lets the localizer learn again what its saved state lacks."""
        self._localizer, self._folder = localizer, RunFolder(folder)
        redone = go_on(localizer, folder / FOLDER, _log.warning)
        if redone.lessons:
            _log.warning("%s: %d lessons of the journal learned again", folder, redone.lessons)
        self.journal = JournalWriter(folder / FOLDER, describe(localizer), **asdict(keeping))
        self._saving: threading.Thread | None = None
        self._trouble = ""

    @property
    def ready(self) -> bool:
        """Whether something may be learned now; a state that is due is written meanwhile."""
        if self._saving is None and self.journal.wants_save:
            self._saving = threading.Thread(target=self._save, name="tmapr state", daemon=True)
            self._saving.start()
        if self._saving is not None and not self._saving.is_alive():
            self._saving = None
        return self._saving is None and self.journal.ready

    def read(self) -> list[Part]:
        """How the journal is doing."""
        return [Part("journal", self.journal.written, note=self.journal.trouble or self._trouble)]

    def close(self) -> None:
        """Write the whole state, and end the journal with it."""
        if self._saving is not None:
            self._saving.join()
        try:
            self._save()
        finally:
            self.journal.close()
        if self._trouble:
            _log.warning("%s", self._trouble)

    def _save(self) -> None:
        """A disk that is full costs nothing but the state: the journal has what was learned since the last one."""
        last = self._localizer.classifier.ledger.last
        try:
            self._localizer.save(self._folder.path)
        except (TmaprError, OSError) as error:
            self._trouble = " ".join(str(error).split())
            return
        self._trouble = ""
        self.journal.note_saved(last)
        give_back_memory()


def give_back_memory() -> None:
    """What is kept is copied before it is written, and the C library holds on to that memory: 50 MB after a state.

    Takes a millisecond and a half, and a twentieth where there is little to give.
    """
    with suppress(OSError, AttributeError):  # one that is not glibc
        ctypes.CDLL(None).malloc_trim(0)
