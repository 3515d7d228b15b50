"""What several robots learned, joined exactly in one run folder, and one robot's state as a file to send.

A lesson of any of them can be unlearned in the result as long as its robot's journal was there to be copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tmapr.artifacts.arrays import save_arrays
from tmapr.artifacts.atomic import naming
from tmapr.exceptions import InputError, StateError
from tmapr.journal.appending import Appender
from tmapr.journal.journal import FOLDER
from tmapr.journal.records import Kind, Mark
from tmapr.journal.redo import describe
from tmapr.journal.runs import LearnedRun, open_run, open_state
from tmapr.journal.segments import Header
from tmapr.journal.undoing import list_standing
from tmapr.localizer import Localizer
from tmapr.places.classifier import Classifier, merge

_MOST = 1 << 20
_LEFT_OVER = (".lock", ".results", "log.txt")


@dataclass(frozen=True, slots=True)
class Joined:
    """What came of it."""

    lessons: int
    places: int
    journaled: int
    """Lessons that can be unlearned in the result."""


def join(base: Path, robots: Sequence[Path], out: Path, held: Sequence[Path | None] = ()) -> Joined:
    """Make a run folder of the base and what each robot, a run folder or a state file, learned since.

    `held` is what the base has of each robot already, a run folder or state file as it was then; None: all of the base.
    """
    refuse_taken(out)
    beginning = open_run(base)
    states = [_open(path, beginning) for path in robots]
    known = [_find_classifier(_open(path, beginning)[0]) if path else None for path in held]
    for path, (localizer, _) in zip(robots, states, strict=True):
        _refuse_other_map(path, localizer, base, beginning.localizer)
    ours = _find_classifier(beginning.localizer)
    try:
        merged = merge([_find_classifier(localizer) for localizer, _ in states], ours, known or None)
    except StateError as error:
        raise InputError(f"{base}: cannot be the base of {', '.join(map(str, robots))}: {error}") from None
    before = describe(beginning.localizer)
    ours.return_to(merged)
    result = beginning.localizer.new_drive()
    result.save(out)
    runs = [beginning, *(run for _, run in states if run is not None)]
    journaled = write_journal(out, runs, result, before)
    return Joined(len(merged.ledger.names), len(merged.grid), journaled)


def refuse_taken(out: Path) -> None:
    """A run folder is made where there is nothing, or what an attempt left that was interrupted."""
    if out.exists() and (not out.is_dir() or any(entry.name not in _LEFT_OVER for entry in out.iterdir())):
        raise InputError(f"{out}: exists already; name a folder that does not")


def write_journal(out: Path, runs: Sequence[LearnedRun], result: Localizer, before: Header) -> int:
    """Begin a journal with those lessons of some runs that stand in the result; how many they are."""
    with naming(out / FOLDER):
        (out / FOLDER).mkdir()
        appender = Appender(out / FOLDER, before, _MOST)
        try:
            return _copy_lessons(runs, result, appender)
        finally:
            appender.close()


def _find_classifier(localizer: Localizer) -> Classifier:
    """Runs are opened on the CPU, where alone what was learned can be merged."""
    if not isinstance(localizer.classifier, Classifier):
        raise TypeError(f"a {type(localizer.classifier).__name__} cannot be merged; open the run on the CPU")
    return localizer.classifier


def _open(path: Path, base: LearnedRun) -> tuple[Localizer, LearnedRun | None]:
    if path.is_dir():
        run = open_run(path)
        return run.localizer, run
    return open_state(path, base.folder), None


def _refuse_other_map(path: Path, robot: Localizer, base_path: Path, base: Localizer) -> None:
    if robot.stages.map_digest != base.stages.map_digest or robot.stages.settings_digest != base.stages.settings_digest:
        raise InputError(f"{path}: is of another map than {base_path}; only states that grew from one map are merged")


def _copy_lessons(runs: Sequence[LearnedRun], result: Localizer, appender: Appender) -> int:
    """The lessons that stand in the result, each once as often as it does, and a mark behind them."""
    copied = set[int]()
    for run in runs:
        for entry in list_standing(run):
            if entry.name not in copied and result.classifier.ledger.holds(entry.name):
                copied.add(entry.name)
                appender.append([run.journal.read(entry)])
    here = describe(result)
    appender.append([Mark(Kind.BEYOND, here.last, here.lessons), Mark(Kind.SAVED, here.last, here.lessons)])
    appender.flush()
    return len(copied)


def export(run: Path, out: Path) -> int:
    """Write all that a run has learned to one file, the journal included; how many lessons that are."""
    found = open_run(run)
    if out.resolve() == found.folder.state.resolve() or out.is_dir() or out.suffix != ".npz":
        raise InputError(f"{out}: name a new file that ends in .npz")
    save_arrays(out, found.localizer.stages.head_state(), found.localizer.arrays())
    return len(found.localizer.classifier.ledger.names)
