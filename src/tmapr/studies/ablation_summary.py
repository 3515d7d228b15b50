"""What an ablation found: the content of ablation.json.

Subsets are compared with plain ACIL by the F1 of their loop decisions, systems with the full one by their RMSE; both on
the same frames, with the interval of a paired moving-block bootstrap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.documents.runs import RecordingMarks, SequenceErrors
from tmapr.artifacts.documents.studies import (
    Ablation,
    AblationRow,
    Gap,
    MappedErrors,
    MappedPoseHead,
    RowFigures,
)
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import Column
from tmapr.clock import place_all
from tmapr.evaluation.bootstrap import f1_of, rmse_of
from tmapr.evaluation.errors import count_jumps, position_errors, summarize_errors
from tmapr.evaluation.trial import Trial
from tmapr.experiment import Experiment, experiment_digest
from tmapr.running.encoding import load_recording
from tmapr.running.evaluating import read_errors
from tmapr.running.finished import FinishedRun
from tmapr.studies.ablation import ACIL, FULL, SUBSETS, SYSTEMS, Job, Variant, list_calibrating
from tmapr.studies.pairing import Measure, measure_pair


@dataclass(frozen=True, slots=True)
class _RowTrial:
    """A row on one test sequence, and the sequence's entry in its run's errors.json."""

    variant: Variant
    trial: Trial
    evaluated: SequenceErrors
    classes: int | None

    @property
    def positions(self) -> Column:
        """The positions that the row is about."""
        table = self.trial.table
        return {"apr": table.apr_positions, "retrieval": table.first.positions}.get(
            self.variant.track, self.trial.fused
        )

    @property
    def errors(self) -> Float[np.ndarray, " n"]:
        """Of every frame; NaN where there is no position or no truth."""
        positions, recording = self.positions, self.trial.recording
        known = positions.known & recording.known
        errors: Float[np.ndarray, " n"] = np.full(len(known), np.nan)
        errors[known] = position_errors(positions.values[known], recording.truth[known])
        return errors

    def summarize(self, measure: Measure | None) -> RowFigures:
        """The row's figures, and how it differs from the one it is compared with."""
        errors = self.errors[np.isfinite(self.errors)]
        difference = _gap(measure) if measure else None
        if not len(errors):
            return RowFigures(frames=0, difference=difference, protocol=self.evaluated.protocol_name)
        track = self.variant.track
        recognizes = track != "apr" and self.evaluated.retrieval is not None
        return RowFigures(
            frames=len(errors),
            **dict(summarize_errors(errors)),
            jumps=self._count_jumps(),
            coverage95=self.evaluated.nees.coverage95 if track == "fused" else None,
            loops=self.evaluated.loops if recognizes else None,
            classes=self.classes if recognizes else None,
            threshold=self.trial.threshold if recognizes else None,
            constrained=self.evaluated.constrained if recognizes else None,
            difference=difference,
            protocol=self.evaluated.protocol_name,
        )

    def _count_jumps(self) -> int:
        positions = self.positions
        stamps = place_all(self.trial.recording.stamps)[positions.known]
        return count_jumps(stamps, positions.values[positions.known], self.trial.mapped_speed)


def summarize_ablation(experiment: Experiment, folder: RunFolder, jobs: Mapping[str, Job]) -> Ablation:
    """Every row on every test sequence, in the order of the tables."""
    variants = (*SUBSETS, *SYSTEMS)
    runs = {path: FinishedRun.load(RunFolder(path)) for path in {job.folder.path for job in jobs.values()}}
    errors = {path: read_errors(run) for path, run in runs.items()}

    def row_trial(variant: Variant, name: str) -> _RowTrial:
        path = jobs[variant.key].folder.path
        return _RowTrial(variant, runs[path].trial(name), errors[path].test[name], runs[path].provenance.classes)

    tests = {name: _compare_rows([row_trial(variant, name) for variant in variants]) for name in experiment.data.scored}
    rows = [
        AblationRow(
            key=variant.key,
            title=variant.title,
            kind=variant.kind,
            settings=dict(variant.settings),
            test={name: rows[variant.key] for name, rows in tests.items()},
        )
        for variant in variants
    ]
    provenance = runs[jobs[FULL].folder.path].provenance
    return Ablation(
        kind="ablation",
        made_by=f"tmapr {version('tmapr')}",
        experiment=experiment.name,
        settings_sha256=experiment_digest(experiment),
        alignment=provenance.alignment,
        labels=provenance.labels,
        calibrated_on=tuple(list_calibrating(experiment)),
        apr=MappedPoseHead(mapped=_measure_pose_head(experiment, folder)),
        made_from={
            name: RecordingMarks(percepts=each.percepts, truth=each.truth)
            for name, each in jobs[FULL].read_marks().items()
        },
        rows=tuple(rows),
    )


def _compare_rows(rows: Sequence[_RowTrial]) -> dict[str, RowFigures]:
    """The figures of each row on a sequence, and its difference."""
    subsets, systems = ([row for row in rows if row.variant.kind == kind] for kind in ("subset", "system"))
    measures = _compare_f1(subsets) | _compare_rmse(systems)
    return {row.variant.key: row.summarize(measures.get(row.variant.key)) for row in rows}


def _compare_rmse(rows: Sequence[_RowTrial]) -> dict[str, Measure | None]:
    """RMSE of the full system less each other row's, on the frames that both place."""
    errors = {row.variant.key: row.errors for row in rows}
    ours, measures = errors.pop(FULL), {}
    for key, theirs in errors.items():
        both = np.isfinite(ours) & np.isfinite(theirs)
        if both.any():
            measures[key] = measure_pair("RMSE m", rmse_of(ours[both]), rmse_of(theirs[both]), int(both.sum()))
    return measures


def _compare_f1(rows: Sequence[_RowTrial]) -> dict[str, Measure | None]:
    """F1 of each subset less that of plain ACIL."""
    f1 = {row.variant.key: f1_of(row.trial.queries, row.trial.threshold) for row in rows}
    plain, frames = f1.pop(ACIL), int(rows[0].trial.recording.known.sum())
    return {key: measure_pair("F1", ours, plain, frames, higher_is_better=True) for key, ours in f1.items()}


def _gap(measure: Measure) -> Gap:
    low, high = measure.difference.interval.low, measure.difference.interval.high
    return Gap(value=measure.difference.value, low=low, high=high, verdict=measure.standing.value)


def _measure_pose_head(experiment: Experiment, folder: RunFolder) -> dict[str, MappedErrors]:
    """The pose head on the traverses that were mapped, beside the extent of each: the diagonal of its bounds."""
    measured = {}
    for name in experiment.data.references:
        recording = load_recording(experiment, folder.percepts(name), name)
        posed = [percept.position is not None for percept in recording.percepts]
        rows = np.flatnonzero(posed & recording.known).tolist()
        if rows:
            said = np.array([recording.percepts[row].position for row in rows])
            summary = summarize_errors(position_errors(said, recording.truth[rows]))
            extent = float(np.hypot(*np.ptp(recording.truth[recording.known], axis=0)))
            measured[name] = MappedErrors(**dict(summary), extent=extent, share=summary.rmse / extent)
    return measured
