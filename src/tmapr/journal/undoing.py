"""Take back what was learned: single lessons, or all since some moment.

Unlearning is exact for K and W to rounding; U's direction and G's Gaussians keep their summary of it. Going back is
better where it can be: from a state that the journal reaches, A₀ or the saved one, all lessons up to there are learned
again, and everything is, bit for bit, as if the later ones had never been.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tmapr.exceptions import InputError
from tmapr.experiment import load
from tmapr.journal.appending import append_marks
from tmapr.journal.journal import Entry
from tmapr.journal.records import LESSONS, Kind, Mark
from tmapr.journal.redo import describe, find_hash, read_lesson, redo
from tmapr.journal.runs import LearnedRun, begin_again, forget_drive
from tmapr.localizer import Localizer
from tmapr.places.lessons import show_name

Way = Literal["learned again", "unlearned"]


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back, and how."""

    lessons: int
    left: int
    way: Way


def list_standing(run: LearnedRun) -> list[Entry]:
    """The lessons of the journal that count now, in the order in which they were learned."""
    newest = {entry.name: entry for entry in run.journal.entries if entry.kind in LESSONS}
    return [newest[name] for name in run.localizer.classifier.ledger.names.tolist() if name in newest]


def unlearn(run: LearnedRun, names: Sequence[int]) -> Undone:
    """Take lessons back, wherever they stand among the others, and save."""
    standing = {entry.name: entry for entry in list_standing(run)}
    for name in names:
        if name not in standing:
            run.journal.find(name)
            raise InputError(f"{run.folder.path}: the lesson {show_name(name)} was taken back already")
    if len(set(names)) < len(names) or not names:
        raise InputError(f"{run.folder.path}: name each lesson to unlearn once, and at least one")
    before = describe(run.localizer)
    for name in names:
        run.localizer.unlearn(read_lesson(run.localizer, run.journal, standing[name]))
    left = before.lessons - len(names)
    append_marks(run.journal_folder, before, Mark(Kind.UNLEARNED, before.last, left, names=tuple(names)))
    _save(run, run.localizer)
    return Undone(len(names), left, "unlearned")


def roll_back(run: LearnedRun, gone: Callable[[Entry], bool]) -> Undone:
    """Go back to before the first lesson that has to go, and save; what was learned after that one goes, too."""
    names, standing = run.localizer.classifier.ledger.names.tolist(), list_standing(run)
    first = next((entry for entry in standing if gone(entry)), None)
    if first is None:
        return Undone(0, len(names), "unlearned")
    void = names[names.index(first.name) :]
    missing = set(void) - {entry.name for entry in standing}
    if missing:
        raise InputError(
            f"{run.journal_folder}: no longer holds {len(missing)} of the {len(void)} lessons to be taken back; go back"
            " less far, or with --all to the map"
        )
    before = describe(run.localizer)
    again = _learn_again(run, first, names[: -len(void)])
    localizer = again or run.localizer
    if again is None:
        for name in reversed(void):
            localizer.unlearn(read_lesson(localizer, run.journal, run.journal.find(name)))
    ledger = localizer.classifier.ledger
    ledger.turn(before.last)
    append_marks(run.journal_folder, before, Mark(Kind.VOIDED, ledger.last, len(ledger.names), names=tuple(void)))
    _save(run, localizer)
    return Undone(len(void), len(ledger.names), "unlearned" if again is None else "learned again")


def _learn_again(run: LearnedRun, first: Entry, kept: Sequence[int]) -> Localizer | None:
    """A localizer that learned all up to `first`; None where the journal begins too late, or other lessons stand."""
    stop = run.journal.entries.index(first)
    for begin in (_begin_at_saved, _begin_at_map):
        localizer = begin(run)
        if not _is_before(localizer, run, stop):
            continue
        redo(localizer, run.journal, stop)
        _take_back_again(localizer, run, stop)
        if localizer.classifier.ledger.names.tolist() == list(kept):
            return localizer
    return None


def _begin_at_saved(run: LearnedRun) -> Localizer:
    return load(run.folder.path)


def _begin_at_map(run: LearnedRun) -> Localizer:
    return begin_again(run.folder)


def _is_before(localizer: Localizer, run: LearnedRun, stop: int) -> bool:
    begin = find_hash(run.journal, describe(localizer).last)
    if begin is None or begin > stop:
        return False
    return all(entry.kind is not Kind.BEYOND for entry in run.journal.entries[begin:stop])


def _take_back_again(localizer: Localizer, run: LearnedRun, start: int) -> None:
    """What was unlearned later on stays so."""
    for entry in run.journal.entries[start:]:
        mark = run.journal.read(entry) if entry.kind is Kind.UNLEARNED else None
        for name in mark.names if isinstance(mark, Mark) else ():
            if localizer.classifier.ledger.holds(name):
                localizer.unlearn(read_lesson(localizer, run.journal, run.journal.find(name)))


def _save(run: LearnedRun, localizer: Localizer) -> None:
    localizer.save(run.folder.path)
    forget_drive(run)
    here = describe(localizer)
    append_marks(run.journal_folder, here, Mark(Kind.SAVED, here.last, here.lessons))
