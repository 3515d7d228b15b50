"""Loop recognition: is the best candidate of each frame correct, and does a threshold know when it is.

Every test frame is a query. It has an *opportunity* if any allowed reference lies within the radius of it;
its best candidate is *correct* if that one does, so a correct candidate implies an opportunity. It is
*accepted* if the candidate's similarity reaches the threshold, before gates and fusion. A ratio over nothing
is None.
"""

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.documents.runs import LoopScores

RADIUS = 10.0
"""Metres within which a reference shows the query's place."""

# 2¹⁶ distances fill a core's cache: larger chunks only add memory traffic.
_DISTANCES_AT_ONCE = 1 << 16


def score_loops(
    similarity: Float[np.ndarray, " n"],
    *,
    found: Bool[np.ndarray, " n"],
    correct: Bool[np.ndarray, " n"],
    opportunity: Bool[np.ndarray, " n"],
    threshold: float,
) -> LoopScores:
    """Score the decision `similarity >= threshold`; a query without a candidate, not `found`, is a no."""
    correct = correct & found
    _refuse_unfounded(correct, opportunity)
    accepted = found & (similarity >= threshold)
    hits = int((accepted & correct).sum())
    precision = _ratio(hits, int(accepted.sum()))
    recall = _ratio(hits, int(opportunity.sum()))
    return LoopScores(
        precision=precision,
        recall=recall,
        f1=_harmonic_mean(precision, recall),
        decision_recall=_ratio(hits, int(correct.sum())),
        accepted=int(accepted.sum()),
        queries=len(similarity),
    )


def correct_candidates(
    candidate_positions: Float[np.ndarray, "n 2"],
    query_positions: Float[np.ndarray, "n 2"],
    radius: float = RADIUS,
) -> Bool[np.ndarray, " n"]:
    """Whether each query's candidate lies within the radius of it; NaN, no candidate, does not."""
    return _within(candidate_positions - query_positions, radius)


def opportunities(
    query_positions: Float[np.ndarray, "n 2"],
    reference_positions: Float[np.ndarray, "refs 2"],
    radius: float = RADIUS,
) -> Bool[np.ndarray, " n"]:
    """Whether any reference lies within the radius of each query. Time is O(n·refs), memory bounded."""
    # A tree would be faster, but it rounds the comparison with the radius differently from
    # `correct_candidates`, and a candidate exactly on the radius would be correct without an opportunity.
    rows = max(1, _DISTANCES_AT_ONCE // max(1, len(reference_positions)))
    seen = np.zeros(len(query_positions), dtype=bool)
    for start in range(0, len(query_positions), rows):
        chunk = slice(start, start + rows)
        seen[chunk] = _within(query_positions[chunk, None] - reference_positions, radius).any(axis=1)
    return seen


def _within(difference: Float[np.ndarray, "*shape 2"], radius: float) -> Bool[np.ndarray, "*shape"]:
    x, y = difference[..., 0], difference[..., 1]
    inside: Bool[np.ndarray, "*shape"] = x * x + y * y <= radius * radius
    return inside


def _refuse_unfounded(correct: Bool[np.ndarray, " n"], opportunity: Bool[np.ndarray, " n"]) -> None:
    unfounded = np.flatnonzero(correct & ~opportunity)
    if len(unfounded):
        raise ValueError(
            f"query {unfounded[0]} has a correct candidate but no opportunity ({len(unfounded)} such);"
            " both must use one radius"
        )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _harmonic_mean(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    if precision + recall == 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)
