"""A run folder with all that was learned in it: the saved state, and what its journal has beyond."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tmapr.artifacts.lock import writing
from tmapr.artifacts.run import RunFolder, read_head_error
from tmapr.exceptions import InputError
from tmapr.experiment import load, read_experiment
from tmapr.journal.journal import FOLDER, LOCK, Journal
from tmapr.journal.moment import FILE
from tmapr.journal.redo import Redone, redo, settle
from tmapr.localizer import Localizer
from tmapr.system import Map, System, build, resume

_WAY_OUT = "name another run, or wait until the drive ends"


@dataclass(frozen=True, slots=True)
class LearnedRun:
    """What a run has learned by now, with the lessons that only its journal has."""

    folder: RunFolder
    localizer: Localizer
    journal: Journal
    redone: Redone

    @property
    def journal_folder(self) -> Path:
        """Where the journal lies."""
        return self.folder.path / FOLDER


def open_run(path: Path) -> LearnedRun:
    """Read a run folder and learn again what its journal has beyond the saved state; nothing is written."""
    localizer = load(path)
    journal = Journal.open(path / FOLDER)
    return LearnedRun(RunFolder(path), localizer, journal, redo(localizer, journal))


@contextmanager
def changing_run(path: Path) -> Iterator[LearnedRun]:
    """The same for a writer: while it lasts, nobody else is one."""
    if not RunFolder(path).map.exists():
        raise InputError(f"{path}: holds no map.npz; make one with `tmapr map EXPERIMENT`")
    with writing(path, _WAY_OUT):
        run = open_run(path)
        if settle(run.localizer, run.journal):
            run = replace(run, journal=Journal.open(path / FOLDER))
        yield run


def begin_again(folder: RunFolder) -> Localizer:
    """A localizer of the run's map that has learned nothing."""
    system, environment, head = _read_map(folder)
    localizer = build(system, environment)
    localizer.expect_head(read_head_error(head))
    return localizer


def open_state(path: Path, folder: RunFolder) -> Localizer:
    """What a state file has learned, on the map of a run."""
    system, environment, _ = _read_map(folder)
    return resume(system, environment, path)


def _read_map(folder: RunFolder) -> tuple[System, Map, str | None]:
    experiment = read_experiment(folder.experiment).with_head(folder)
    environment = Map.load(folder.map, experiment.system, experiment.data.references)
    return experiment.system, environment, experiment.perception.apr


def forget_drive(run: LearnedRun) -> None:
    """Where the camera was, and what it was about to learn, is of what was learned before."""
    (run.journal_folder / FILE).unlink(missing_ok=True)


def forget_state(path: Path) -> None:
    """Let a run be as it was mapped: its journal goes, and then its state."""
    folder = RunFolder(path)
    if not folder.map.exists():
        raise InputError(f"{path}: holds no map.npz; make one with `tmapr map EXPERIMENT`")
    journal, gone = path / FOLDER, path / f".{FOLDER}.removed"
    with writing(path, _WAY_OUT):
        if journal.exists():
            with writing(journal, _WAY_OUT, LOCK):  # refused while a program writes it
                shutil.rmtree(gone, ignore_errors=True)
        if journal.exists():
            journal.rename(gone)
        folder.state.unlink(missing_ok=True)
        shutil.rmtree(gone, ignore_errors=True)
