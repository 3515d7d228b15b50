"""What changes with every frame and is small: the track, the drive's condition, what waits to be learned.

RUN/journal/moment.npz, written every few seconds by the journal's thread, behind the lessons that were learned before
it. After a kill the drive goes on from there; lessons that came later are learned again on top.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tmapr.artifacts.arrays import Arrays, load_arrays, put, save_arrays, take
from tmapr.artifacts.arrays import Header as ArraysHeader
from tmapr.artifacts.documents.notes import StateNotes
from tmapr.artifacts.layout import check_arrays
from tmapr.clock import LAYOUT as CLOCK
from tmapr.exceptions import InputError, StateError
from tmapr.journal.journal import Journal
from tmapr.journal.redo import Redone, describe, find_hash, find_position, redo, settle
from tmapr.labels import LAYOUT as LABELS
from tmapr.localizer import Localizer
from tmapr.retrieval.condition import LAYOUT as CONDITION
from tmapr.tracking import tracker_layout
from tmapr.tracking.self_training import LAYOUT as OWN_PAST

FILE = "moment.npz"
_KIND, _VERSION = "moment", 1
_BASE = "own.guard.base."


class _Notes(StateNotes):
    last: str


@dataclass(frozen=True, slots=True)
class Moment:
    """All of a localizer that its journal does not hold, as it was once."""

    header: ArraysHeader
    last: bytes
    """The ledger's hash then."""
    arrays: Arrays

    @classmethod
    def of(cls, localizer: Localizer) -> "Moment":
        """As it is now; nothing may be learned meanwhile."""
        stages, last = localizer.stages, localizer.classifier.ledger.last
        notes = {"map": stages.map_digest, "method": stages.tracking.method, "last": last.hex()}
        return cls(ArraysHeader(_KIND, _VERSION, stages.settings_digest, notes), last, localizer.moment())

    def save(self, folder: Path) -> None:
        """Replace the file in a journal's folder."""
        save_arrays(folder / FILE, self.header, self.arrays)

    @classmethod
    def load(cls, folder: Path, localizer: Localizer) -> "Moment":
        """Read the file; what does not belong to this localizer's map and method is refused."""
        path, stages = folder / FILE, localizer.stages
        header, arrays = load_arrays(path, _KIND, _VERSION)
        notes = _Notes.from_notes(path, header.notes)
        if (notes.map, notes.method) != (stages.map_digest, stages.tracking.method):
            raise InputError(f"{path}: belongs to another map or method")
        if [name for name, array in arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]:
            raise StateError(f"{path}: holds numbers that are not finite")
        layout = put("labels.", LABELS) | put("drive.", CONDITION) | put("lessons.", CONDITION)
        layout |= put("track.", tracker_layout(notes.method)) | put("clock.", CLOCK)
        width, own = localizer.memory.descriptors.shape[1], take(arrays, "own.")
        check_arrays(str(path), arrays, layout, "remove it", width=width, references=len(localizer.memory))
        if own:
            check_arrays(str(path), own, OWN_PAST, "remove it", width=width)
        return cls(header, bytes.fromhex(notes.last), arrays)

    def restore(self, localizer: Localizer) -> None:
        """Let a localizer that has learned as much go on from here."""
        whole = localizer.arrays()
        base = {name: array for name, array in whole.items() if name.startswith(_BASE)}
        try:
            localizer.restore({**self.arrays, **base}, localizer.stages.tracking.method)
        except (KeyError, ValueError):
            localizer.restore(whole, localizer.stages.tracking.method)
            raise


def go_on(localizer: Localizer, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Redone:
    """After whatever stop: learn again what the saved state lacks, and take up the drive where it was seen last.

    `folder` is the journal's. A moment that cannot be used is told and passed over: then the drive is the saved one.
    """
    journal = Journal.open(folder)
    here = describe(localizer)
    journal.check(here.map, here.settings, here.width)
    begin = find_position(journal, localizer.classifier.ledger)
    settle(localizer, journal)
    if journal.torn:
        tell(
            f"{journal.segments[-1].path}: ends in {journal.torn} bytes of a lesson that was being written; it is lost"
        )
    moment = _find_moment(localizer, journal, begin, tell)
    if moment is None:
        return redo(localizer, journal)
    before = redo(localizer, journal, find_hash(journal, moment.last))
    try:
        moment.restore(localizer)
    except (KeyError, ValueError) as error:
        tell(f"{folder / FILE}: its arrays do not fit together ({error}); the drive begins where the state was saved")
    after = redo(localizer, journal)
    return Redone(before.lessons + after.lessons, before.taken_back + after.taken_back)


def _find_moment(localizer: Localizer, journal: Journal, begin: int, tell: Callable[[str], None]) -> Moment | None:
    """The one that was kept, if it is not of before the saved state."""
    if not (journal.folder / FILE).exists():
        return None
    try:
        moment = Moment.load(journal.folder, localizer)
        position = find_hash(journal, moment.last)
        return moment if position is not None and position >= begin else None
    except (InputError, StateError, ValueError) as error:
        tell(f"{error}; the drive begins where the state was saved")
        return None
