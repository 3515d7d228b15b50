"""Precision and recall of loop recognition over all thresholds of the first candidate's similarity.

A threshold accepts the queries whose similarity reaches it, so queries with equal similarities stand or fall together
and a curve has a point for each different similarity, none that lies between two. What is correct and what is an
opportunity is as in `loops`. Where there is nothing to recall, the curve's recall is 0 and the figures of it are None.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class Curve:
    """Decisions at descending thresholds: `recall` over opportunities, `decision_recall` over correct candidates."""

    thresholds: Float[np.ndarray, " n"]
    precision: Float[np.ndarray, " n"]
    recall: Float[np.ndarray, " n"]
    decision_recall: Float[np.ndarray, " n"]


@dataclass(frozen=True, slots=True)
class BestDecision:
    """The threshold with the highest F1. It looks at the truth: what a perfect calibration on this data would find."""

    f1: float
    threshold: float


def precision_recall(
    similarity: Float[np.ndarray, " n"],
    *,
    found: Bool[np.ndarray, " n"],
    correct: Bool[np.ndarray, " n"],
    opportunity: Bool[np.ndarray, " n"],
) -> Curve:
    """The curve of all queries; one without a candidate, not `found`, is never accepted but may be an opportunity."""
    correct = correct & found
    if (correct & ~opportunity).any():
        raise ValueError(f"query {np.argmax(correct & ~opportunity)} has a correct candidate but no opportunity")
    thresholds, accepted, hits = cuts(similarity[found], correct[found])
    return Curve(
        thresholds=thresholds,
        precision=hits / accepted,
        recall=hits / max(opportunity.sum(), 1),
        decision_recall=hits / max(correct.sum(), 1),
    )


def cuts(
    similarity: Float[np.ndarray, " n"], correct: Bool[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " m"], Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Every possible threshold, highest first, how many candidates reach it, and how many of these are correct."""
    order = np.argsort(-similarity, kind="stable")
    ranked = similarity[order]
    last = np.flatnonzero(np.diff(ranked, append=-np.inf))
    return ranked[last], last + 1, np.cumsum(correct[order])[last]


def average_precision(curve: Curve) -> float | None:
    """Precision averaged over the steps of decision recall, without interpolation between them."""
    if not curve.decision_recall.any():
        return None
    return float(np.sum(np.diff(curve.decision_recall, prepend=0.0) * curve.precision))


def recall_at_full_precision(curve: Curve) -> tuple[float, float | None]:
    """The highest recall and decision recall without a single wrong match; 0 where the very first one is wrong."""
    faultless = curve.precision == 1.0
    recall, decision_recall = (each[faultless].max(initial=0.0) for each in (curve.recall, curve.decision_recall))
    return float(recall), float(decision_recall) if curve.decision_recall.any() else None


def best_decision(curve: Curve) -> BestDecision | None:
    """The highest F1 of precision and recall, at the highest threshold that reaches it; None without a candidate."""
    if not len(curve.thresholds):
        return None
    both = curve.precision + curve.recall
    f1 = 2 * curve.precision * curve.recall / np.where(both > 0, both, 1.0)
    at = int(np.argmax(f1))
    return BestDecision(float(f1[at]), float(curve.thresholds[at]))
