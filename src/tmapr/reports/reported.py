"""What a report shows of one run: the finished run, read once, and its errors, which belong to the same estimates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.documents.runs import Errors, Provenance, SequenceErrors
from tmapr.artifacts.results import read_whole
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import Column, EstimateTable
from tmapr.clock import place_all
from tmapr.evaluation.assessment import Fit
from tmapr.evaluation.decisions import Mapped
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.loops import correct_candidates
from tmapr.evaluation.trial import Trial
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.retrieval.memory import Memory
from tmapr.running.evaluating import FITS, read_errors
from tmapr.running.finished import FinishedRun
from tmapr.types import CHI2_95, NANOSECONDS, Verdict


@dataclass(frozen=True, slots=True)
class TimedPath:
    """Positions at moments in the order they were driven; seconds since the first one never run back."""

    seconds: Float[np.ndarray, " n"]
    positions: Float[np.ndarray, "n 2"]


@dataclass(frozen=True, slots=True)
class ReportedSequence:
    """One test sequence and its entry in errors.json; `fused` and `apr` are as their errors were taken.

    Where nobody knows the true positions there is no entry, no frame's truth is known, and all else is the same.
    """

    name: str
    figures: SequenceErrors | None
    trial: Trial
    fused: Column
    apr: Column
    protocol: str = "test"

    @property
    def table(self) -> EstimateTable:
        """What was said of every frame."""
        return self.trial.table

    @property
    def truth(self) -> Column:
        """Where every frame was taken."""
        return Column(self.trial.recording.truth, self.trial.recording.known)

    @property
    def tolerance(self) -> float:
        """Metres from the truth up to which an estimate is right."""
        memory = self.trial.memory
        return Mapped(memory.positions[memory.order]).tolerance

    @property
    def seconds(self) -> Float[np.ndarray, " n"]:
        """Since the first frame; a frame that came late does not turn time back."""
        return _seconds(self.table.stamps)

    @property
    def semi_axes(self) -> Float[np.ndarray, " n"]:
        """Longest semi-axis of every frame's 95 % ellipse, in metres."""
        return np.sqrt(CHI2_95 * np.linalg.eigvalsh(self.table.covariances)[:, 1])

    def errors(self, track: Column) -> Column:
        """Distance of a track to the truth, where both are known."""
        truth = self.truth
        known = track.known & truth.known
        return Column(np.where(known, position_errors(track.values, truth.values), np.nan), known)

    @property
    def reasons(self) -> dict[str, int]:
        """How often each verdict was given."""
        return dict(Counter(reason.value for reason in self.table.reasons).most_common())

    @property
    def accepted(self) -> Bool[np.ndarray, " n"]:
        """Whether the gates believed a candidate."""
        return np.array([Verdict(reason).accepted for reason in self.table.reasons])

    @property
    def misled(self) -> Bool[np.ndarray, " n"]:
        """Whether they believed one of another place; where the truth is not known, nobody can say that."""
        judged, truth = self.table.reference_positions, self.truth
        right = correct_candidates(judged.values, truth.values)
        return self.accepted & truth.known & judged.known & ~right


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run: its settings, how it came about, what was found, and the traverses that it was mapped from.

    `references` are those as they were driven, `memory` what the map keeps of them, sorted by place.
    """

    folder: RunFolder
    experiment: Experiment
    provenance: Provenance
    errors: Errors
    memory: Memory
    references: tuple[TimedPath, ...]
    sequences: tuple[ReportedSequence, ...]
    remarks: tuple[str, ...] = ()
    """What a reader of the figures should know of the recording, a line each."""

    @classmethod
    def load(cls, path: Path) -> "ReportedRun":
        """Read a run folder; nothing is written there."""
        folder = RunFolder(path)
        return read_whole(folder, lambda: cls._load(folder))

    @classmethod
    def _load(cls, folder: RunFolder) -> "ReportedRun":
        run = FinishedRun.load(folder)
        errors, memory = read_errors(run), run.environment.memory
        references = tuple(TimedPath(_seconds(memory.stamps[rows]), memory.positions[rows]) for rows in memory.drives())
        fit = FITS.get(errors.alignment)
        sequences = tuple(
            _report_sequence(run, name, errors.test.get(name), fit) for name in run.experiment.data.scored
        )
        remarks = tuple(run.remarks)
        return cls(run.folder, run.experiment, run.provenance, errors, memory, references, sequences, remarks)

    def find(self, name: str | None = None) -> ReportedSequence:
        """The sequence of that name, or the first test."""
        names = [sequence.name for sequence in self.sequences]
        wanted = find_name(name, next(iter(self.experiment.data.test), names[0]), names)
        return self.sequences[names.index(wanted)]


def find_name(asked: str | None, usual: str, localized: Sequence[str]) -> str:
    """A sequence that a run localized: the one that is asked for, or the usual one."""
    wanted = usual if asked is None else asked
    if wanted not in localized:
        raise InputError(f"{wanted}: was not localized by this run; there are {', '.join(localized)}")
    return wanted


def label_runs(runs: Sequence[ReportedRun]) -> list[str]:
    """A name for each run that no other has: the experiment's, or the folder where several share it."""
    names = [run.experiment.name for run in runs]
    return [name if names.count(name) == 1 else str(run.folder.path) for name, run in zip(names, runs, strict=True)]


def _report_sequence(run: FinishedRun, name: str, figures: SequenceErrors | None, fit: Fit | None) -> ReportedSequence:
    trial = run.sequence(name)
    truth = Column(trial.recording.truth, trial.recording.known)
    fused, apr = (_fit_track(track, truth, fit) for track in (trial.fused, trial.table.apr_positions))
    return ReportedSequence(name, figures, trial, fused, apr, run.provenance.sequences[name].protocol_name)


def _fit_track(track: Column, truth: Column, fit: Fit | None) -> Column:
    """The track as its errors were taken."""
    both = track.known & truth.known
    if fit is None or not both.any():
        return track
    return Column(fit(track.values[both], truth.values[both])(track.values), track.known)


def _seconds(stamps: np.ndarray) -> Float[np.ndarray, " n"]:
    latest = place_all(stamps)
    return (latest - latest[0]) / NANOSECONDS
