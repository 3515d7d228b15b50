"""Precision, recall and what is made of them against scikit-learn and a count in plain loops."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve

from tmapr.evaluation.curves import (
    BestDecision,
    average_precision,
    best_decision,
    precision_recall,
    recall_at_full_precision,
)
from tmapr.evaluation.loops import RADIUS, correct_candidates, opportunities, score_loops


@pytest.fixture(params=[2, 12], ids=["many ties", "no ties"])
def queries(request):
    """Queries of which some have no candidate and some of these an opportunity."""
    rng = np.random.default_rng(0)
    opportunity = rng.random(200) < 0.7
    found = rng.random(200) < 0.9
    correct = opportunity & found & (rng.random(200) < 0.7)
    similarity = np.round(0.3 * correct + 0.7 * rng.random(200), request.param)
    similarity[~found] = np.nan
    return similarity, {"found": found, "correct": correct, "opportunity": opportunity}


def only(found, *arrays):
    return [array[found] for array in arrays]


def test_the_points_are_those_of_scikit_learn(queries):
    similarity, given = queries
    curve = precision_recall(similarity, **given)
    correct, scores = only(given["found"], given["correct"], similarity)
    precision, recall, thresholds = precision_recall_curve(correct, scores)
    np.testing.assert_array_equal(curve.thresholds, thresholds[::-1])
    np.testing.assert_allclose(curve.precision, precision[-2::-1], rtol=1e-15)
    np.testing.assert_allclose(curve.decision_recall, recall[-2::-1], rtol=1e-15)


def test_average_precision_is_that_of_scikit_learn(queries):
    similarity, given = queries
    correct, scores = only(given["found"], given["correct"], similarity)
    expected = average_precision_score(correct, scores)
    assert average_precision(precision_recall(similarity, **given)) == pytest.approx(expected, rel=1e-12)


def test_at_its_thresholds_a_curve_says_what_the_decision_there_scores(queries):
    similarity, given = queries
    curve = precision_recall(similarity, **given)
    for row in range(0, len(curve.thresholds), 7):
        scores = score_loops(similarity, **given, threshold=float(curve.thresholds[row]))
        assert (curve.precision[row], curve.recall[row]) == (scores.precision, scores.recall)
        assert curve.decision_recall[row] == scores.decision_recall


def test_recall_over_opportunities_is_a_count_in_plain_loops():
    rng = np.random.default_rng(3)
    angle = np.linspace(0, 1.6 * 2 * np.pi, 400)  # a lap of 250 frames, and some of a second one
    track = np.column_stack([80 * np.cos(angle), 80 * np.sin(angle)])
    mapped = track[:180:3]  # three quarters of the first lap
    picks = [int(rng.integers(0, 60)) if rng.random() < 0.4 else min(i % 250 // 3, 59) for i in range(400)]
    similarity = np.round(rng.random(400), 2)
    curve = precision_recall(
        similarity,
        found=np.ones(400, dtype=bool),
        correct=correct_candidates(mapped[picks], track),
        opportunity=opportunities(track, mapped),
    )
    possible = 0
    for i in range(400):
        near = False
        for j in range(60):
            if np.hypot(*(track[i] - mapped[j])) <= RADIUS:
                near = True
        possible += near
    assert 0 < possible < 400
    for threshold, recall in zip(curve.thresholds, curve.recall, strict=True):
        hits = 0
        for i in range(400):
            if similarity[i] >= threshold and np.hypot(*(track[i] - mapped[picks[i]])) <= RADIUS:
                hits += 1
        assert recall == hits / possible


def curve_of(similarity, correct, opportunity=None):
    correct = np.array(correct, dtype=bool)
    seen = correct if opportunity is None else np.array(opportunity, dtype=bool)
    return precision_recall(
        np.array(similarity, dtype=float), found=np.ones(len(correct), dtype=bool), correct=correct, opportunity=seen
    )


def test_recall_at_full_precision_counts_what_stands_above_the_first_wrong_match():
    curve = curve_of([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1], [1, 1, 1, 1])
    assert recall_at_full_precision(curve) == (2 / 4, 2 / 3)


def test_equal_similarities_stand_or_fall_together():
    curve = curve_of([0.9, 0.8, 0.8, 0.8], [1, 1, 0, 1])
    assert curve.thresholds.tolist() == [0.9, 0.8]
    assert curve.precision.tolist() == [1.0, 3 / 4]
    assert recall_at_full_precision(curve) == (1 / 3, 1 / 3)


def test_where_the_most_similar_match_is_wrong_there_is_no_recall_without_faults():
    assert recall_at_full_precision(curve_of([0.9, 0.8], [0, 1])) == (0.0, 0.0)


def test_the_best_f1_is_the_highest_of_scikit_learn_over_all_thresholds(queries):
    similarity, given = queries
    # With every opportunity correct, F1 over opportunities is that of a classifier of queries.
    given["correct"] = given["opportunity"] = given["opportunity"] & given["found"]
    truth, scores = given["opportunity"], np.where(given["found"], similarity, -np.inf)
    expected = {float(at): f1_score(truth, scores >= at) for at in np.unique(similarity[given["found"]])}
    best = best_decision(precision_recall(similarity, **given))
    assert best.f1 == pytest.approx(max(expected.values()))
    assert expected[best.threshold] == max(expected.values())


def test_of_several_best_thresholds_the_highest_is_given():
    # 2·1/(1 + 3) = 2·2/(5 + 3): half of both at the first threshold and at the last.
    curve = curve_of([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 0, 0, 1], [1, 1, 0, 0, 1])
    assert best_decision(curve) == BestDecision(0.5, 0.9)


def test_without_a_correct_candidate_nothing_can_be_averaged():
    curve = curve_of([0.9, 0.8], [0, 0], [1, 0])
    assert average_precision(curve) is None
    assert recall_at_full_precision(curve) == (0.0, None)
    assert best_decision(curve) == BestDecision(0.0, 0.9)


def test_without_a_candidate_there_is_no_point():
    no = np.zeros(3, dtype=bool)
    curve = precision_recall(np.full(3, np.nan), found=no, correct=no, opportunity=~no)
    assert len(curve.thresholds) == 0
    assert average_precision(curve) is None
    assert recall_at_full_precision(curve) == (0.0, None)
    assert best_decision(curve) is None


def test_a_correct_candidate_without_an_opportunity_is_refused():
    with pytest.raises(ValueError, match="query 1 has a correct candidate but no opportunity"):
        curve_of([0.9, 0.8], [1, 1], [1, 0])
