"""After a kill: the lessons that the journal has and the saved state does not are learned again, in their order.

With their recorded rows and weights K, W, U's variation, G's mixtures and the ledger become, bit for bit, what they
were when the last of them was learned. Each lesson's name is a hash of all before it, so a journal that does not
continue the state is noticed before anything changes.
"""

from dataclasses import dataclass

from tmapr.exceptions import InputError
from tmapr.journal.appending import append_marks
from tmapr.journal.journal import Entry, Journal
from tmapr.journal.records import LESSONS, Kind, Mark
from tmapr.journal.segments import WAY_OUT, Header
from tmapr.localizer import Localizer
from tmapr.places.lessons import Ledger, Lesson, show_name

_ANCHORS = (*LESSONS, Kind.RETURNED, Kind.VOIDED, Kind.BEYOND)
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
    begin = find_position(journal, localizer.classifier.ledger)
    if begin and journal.entries[begin - 1].kind is Kind.RETURNED and not localizer.rollbacks:
        begin -= 1  # it is where the guard went back to, and its guard does not know that yet
    todo = journal.entries[begin:stop]
    if any(entry.kind is Kind.BEYOND for entry in todo):
        raise InputError(
            f"{journal.folder}: goes on from a later state.npz, with lessons that are not in it; put that one back, or"
            f" {WAY_OUT}"
        )
    for entry in todo:
        done = _redo(localizer, journal, entry, done)
    return done


def find_position(journal: Journal, ledger: Ledger) -> int:
    """How many of its entries a state with this ledger has behind it.

    What was unlearned does not change the hash, so that is asked of the state once more.
    """
    found = find_hash(journal, ledger.last)
    if found is None and is_beyond(journal, ledger):
        return len(journal.entries)
    if found is None:
        raise InputError(
            f"{journal.folder}: does not go on from what is learned here, so state.npz is of before or after it;"
            f" put the state back that it was written with, or {WAY_OUT}"
        )
    return found


def find_hash(journal: Journal, last: bytes) -> int | None:
    """How many of its entries a ledger with this hash has behind it."""
    for number in range(len(journal.entries) - 1, -1, -1):
        if journal.entries[number].last == last and journal.entries[number].kind in _ANCHORS:
            return number + 1
    return 0 if journal.header is None or journal.header.last == last else None


def is_beyond(journal: Journal, ledger: Ledger) -> bool:
    """Whether a state has more than the journal: it was saved before its last lessons were written down."""
    newest = next((entry for entry in reversed(journal.entries) if entry.kind in _ANCHORS), None)
    unknown = find_hash(journal, ledger.last) is None
    return unknown and newest is not None and newest.kind in LESSONS and ledger.holds(newest.name)


def settle(localizer: Localizer, journal: Journal) -> bool:
    """Let the journal go on from a state that has more than it; whether that was so."""
    if not is_beyond(journal, localizer.classifier.ledger):
        return False
    here = describe(localizer)
    append_marks(journal.folder, here, Mark(Kind.BEYOND, here.last, here.lessons))
    return True


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
