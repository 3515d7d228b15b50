"""After a kill: the lessons that the journal has and the saved state does not are learned again, in their order.

With their recorded rows and weights K, W, U's variation, G's mixtures and the ledger become, bit for bit, what they
were when the last of them was learned. Each lesson's name is a hash of all before it, so a journal that does not
continue the state is noticed before anything changes.
"""

from dataclasses import dataclass

from tmapr.exceptions import InputError
from tmapr.journal.journal import Entry, Journal
from tmapr.journal.records import LESSONS, Kind, Mark
from tmapr.journal.segments import WAY_OUT, Header
from tmapr.localizer import Localizer
from tmapr.places.lessons import Lesson, show_name

_ANCHORS = (*LESSONS, Kind.RETURNED, Kind.VOIDED, Kind.MERGED)
"""After these the ledger's hash is another one."""


@dataclass(frozen=True, slots=True)
class Redone:
    """What was done again."""

    lessons: int = 0
    taken_back: int = 0


def describe(localizer: Localizer) -> Header:
    """What a journal of this localizer goes on from now."""
    ledger, stages = localizer.classifier.ledger, localizer.stages
    names = stages.map_digest, stages.settings_digest
    return Header(*names, localizer.classifier.dimension, ledger.last, len(ledger.names))


def redo(localizer: Localizer, journal: Journal, stop: int | None = None) -> Redone:
    """Do again what the journal has and the localizer does not; a journal that is of something else is refused.

    `stop` is the entry before which to stop.
    """
    here, done = describe(localizer), Redone()
    journal.check(here.map, here.settings, here.width)
    for entry in journal.entries[find_position(journal, here.last) : stop]:
        done = _redo(localizer, journal, entry, done)
    return done


def find_position(journal: Journal, last: bytes) -> int:
    """How many of its entries a state with this hash in its ledger has behind it.

    What was unlearned does not change the hash, so that is asked of the state once more.
    """
    for number in range(len(journal.entries) - 1, -1, -1):
        if journal.entries[number].last == last and journal.entries[number].kind in _ANCHORS:
            return number + 1
    if journal.header and journal.header.last != last:
        raise InputError(
            f"{journal.folder}: does not go on from what is learned here, so state.npz is of before or after it;"
            f" put the state back that it was written with, or {WAY_OUT}"
        )
    return 0


def _redo(localizer: Localizer, journal: Journal, entry: Entry, done: Redone) -> Redone:
    if entry.kind in LESSONS:
        lesson = read_lesson(localizer, journal, entry)
        localizer.relearn(lesson, entry.kind is Kind.LABEL)
        return Redone(done.lessons + 1, done.taken_back)
    if entry.kind is Kind.RETURNED:
        localizer.roll_back()
        _refuse_other(localizer, journal, entry)
        return done
    if entry.kind not in (Kind.UNLEARNED, Kind.VOIDED):
        return done
    mark = journal.read(entry)
    names = mark.names if isinstance(mark, Mark) else ()
    held = [name for name in reversed(names) if localizer.classifier.ledger.holds(name)]
    for name in held:
        localizer.unlearn(read_lesson(localizer, journal, journal.find(name)))
    if entry.kind is Kind.VOIDED:
        localizer.classifier.ledger.turn(localizer.classifier.ledger.last)
        _refuse_other(localizer, journal, entry)
    return Redone(done.lessons, done.taken_back + len(held))


def read_lesson(localizer: Localizer, journal: Journal, entry: Entry) -> Lesson:
    """A lesson with the rows that it had."""
    return localizer.classifier.rebuild(journal.read_lesson(entry).kept)


def _refuse_other(localizer: Localizer, journal: Journal, entry: Entry) -> None:
    if localizer.classifier.ledger.last != entry.last:
        at = show_name(entry.name)
        raise InputError(f"{journal.folder}: going back does not lead to {at} as it did before; {WAY_OUT}")
