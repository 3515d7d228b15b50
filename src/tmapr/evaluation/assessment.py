"""From a run's estimates and recorded truth to errors.json."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.run import RunFolder, save_json
from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.alignment import PlanarTransform
from tmapr.evaluation.errors import (
    ErrorSummary,
    HeadingSummary,
    InnovationSummary,
    consistency,
    count_jumps,
    heading_errors,
    position_errors,
    true_headings,
)
from tmapr.evaluation.finished import FinishedRun, Trial, mapped_speed
from tmapr.evaluation.off_map import detours
from tmapr.evaluation.pairing import interval_of, rmse_of
from tmapr.evaluation.pose_errors import Delta, PoseErrors, Trajectory, absolute_errors, relative_errors
from tmapr.evaluation.ranking import by_system
from tmapr.evaluation.recognition import recognition
from tmapr.retrieval.memory import Memory
from tmapr.system import Watch
from tmapr.types import Status, Verdict

Fit = Callable[[Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2"]], PlanarTransform]
"""Brings a whole trajectory nearest to the truth."""

_DELTAS = (Delta(1, "frames"), Delta(10.0, "metres"))
"""What relative errors are taken over: evo's default, where jumps show, and a stretch of road."""


def assess(folder: RunFolder, fit: Fit | None = None, watch: Watch = iter) -> dict[str, Any]:
    """Evaluate every test sequence of a run and write errors.json; with a `fit`, after fitting each trajectory."""
    run = FinishedRun.load(folder)
    ranking, made = by_system(run), run.provenance
    tests = {}
    for name in run.experiment.data.test:
        trial = run.trial(name)
        loops = recognition(trial, run, ranking, watch)
        tests[name] = _figures(trial, run.environment.memory, fit) | {"loops": loops} | made["sequences"][name]
    errors = {
        "test": tests,
        "alignment": "planar" if fit else made["alignment"],
        "labels": made["labels"],
        "frame": asdict(run.environment.frame),
        "settings_sha256": made["settings_sha256"],
    }
    save_json(folder.errors, errors)
    return errors


def _figures(trial: Trial, memory: Memory, fit: Fit | None) -> dict[str, Any]:
    table, fused = trial.table, trial.fused
    apr_fit, fused_fit = (_fitted(column, trial, fit) for column in (table.apr_positions, fused))
    speed = mapped_speed(memory)
    return {
        "frames": len(trial.recording),
        "apr": _errors(table.apr_positions, trial, apr_fit),
        "retrieval": _errors(table.reference_positions, trial),
        "fused": _with_interval(fused, trial, fused_fit),
        "heading": _heading_errors(trial, apr_fit),
        "ape": {"alignment": "planar" if fit else "none"} | _absolute(trial, fused_fit),
        "rpe": [_relative(trial, delta) for delta in _DELTAS],
        "reasons": _counts(table.reasons),
        "status": _counts(table.statuses),
        "nees": _honesty(trial),
        "nis": asdict(InnovationSummary.of(table.nis.values[table.nis.known])) if table.nis.known.any() else None,
        "jumps": {"apr": _jumps(trial, table.apr_positions, speed), "fused": _jumps(trial, fused, speed)},
        "off_map": _off_map(trial, memory),
    }


def _off_map(trial: Trial, memory: Memory) -> dict[str, Any] | None:
    known, table = trial.recording.known, trial.table
    found = detours(
        trial.recording.truth[known],
        table.positions[known],
        localized=np.array([status is Status.LOCALIZED for status in table.statuses])[known],
        accepted=np.array([Verdict(reason).accepted for reason in table.reasons])[known],
        mapped=memory.positions,
    )
    return asdict(found) if found else None


def _fitted(column: Column, trial: Trial, fit: Fit | None) -> PlanarTransform | None:
    both = column.known & trial.recording.known
    return fit(column.values[both], trial.recording.truth[both]) if fit and both.any() else None


def _frame_errors(column: Column, trial: Trial, moved: PlanarTransform | None) -> Float[np.ndarray, " n"]:
    """Of the frames that have both positions."""
    both = column.known & trial.recording.known
    estimated = moved(column.values[both]) if moved else column.values[both]
    return position_errors(estimated, trial.recording.truth[both])


def _errors(column: Column, trial: Trial, moved: PlanarTransform | None = None) -> dict[str, Any] | None:
    errors = _frame_errors(column, trial, moved)
    return asdict(ErrorSummary.of(errors)) if len(errors) else None


def _with_interval(column: Column, trial: Trial, moved: PlanarTransform | None) -> dict[str, Any]:
    errors = _frame_errors(column, trial, moved)
    found = interval_of(rmse_of(errors), len(errors))
    return asdict(ErrorSummary.of(errors)) | {"rmse_interval": [found.low, found.high]}


def _heading_errors(trial: Trial, moved: PlanarTransform | None) -> dict[str, Any] | None:
    """Of the pose head, turned as its positions were."""
    headings, truth = trial.table.apr_headings, true_headings(trial.recording.truth, trial.recording.known)
    both = headings.known & ~np.isnan(truth)
    if not both.any():
        return None
    turned = headings.values[both] + (moved.angle if moved else 0.0)
    return asdict(HeadingSummary.of(heading_errors(turned, truth[both])))


def _absolute(trial: Trial, moved: PlanarTransform | None) -> dict[str, Any]:
    reference, estimate = _trajectories(trial, moved)
    return {"poses": len(reference.stamps)} | asdict(PoseErrors.of(absolute_errors(reference, estimate)))


def _relative(trial: Trial, delta: Delta) -> dict[str, Any]:
    """Of the positions as they are: no rigid alignment changes it. Only a count where no two lie so far apart."""
    errors = relative_errors(*_trajectories(trial, None), delta=delta)
    over = {"delta": delta.value, "unit": delta.unit, "all_pairs": delta.all_pairs, "alignment": "none"}
    return over | {"pairs": len(errors)} | (asdict(PoseErrors.of(errors)) if len(errors) else {})


def _trajectories(trial: Trial, moved: PlanarTransform | None) -> tuple[Trajectory, Trajectory]:
    """Truth and estimate at the frames of the trajectory file that have a true position."""
    rows = np.flatnonzero(trial.recording.known & _later(trial.table.stamps))
    stamps, positions = trial.table.stamps[rows], trial.table.positions[rows]
    reference = Trajectory.of_positions(stamps, trial.recording.truth[rows])
    return reference, Trajectory.of_positions(stamps, moved(positions) if moved else positions)


def _later(stamps: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Whether each stamp is later than all before it."""
    latest = np.maximum.accumulate(stamps)
    return np.concatenate([[True], latest[1:] > latest[:-1]])


def _honesty(trial: Trial) -> dict[str, Any]:
    """NEES over all frames with a true position, and by what the filter said of itself."""
    known = trial.recording.known
    errors = trial.table.positions - trial.recording.truth
    statuses, by_status = np.array(trial.table.statuses), {}
    for status in Status:
        rows = known & (statuses == status)
        if rows.any():
            found = consistency(errors[rows], trial.table.covariances[rows])
            by_status[status.value] = {"frames": int(rows.sum())} | asdict(found)
    return asdict(consistency(errors[known], trial.table.covariances[known])) | {"by_status": by_status}


def _jumps(trial: Trial, column: Column, speed: float) -> int | None:
    """Jumps of a track; a frame with an older stamp cannot have moved it, so time is taken not to run back."""
    if not column.known.any():
        return None
    stamps = np.maximum.accumulate(trial.recording.stamps)[column.known]
    return count_jumps(stamps, column.values[column.known], speed)


def _counts(names: Sequence[str]) -> dict[str, int]:
    return {str(name): count for name, count in Counter(names).most_common()}
