"""What a run had learned, on the map that came of its own: exact for K and W, and its lessons can be unlearned."""

from dataclasses import dataclass
from pathlib import Path

from tmapr.artifacts.arrays import save_arrays
from tmapr.artifacts.run import RunFolder, read_head_error
from tmapr.experiment import Experiment
from tmapr.journal.joining import write_journal
from tmapr.journal.journal import FOLDER
from tmapr.journal.redo import describe
from tmapr.journal.runs import LearnedRun, open_run
from tmapr.journal.segments import Header
from tmapr.localizer import Localizer
from tmapr.places.carrying import carry
from tmapr.system import Map, build


@dataclass(frozen=True, slots=True)
class Carried:
    """What is to be written beside the new map."""

    run: LearnedRun
    localizer: Localizer
    before: Header

    @property
    def lessons(self) -> int:
        """How many go along."""
        return len(self.localizer.classifier.ledger.names)

    def save(self, state: Path) -> None:
        """Write the state."""
        save_arrays(state, self.localizer.stages.head_state(), self.localizer.arrays())

    def begin_journal(self, out: Path) -> int:
        """Write the lessons that the run's journal has; how many they are."""
        return write_journal(out, [self.run], self.localizer, self.before) if self.run.journal.segments else 0


def carry_learned(folder: RunFolder, experiment: Experiment, old: Map, new: Map) -> Carried | None:
    """The run's state on a map that grew from its own; None where nothing was learned.

    A new drive begins with it: where the camera was, and what waits to be learned, is of the old map.
    """
    if not folder.state.exists() and not (folder.path / FOLDER).exists():
        return None
    run = open_run(folder.path)
    if not len(run.localizer.classifier.ledger.names):
        return None
    learned = run.localizer.classifier.arrays()
    known = carry(new.places, new.fitted, learned, old.initial, new.initial)
    localizer = build(experiment.system, new, known)
    localizer.expect_head(read_head_error(experiment.perception.apr))
    if beliefs := run.localizer.tracker.learned():
        localizer.tracker.restore_learned(beliefs)
    return Carried(run, localizer, describe(build(experiment.system, new)))
