"""What an ablation found: the content of ablation.json.

Subsets are compared with plain ACIL by the F1 of their loop decisions, systems with the full one by their RMSE; both on
the same frames, with the interval of a paired moving-block bootstrap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.run import RunFolder, load_json
from tmapr.artifacts.trajectory import Column
from tmapr.config import settings_digest
from tmapr.evaluation.ablation import ACIL, FULL, SUBSETS, SYSTEMS, Job, Variant
from tmapr.evaluation.encoding import load_recording
from tmapr.evaluation.errors import ErrorSummary, count_jumps, position_errors
from tmapr.evaluation.finished import FinishedRun, Trial, mapped_speed
from tmapr.evaluation.pairing import Measure, f1_of, measured, rmse_of
from tmapr.experiment import Experiment
from tmapr.retrieval.memory import Memory

_NOTHING = dict.fromkeys(("rmse", "mean", "median", "p95", "jumps", "coverage95", "loops"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row on one test sequence."""

    variant: Variant
    trial: Trial
    memory: Memory
    threshold: float
    evaluated: Mapping[str, Any]
    """The sequence's entry in the run's errors.json."""

    @property
    def positions(self) -> Column:
        """The positions that the row is about."""
        table = self.trial.table
        return {"apr": table.apr_positions, "retrieval": table.reference_positions}.get(
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

    def figures(self) -> dict[str, Any]:
        """Everything but the comparison with other rows; only nothings where the row places no frame."""
        errors = self.errors[np.isfinite(self.errors)]
        if not len(errors):
            return {"frames": 0} | _NOTHING
        return {
            "frames": len(errors),
            **asdict(ErrorSummary.of(errors)),
            "jumps": self._jumps(),
            "coverage95": self.evaluated["nees"]["coverage95"] if self.variant.track == "fused" else None,
            "loops": self.evaluated["loops"] if self.variant.track != "apr" and self.evaluated["retrieval"] else None,
        }

    def _jumps(self) -> int:
        positions = self.positions
        stamps = np.maximum.accumulate(self.trial.recording.stamps)[positions.known]
        return count_jumps(stamps, positions.values[positions.known], mapped_speed(self.memory))


def found(experiment: Experiment, folder: RunFolder, jobs: Mapping[str, Job]) -> dict[str, Any]:
    """Every row on every test sequence, in the order of the tables."""
    variants = (*SUBSETS, *SYSTEMS)
    runs = {path: FinishedRun.load(RunFolder(path)) for path in {job.folder.path for job in jobs.values()}}
    errors = {path: load_json(run.folder.errors) for path, run in runs.items()}

    def outcome(variant: Variant, name: str) -> Outcome:
        path = jobs[variant.key].folder.path
        run, memory = runs[path], runs[path].environment.memory
        evaluated = errors[path]["test"][name]
        return Outcome(variant, run.trial(name), memory, run.experiment.gating.min_similarity, evaluated)

    tests = {name: _compared([outcome(variant, name) for variant in variants]) for name in experiment.data.test}
    rows = [
        {
            "key": variant.key,
            "title": variant.title,
            "kind": variant.kind,
            "settings": {
                f"{part}.{key}": value for part, keys in variant.changes.items() for key, value in keys.items()
            },
            "test": {name: rows[variant.key] for name, rows in tests.items()},
        }
        for variant in variants
    ]
    provenance = runs[jobs[FULL].folder.path].provenance
    return {
        "kind": "ablation",
        "made_by": f"tmapr {version('tmapr')}",
        "experiment": experiment.name,
        "settings_sha256": settings_digest(experiment),
        "alignment": provenance["alignment"],
        "labels": provenance["labels"],
        "apr": {"mapped": _mapped(experiment, folder)},
        "rows": rows,
    }


def _compared(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
    """The figures of each row on a sequence, and its difference."""
    kinds = {kind: [each for each in outcomes if each.variant.kind == kind] for kind in ("subset", "system")}
    differences = _by_f1(kinds["subset"]) | _by_rmse(kinds["system"])
    return {
        outcome.variant.key: outcome.figures() | {"difference": _written(differences.get(outcome.variant.key))}
        for outcome in outcomes
    }


def _by_rmse(outcomes: Sequence[Outcome]) -> dict[str, Measure | None]:
    """RMSE of the full system less each other row's, on the frames that both place."""
    errors = {outcome.variant.key: outcome.errors for outcome in outcomes}
    ours, differences = errors.pop(FULL), {}
    for key, theirs in errors.items():
        both = np.isfinite(ours) & np.isfinite(theirs)
        if both.any():
            differences[key] = measured("RMSE m", rmse_of(ours[both]), rmse_of(theirs[both]), int(both.sum()))
    return differences


def _by_f1(outcomes: Sequence[Outcome]) -> dict[str, Measure | None]:
    """F1 of each subset less that of plain ACIL."""
    f1 = {outcome.variant.key: f1_of(outcome.trial.queries(outcome.memory), outcome.threshold) for outcome in outcomes}
    plain, frames = f1.pop(ACIL), int(outcomes[0].trial.recording.known.sum())
    return {key: measured("F1", ours, plain, frames, higher_is_better=True) for key, ours in f1.items()}


def _written(measure: Measure | None) -> dict[str, Any] | None:
    if measure is None:
        return None
    low, high = measure.difference.interval.low, measure.difference.interval.high
    return {"value": measure.difference.value, "low": low, "high": high, "verdict": measure.standing.value}


def _mapped(experiment: Experiment, folder: RunFolder) -> dict[str, Any]:
    """The pose head on the traverse that was mapped, beside the extent of the route: the diagonal of its bounds."""
    name = str(experiment.data.reference)
    recording = load_recording(experiment, folder, name)
    rows = [row for row, each in enumerate(recording.percepts) if each.position is not None and recording.known[row]]
    if not rows:
        return {}
    said = np.array([recording.percepts[row].position for row in rows])
    summary = ErrorSummary.of(position_errors(said, recording.truth[rows]))
    extent = float(np.hypot(*np.ptp(recording.truth[recording.known], axis=0)))
    return {name: asdict(summary) | {"extent": extent, "share": summary.rmse / extent}}
