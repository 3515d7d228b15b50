"""The few figures that tell whether learning helped: of a drive, or of its beginning, middle and end."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.documents.streams import StreamedFigures, StretchFigures
from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.assessment import Fit, fit_column, frame_errors
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.loops import correct_candidates, opportunities, score_loops
from tmapr.evaluation.trial import Queries, Trial
from tmapr.retrieval.memory import Memory
from tmapr.types import Estimate


def measure_stream(trial: Trial, fit: Fit | None = None) -> StreamedFigures:
    """A sequence as it went while it was learned; with a `fit`, after fitting its whole trajectory."""
    known, threshold = trial.recording.known, trial.threshold
    errors = frame_errors(trial.fused, trial, fit_column(trial.fused, trial, fit))
    parts = np.array_split(np.arange(len(known)), 3)
    first, middle, last = (_measure(trial.queries, errors, threshold, np.isin(np.flatnonzero(known), p)) for p in parts)
    whole = _measure(trial.queries, errors, threshold, np.ones(len(errors), dtype=bool))
    return StreamedFigures(whole=whole, thirds=(first, middle, last))


def measure_answers(
    estimates: Sequence[Estimate], recording: Recording, memory: Memory, threshold: float
) -> StretchFigures:
    """A whole drive by what was just answered; no file of it is needed."""
    known: Bool[np.ndarray, " frames"] = recording.known
    truth: Float[np.ndarray, "n 2"] = recording.truth[known]
    firsts = [each.recognition.first if each.recognition else None for each in estimates]
    positions = np.array([np.full(2, np.nan) if first is None else first.position for first in firsts]).reshape(-1, 2)
    similarity = np.array([np.nan if first is None else first.similarity for first in firsts], dtype=float)
    queries = Queries(
        similarity=similarity[known],
        found=np.array([first is not None for first in firsts], dtype=bool)[known],
        correct=correct_candidates(positions[known], truth),
        opportunity=opportunities(truth, memory.positions),
    )
    fused = np.array([each.position for each in estimates]).reshape(-1, 2)
    return _measure(queries, position_errors(fused[known], truth), threshold, np.ones(len(truth), dtype=bool))


def _measure(
    queries: Queries, errors: Float[np.ndarray, " n"], threshold: float, rows: Bool[np.ndarray, " n"]
) -> StretchFigures:
    """Of some of the frames with a true position."""
    part = Queries(queries.similarity[rows], queries.found[rows], queries.correct[rows], queries.opportunity[rows])
    scores = score_loops(
        part.similarity, found=part.found, correct=part.correct, opportunity=part.opportunity, threshold=threshold
    )
    return StretchFigures(
        frames=int(rows.sum()),
        recall_at_1=part.recall_at_1,
        precision=scores.precision,
        recall=scores.recall,
        f1=scores.f1,
        rmse=float(np.sqrt(np.mean(errors[rows] ** 2))) if rows.any() else None,
    )
