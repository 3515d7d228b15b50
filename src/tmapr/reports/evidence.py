"""Everything that a report shows of one run, read once and checked by evaluating it.

The run is evaluated anew, with the alignment of its last evaluation: the figures and the numbers beside them then
belong to the same estimates, and a stale or unfinished run is refused by the same words as everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int64

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, load_json
from tmapr.artifacts.trajectory import Column, EstimateTable, load_estimates
from tmapr.config import load_settings
from tmapr.evaluation.alignment import fit_planar
from tmapr.evaluation.assessment import Fit, assess
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.loops import correct_candidates
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.retrieval.memory import Memory
from tmapr.system import Map
from tmapr.types import CHI2_95, NANOSECONDS, Reason, Status, Verdict

_FITS: Mapping[str, Fit] = {"planar": fit_planar}
"""What `evaluate` can bring a trajectory to the truth by, as errors.json names it."""


@dataclass(frozen=True, slots=True)
class Track:
    """Positions at moments in the order they were driven; seconds since the first one never run back."""

    seconds: Float[np.ndarray, " n"]
    positions: Float[np.ndarray, "n 2"]


@dataclass(frozen=True, slots=True)
class SequenceEvidence:
    """One test sequence, a row per frame, and its entry in errors.json."""

    name: str
    figures: Mapping[str, Any]
    recording: Recording
    stamps: Int64[np.ndarray, " n"]
    seconds: Float[np.ndarray, " n"]
    truth: Column
    fused: Column
    apr: Column
    statuses: tuple[Status, ...]
    reasons: tuple[Reason, ...]
    references: Column
    candidates: Column
    similarities: Column
    scores: Column
    leverages: Column
    supports: Column
    margins: Column
    confidences: Column
    innovations: Column
    semi_axes: Float[np.ndarray, " n"]
    threshold: float

    def errors(self, track: Column) -> Column:
        """Distance of a track to the truth, where both are known."""
        known = track.known & self.truth.known
        return Column(np.where(known, position_errors(track.values, self.truth.values), np.nan), known)

    @property
    def right(self) -> Bool[np.ndarray, " n"]:
        """Whether the first candidate shows the place of the frame."""
        return correct_candidates(self.candidates.values, self.truth.values)

    @property
    def accepted(self) -> Bool[np.ndarray, " n"]:
        """Whether the gates believed a candidate."""
        return np.array([Verdict(reason).accepted for reason in self.reasons])

    @property
    def misled(self) -> Bool[np.ndarray, " n"]:
        """Whether they believed one of another place; where the truth is not known, nobody can say that."""
        return self.accepted & self.truth.known & self.candidates.known & ~self.right


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """A run: its settings, how it came about, what was found, and the traverse that it was mapped from.

    `reference` is that traverse as it was driven, `memory` what the map keeps of it, sorted by place.
    """

    folder: RunFolder
    experiment: Experiment
    provenance: Mapping[str, Any]
    errors: Mapping[str, Any]
    memory: Memory
    reference: Track
    sequences: tuple[SequenceEvidence, ...]

    @classmethod
    def load(cls, path: Path) -> "RunEvidence":
        """Evaluate a run folder and read what it holds."""
        folder = RunFolder(path)
        if not path.is_dir():
            raise InputError(f"{path}: no such run folder; make one with `tmapr run EXPERIMENT`")
        if not folder.experiment.exists():
            raise InputError(f"{path}: holds no experiment.toml; is it a run folder, as `tmapr run` makes them?")
        fit = _fit_of_last_evaluation(folder)
        errors = assess(folder, fit)
        experiment = load_settings(Experiment, folder.experiment)
        memory = Map.load(folder.map, experiment.system).memory
        order = np.argsort(memory.frames)
        reference = Track(_seconds(memory.stamps[order]), memory.positions[order])
        sequences = tuple(_sequence(experiment, folder, name, errors["test"][name], fit) for name in errors["test"])
        return cls(folder, experiment, load_json(folder.provenance), errors, memory, reference, sequences)


def labelled(runs: Sequence[RunEvidence]) -> list[str]:
    """A name for each run that no other has: the experiment's, or the folder where several share it."""
    names = [run.experiment.name for run in runs]
    return [name if names.count(name) == 1 else str(run.folder.path) for name, run in zip(names, runs, strict=True)]


def _fit_of_last_evaluation(folder: RunFolder) -> Fit | None:
    return _FITS.get(str(load_json(folder.errors).get("alignment"))) if folder.errors.exists() else None


def _sequence(
    experiment: Experiment, folder: RunFolder, name: str, figures: Mapping[str, Any], fit: Fit | None
) -> SequenceEvidence:
    table: EstimateTable = load_estimates(folder.estimates(name))
    recording = Recording.load(folder.percepts(name))
    truth = Column(recording.truth, recording.known)
    fused = Column(table.positions, np.ones(len(table.stamps), dtype=bool))
    return SequenceEvidence(
        name=name,
        figures=figures,
        recording=recording,
        stamps=table.stamps,
        seconds=_seconds(table.stamps),
        truth=truth,
        fused=_fitted(fused, truth, fit),
        apr=_fitted(table.apr_positions, truth, fit),
        statuses=table.statuses,
        reasons=table.reasons,
        references=table.references,
        candidates=table.reference_positions,
        similarities=table.similarities,
        scores=table.scores,
        leverages=table.leverages,
        supports=table.supports,
        margins=table.margins,
        confidences=table.confidences,
        innovations=table.innovations,
        semi_axes=np.sqrt(CHI2_95 * np.linalg.eigvalsh(table.covariances)[:, 1]),
        threshold=experiment.gating.min_similarity,
    )


def _fitted(track: Column, truth: Column, fit: Fit | None) -> Column:
    """The track as its errors were taken."""
    both = track.known & truth.known
    if fit is None or not both.any():
        return track
    return Column(fit(track.values[both], truth.values[both])(track.values), track.known)


def _seconds(stamps: np.ndarray) -> Float[np.ndarray, " n"]:
    latest = np.maximum.accumulate(stamps)
    return (latest - latest[0]) / NANOSECONDS
