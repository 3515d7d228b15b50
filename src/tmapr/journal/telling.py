"""What was learned in a run, and how two runs differ in it."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from tmapr.artifacts.arrays import take
from tmapr.artifacts.documents import Document
from tmapr.exceptions import InputError
from tmapr.journal.journal import Entry
from tmapr.journal.records import LESSONS, Kind
from tmapr.journal.runs import LearnedRun, open_run
from tmapr.journal.undoing import list_standing
from tmapr.places.grid import CellIndex
from tmapr.places.lessons import show_name


class LessonTold(Document):
    """One lesson of a journal."""

    name: str
    kind: str
    frame: int
    stamp_ns: int
    place: tuple[float, float]
    """The middle of its cell, metres."""


class StateTold(Document):
    """What a run has learned."""

    run: str
    map: str
    lessons: int
    kinds: dict[str, int]
    """Of those that stand and are in the journal: own, imagined, label."""
    places: int
    mapped_places: int
    guard: str
    saved: str | None
    """When state.npz was written, UTC; None where there is none."""
    ahead: int
    """Lessons that only the journal has: the state is of before them."""
    journal_lessons: int
    journal_bytes: int
    journal_segments: int
    journal_torn: int
    taken_back: int
    """Lessons of the journal that do not stand any more."""
    removable: int
    """Lessons that can be unlearned: they stand, and the journal still has them."""
    first_stamp_ns: int | None
    last_stamp_ns: int | None
    newest: tuple[LessonTold, ...]


class PlaceDiffering(Document):
    """How far the weights of one place are apart."""

    place: tuple[float, float]
    distance: float


class Difference(Document):
    """How the state of one run differs from that of another."""

    only_first: int
    only_second: int
    both: int
    distance: float
    """Norm of the difference of W, in shares of that of the first."""
    places: tuple[PlaceDiffering, ...]


def tell(run: LearnedRun, newest: int) -> StateTold:
    """What a run has learned, with its newest lessons."""
    standing, journal, localizer = list_standing(run), run.journal, run.localizer
    own = take(localizer.arrays(), "own.guard.")
    stamps = [entry.stamp for entry in standing]
    return StateTold(
        run=str(run.folder.path),
        map=localizer.stages.map_digest,
        lessons=len(localizer.classifier.ledger.names),
        kinds=dict(Counter(name_kind(entry) for entry in standing)),
        places=len(localizer.classifier.grid),
        mapped_places=localizer.memory.place_count,
        guard=_describe_guard(own),
        saved=_find_time(run.folder.state),
        ahead=run.redone.lessons,
        journal_lessons=len(journal.lessons),
        journal_bytes=journal.size,
        journal_segments=len(journal.segments),
        journal_torn=journal.torn,
        taken_back=len(journal.lessons) - len(standing),
        removable=len(standing),
        first_stamp_ns=min(stamps, default=None),
        last_stamp_ns=max(stamps, default=None),
        newest=tuple(_tell_lesson(run, entry) for entry in standing[len(standing) - newest :] if newest),
    )


def name_kind(entry: Entry) -> str:
    """As a user reads it."""
    return "label" if entry.kind is Kind.LABEL else "imagined" if entry.imagined else "own"


def _tell_lesson(run: LearnedRun, entry: Entry) -> LessonTold:
    cell = run.journal.read_lesson(entry).kept.cell
    name, kind = show_name(entry.name), name_kind(entry)
    return LessonTold(name=name, kind=kind, frame=entry.frame, stamp_ns=entry.stamp, place=_find_middle(run, cell))


def _find_middle(run: LearnedRun, cell: CellIndex) -> tuple[float, float]:
    grid = run.localizer.classifier.grid
    x, y = (grid.origin + (np.array(cell) + 0.5) * grid.cell).tolist()
    return x, y


def _describe_guard(own: dict[str, np.ndarray]) -> str:
    if not any(name.startswith("base.") for name in own):
        return "nothing was taught by itself; all that is learned answers"
    count, mean, _ = own["tally"].tolist()
    answers = "what it taught itself answers" if bool(own["passed"]) else "the base answers"
    return f"{answers}; {mean:+.3f} nats a view over the last {count:.0f}"


def _find_time(path: Path) -> str | None:
    if not path.exists():
        return None
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def compare(first: Path, second: Path, most: int) -> Difference:
    """How two runs differ in what they learned; both have to be of one map."""
    ours, theirs = open_run(first), open_run(second)
    if ours.localizer.stages.map_digest != theirs.localizer.stages.map_digest:
        raise InputError(f"{second}: is of another map than {first}; only states that grew from one map are compared")
    names = [Counter(run.localizer.classifier.ledger.names.tolist()) for run in (ours, theirs)]
    columns = [_take_columns(run) for run in (ours, theirs)]
    none = np.zeros(ours.localizer.classifier.ridge.dim)
    apart = {
        cell: float(np.linalg.norm(columns[0].get(cell, none) - columns[1].get(cell, none)))
        for cell in columns[0] | columns[1]
    }
    whole = float(np.linalg.norm(ours.localizer.classifier.ridge.weights))
    farthest = sorted((cell for cell in apart if apart[cell] > 0), key=lambda cell: -apart[cell])[:most]
    return Difference(
        only_first=(names[0] - names[1]).total(),
        only_second=(names[1] - names[0]).total(),
        both=(names[0] & names[1]).total(),
        distance=float(np.linalg.norm(list(apart.values()))) / max(whole, np.finfo(float).tiny),
        places=tuple(PlaceDiffering(place=_find_middle(ours, cell), distance=apart[cell]) for cell in farthest),
    )


def _take_columns(run: LearnedRun) -> dict[CellIndex, np.ndarray]:
    classifier = run.localizer.classifier
    cells = [(column, row) for column, row in classifier.grid.cells.tolist()]
    return dict(zip(cells, classifier.ridge.weights.T, strict=True))


def find_lessons(run: LearnedRun, first: int, last: int) -> list[int]:
    """The names of the lessons that stand and were learned between two stamps, both included."""
    return [entry.name for entry in list_standing(run) if first <= entry.stamp <= last and entry.kind in LESSONS]
