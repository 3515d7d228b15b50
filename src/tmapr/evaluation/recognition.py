"""What errors.json says of a sequence's loops: decisions at the threshold, over all thresholds, and the ranking."""

from dataclasses import asdict
from typing import Any

import numpy as np

from tmapr.evaluation.curves import average_precision, best_decision, precision_recall, recall_at_full_precision
from tmapr.evaluation.finished import FinishedRun, Queries, Trial
from tmapr.evaluation.loops import score_loops
from tmapr.evaluation.pairing import f1_of, interval_of
from tmapr.evaluation.ranking import Ranking, by_similarity, recall_at
from tmapr.system import Watch


def recognition(trial: Trial, run: FinishedRun, ranking: Ranking | None, watch: Watch = iter) -> dict[str, Any]:
    """The entry "loops"; `ranking` is the system's own, where its state is the one that made the estimates."""
    memory, threshold = run.environment.memory, run.experiment.gating.min_similarity
    queries = trial.queries(memory)
    ours = recall_at(ranking, trial.recording, queries.opportunity, watch) if ranking else None
    plain = recall_at(by_similarity(memory), trial.recording, queries.opportunity)
    return {**_decisions(queries, threshold), **_curve(queries), "recall_at": ours, "global_recall_at": plain}


def _decisions(queries: Queries, threshold: float) -> dict[str, Any]:
    scores = score_loops(
        queries.similarity,
        found=queries.found,
        correct=queries.correct,
        opportunity=queries.opportunity,
        threshold=threshold,
    )
    f1, frames = f1_of(queries, threshold), len(queries.found)
    found = None if f1(np.arange(frames)) is None else interval_of(f1, frames)
    return asdict(scores) | {"f1_interval": [found.low, found.high] if found else None}


def _curve(queries: Queries) -> dict[str, Any]:
    recall: float | None
    curve = precision_recall(
        queries.similarity, found=queries.found, correct=queries.correct, opportunity=queries.opportunity
    )
    recall, decision_recall = recall_at_full_precision(curve)
    best = best_decision(curve)
    if not queries.opportunity.any():
        recall, best = None, None
    return {
        "average_precision": average_precision(curve),
        "recall_at_full_precision": recall,
        "decision_recall_at_full_precision": decision_recall,
        "best_f1": best.f1 if best else None,
        "best_f1_threshold": best.threshold if best else None,
    }
