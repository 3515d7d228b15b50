"""From a trial and what its ranking recalls to a sequence's entry in errors.json."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.documents.decisions import Decisions
from tmapr.artifacts.documents.runs import (
    AbsoluteErrors,
    Detours,
    ErrorSummary,
    FusedErrors,
    HeadingSummary,
    Interval95,
    Jumps,
    LoopFigures,
    RelativeErrors,
    RunConsistency,
    SequenceErrors,
    SequenceTimings,
    StatusConsistency,
)
from tmapr.artifacts.trajectory import Column
from tmapr.clock import place_all
from tmapr.evaluation.alignment import PlanarTransform
from tmapr.evaluation.bootstrap import Statistic, draw_frames, f1_of, interval, rmse_of
from tmapr.evaluation.curves import average_precision, best_decision, precision_recall, recall_at_full_precision
from tmapr.evaluation.decisions import Judged, Mapped, judge_decisions
from tmapr.evaluation.errors import (
    count_jumps,
    heading_errors,
    measure_consistency,
    position_errors,
    summarize_errors,
    summarize_headings,
    summarize_innovations,
    true_headings,
)
from tmapr.evaluation.loops import score_loops
from tmapr.evaluation.off_map import find_detours
from tmapr.evaluation.pose_errors import Delta, relative_errors, summarize_poses
from tmapr.evaluation.trial import Queries, Trial
from tmapr.types import Status, Verdict

Fit = Callable[[Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2"]], PlanarTransform]
"""Brings a whole trajectory nearest to the truth."""

Recalls = dict[str, float | None]
"""Shares of opportunities by how many references are looked at."""

_DELTAS = (Delta(1, "frames"), Delta(10.0, "metres"))
"""What relative errors are taken over: evo's default, where jumps show, and a stretch of road."""


def assess(
    trial: Trial, timings: SequenceTimings, ours: Recalls | None, plain: Recalls | None, fit: Fit | None = None
) -> SequenceErrors:
    """Every figure of a sequence; with a `fit`, after fitting each trajectory. `ours` and `plain` are of rankings."""
    table, fused = trial.table, trial.fused
    apr_fit, fused_fit = (fit_column(column, trial, fit) for column in (table.apr_positions, fused))
    return SequenceErrors(
        frames=len(trial.recording),
        apr=_summarize(table.apr_positions, trial, apr_fit),
        retrieval=_summarize(table.first.positions, trial),
        fused=_summarize_fused(fused, trial, fused_fit),
        heading=_summarize_heading(trial, apr_fit),
        ape=_absolute(trial, fused_fit, "planar" if fit else "none"),
        rpe=tuple(_relative(trial, delta) for delta in _DELTAS),
        reasons=_count(table.reasons),
        status=_count(table.statuses),
        nees=_consistency(trial),
        nis=summarize_innovations(table.nis.values[table.nis.known]) if table.nis.known.any() else None,
        jumps=Jumps(apr=_jumps(trial, table.apr_positions), fused=_jumps(trial, fused)),
        constrained=_average(table.constrained),
        off_map=_off_map(trial),
        decisions=_decide(trial),
        loops=score_recognition(trial.queries, trial.threshold, ours, plain),
        **dict(timings),
    )


def score_recognition(
    queries: Queries, threshold: float, ours: Recalls | None = None, plain: Recalls | None = None
) -> LoopFigures:
    """Loops: decisions at the threshold, over all thresholds, and the rankings' recalls."""
    given = {"found": queries.found, "correct": queries.correct, "opportunity": queries.opportunity}
    scores = score_loops(queries.similarity, **given, threshold=threshold)
    curve = precision_recall(queries.similarity, **given)
    f1, frames = f1_of(queries, threshold), len(queries.found)
    recall, decision_recall = recall_at_full_precision(curve)
    possible = bool(queries.opportunity.any())
    best = best_decision(curve) if possible else None
    return LoopFigures(
        **dict(scores),
        f1_interval=None if f1(np.arange(frames)) is None else _interval(f1, frames),
        average_precision=average_precision(curve),
        recall_at_full_precision=recall if possible else None,
        decision_recall_at_full_precision=decision_recall,
        best_f1=best.f1 if best else None,
        best_f1_threshold=best.threshold if best else None,
        recall_at=ours,
        global_recall_at=plain,
    )


def _off_map(trial: Trial) -> Detours | None:
    known, table = trial.recording.known, trial.table
    return find_detours(
        trial.recording.truth[known],
        table.positions[known],
        localized=trial.localized[known],
        accepted=np.array([Verdict(reason).accepted for reason in table.reasons])[known],
        mapped=trial.memory.positions,
    )


def _decide(trial: Trial) -> Decisions:
    known, table, memory = trial.recording.known, trial.table, trial.memory
    judged = Judged(
        truth=trial.recording.truth[known],
        estimated=table.positions[known],
        covariances=table.covariances[known],
        localized=trial.localized[known],
        first=table.first.positions.values[known],
    )
    return judge_decisions(judged, Mapped(memory.positions[memory.order]))


def fit_column(column: Column, trial: Trial, fit: Fit | None) -> PlanarTransform | None:
    """What brings a track nearest to the truth, if that is asked for."""
    both = column.known & trial.recording.known
    return fit(column.values[both], trial.recording.truth[both]) if fit and both.any() else None


def frame_errors(column: Column, trial: Trial, moved: PlanarTransform | None) -> Float[np.ndarray, " n"]:
    """Of the frames that have both positions."""
    both = column.known & trial.recording.known
    estimated = moved(column.values[both]) if moved else column.values[both]
    return position_errors(estimated, trial.recording.truth[both])


def _summarize(column: Column, trial: Trial, moved: PlanarTransform | None = None) -> ErrorSummary | None:
    errors = frame_errors(column, trial, moved)
    return summarize_errors(errors) if len(errors) else None


def _summarize_fused(column: Column, trial: Trial, moved: PlanarTransform | None) -> FusedErrors:
    errors = frame_errors(column, trial, moved)
    return FusedErrors(**dict(summarize_errors(errors)), rmse_interval=_interval(rmse_of(errors), len(errors)))


def _interval(statistic: Statistic, frames: int) -> Interval95:
    found = interval(statistic, draw_frames(frames))
    return found.low, found.high


def _summarize_heading(trial: Trial, moved: PlanarTransform | None) -> HeadingSummary | None:
    """Of the pose head, turned as its positions were."""
    headings, truth = trial.table.apr_headings, true_headings(trial.recording.truth, trial.recording.known)
    both = headings.known & ~np.isnan(truth)
    if not both.any():
        return None
    turned = headings.values[both] + (moved.angle if moved else 0.0)
    return summarize_headings(heading_errors(turned, truth[both]))


def _absolute(trial: Trial, moved: PlanarTransform | None, alignment: str) -> AbsoluteErrors:
    truth, estimate = _trajectories(trial)
    errors = position_errors(moved(estimate) if moved else estimate, truth)
    return AbsoluteErrors(**dict(summarize_poses(errors)), alignment=alignment, poses=len(errors))


def _relative(trial: Trial, delta: Delta) -> RelativeErrors:
    errors = relative_errors(*_trajectories(trial), delta)
    statistics = dict(summarize_poses(errors)) if len(errors) else {}
    return RelativeErrors(
        delta=delta.value, unit=delta.unit, all_pairs=False, alignment="none", pairs=len(errors), **statistics
    )


def _trajectories(trial: Trial) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2"]]:
    """Truth and estimate at the frames of the trajectory file that have a true position."""
    rows = np.flatnonzero(trial.recording.known & _later(trial.table.stamps))
    return trial.recording.truth[rows], trial.table.positions[rows]


def _later(stamps: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Whether each stamp is later than all before it."""
    latest = np.maximum.accumulate(stamps)
    return np.concatenate([[True], latest[1:] > latest[:-1]])


def _consistency(trial: Trial) -> RunConsistency:
    """NEES over all frames with a true position, and by what the filter said of itself."""
    known, covariances = trial.recording.known, trial.table.covariances
    errors = trial.table.positions - trial.recording.truth
    statuses, by_status = np.array(trial.table.statuses), {}
    for status in Status:
        rows = known & (statuses == status)
        if rows.any():
            found = measure_consistency(errors[rows], covariances[rows])
            by_status[status.value] = StatusConsistency(**dict(found), frames=int(rows.sum()))
    return RunConsistency(**dict(measure_consistency(errors[known], covariances[known])), by_status=by_status)


def _jumps(trial: Trial, column: Column) -> int | None:
    """Jumps of a track; a frame with an older stamp cannot have moved it, so time is taken not to run back."""
    if not column.known.any():
        return None
    stamps = place_all(trial.recording.stamps)[column.known]
    return count_jumps(stamps, column.values[column.known], trial.mapped_speed)


def _average(column: Column) -> float | None:
    return float(column.values[column.known].mean()) if column.known.any() else None


def _count(names: Sequence[str]) -> dict[str, int]:
    return {str(name): count for name, count in Counter(names).most_common()}
