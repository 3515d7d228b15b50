"""Loop scores against scikit-learn, opportunities against SciPy's tree and a plain double loop."""

import numpy as np
import pytest
from scipy.spatial import KDTree
from sklearn.metrics import f1_score, precision_score, recall_score

from tmapr.evaluation.loops import (
    RADIUS,
    SEPARATION,
    LoopScores,
    correct_candidates,
    opportunities,
    recall_at_one,
    score_loops,
)

THRESHOLD = 0.6


@pytest.fixture
def queries():
    rng = np.random.default_rng(0)
    opportunity = rng.random(400) < 0.7
    correct = opportunity & (rng.random(400) < 0.6)
    return {
        "similarity": np.clip(0.4 * correct + 0.7 * rng.random(400), 0, 1),
        "found": correct | (rng.random(400) < 0.8),
        "correct": correct,
        "opportunity": opportunity,
        "threshold": THRESHOLD,
    }


def accepted(queries):
    return queries["found"] & (queries["similarity"] >= THRESHOLD)


def test_precision_is_that_of_scikit_learn_over_all_queries(queries):
    assert score_loops(**queries).precision == precision_score(queries["correct"], accepted(queries))


def test_decision_recall_is_scikit_learns_recall_of_correct_candidates(queries):
    assert score_loops(**queries).decision_recall == recall_score(queries["correct"], accepted(queries))


def test_recall_is_scikit_learns_over_the_opportunities(queries):
    at = queries["opportunity"]
    hits = accepted(queries) & queries["correct"]
    assert score_loops(**queries).recall == recall_score(np.ones(at.sum(), dtype=bool), hits[at])


def test_f1_equals_scikit_learns_where_the_best_candidate_is_always_correct(queries):
    truth = queries["opportunity"]
    queries |= {"correct": truth, "found": np.ones_like(truth)}
    assert score_loops(**queries).f1 == pytest.approx(f1_score(truth, queries["similarity"] >= THRESHOLD))


def test_f1_is_the_harmonic_mean_of_precision_and_recall(queries):
    scores = score_loops(**queries)
    assert scores.f1 == pytest.approx(2 / (1 / scores.precision + 1 / scores.recall))


def test_a_similarity_on_the_threshold_is_accepted():
    yes = np.array([True])
    scores = score_loops(np.array([0.6]), found=yes, correct=yes, opportunity=yes, threshold=0.6)
    assert scores == LoopScores(1.0, 1.0, 1.0, 1.0, accepted=1, queries=1)


def test_a_query_without_a_candidate_counts_as_a_missed_opportunity():
    yes = np.array([True, True])
    scores = score_loops(
        np.array([0.9, np.nan]), found=np.array([True, False]), correct=yes, opportunity=yes, threshold=0.5
    )
    assert scores == LoopScores(1.0, 0.5, 2 / 3, 1.0, accepted=1, queries=2)


@pytest.mark.parametrize(
    ("similarity", "correct", "opportunity", "expected"),
    [
        ([], [], [], LoopScores(None, None, None, None, 0, 0)),
        ([0.1], [True], [True], LoopScores(None, 0.0, None, 0.0, 0, 1)),
        ([0.9], [False], [False], LoopScores(0.0, None, None, None, 1, 1)),
        ([0.9], [False], [True], LoopScores(0.0, 0.0, 0.0, None, 1, 1)),
    ],
)
def test_a_ratio_over_nothing_is_none(similarity, correct, opportunity, expected):
    scores = score_loops(
        np.array(similarity, dtype=np.float64),
        found=np.ones(len(similarity), dtype=bool),
        correct=np.array(correct, dtype=bool),
        opportunity=np.array(opportunity, dtype=bool),
        threshold=THRESHOLD,
    )
    assert scores == expected


def test_a_correct_candidate_without_an_opportunity_is_refused():
    correct, opportunity = np.array([True, True]), np.array([True, False])
    with pytest.raises(ValueError, match="query 1 has a correct candidate but no opportunity"):
        recall_at_one(correct, opportunity)


def test_recall_at_one_is_the_recall_when_everything_is_accepted(queries):
    everything = queries | {"threshold": -1.0, "found": np.ones(400, dtype=bool)}
    assert recall_at_one(queries["correct"], queries["opportunity"]) == score_loops(**everything).recall


def test_recall_at_one_without_opportunities_is_none():
    assert recall_at_one(np.array([False]), np.array([False])) is None


def test_a_candidate_on_the_radius_is_correct_and_none_is_not():
    candidates = np.array([[6.0, 8.0], [6.0, 8.0 + 1e-9], [np.nan, np.nan]])
    assert correct_candidates(candidates, np.zeros((3, 2)), RADIUS).tolist() == [True, False, False]


def test_opportunities_are_those_of_a_tree():
    rng = np.random.default_rng(1)
    queries, references = rng.uniform(0, 300, (500, 2)), rng.uniform(0, 300, (400, 2))
    nearest, _ = KDTree(references).query(queries)
    found = opportunities(queries, references)
    assert 0 < found.sum() < 500
    np.testing.assert_array_equal(found, nearest <= RADIUS)


@pytest.mark.parametrize("excluded", [None, 1, 2, SEPARATION])
def test_opportunities_within_a_sequence_are_those_of_a_double_loop(excluded):
    # A lap of 300 frames and a bit more than a second one, beside the first on half of its way.
    angle = np.linspace(0, 2.3 * 2 * np.pi, 690)
    radius = 100 + np.where(angle > 3 * np.pi, 30.0, 0.0)
    track = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    near = np.linalg.norm(track[:, None] - track, axis=2) <= RADIUS
    frames = np.arange(len(track))
    allowed = np.abs(frames[:, None] - frames) >= (excluded or 0)
    np.testing.assert_array_equal(opportunities(track, track, excluded=excluded), (near & allowed).any(axis=1))


def test_the_first_reference_outside_the_exclusion_counts():
    here = np.zeros((3, 2))
    assert opportunities(here, here, excluded=2).tolist() == [True, False, True]


def test_a_correct_candidate_always_has_an_opportunity_even_on_the_radius():
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, 2000)
    queries = rng.uniform(-1000, 1000, (2000, 2))
    candidates = queries + RADIUS * np.column_stack([np.cos(angle), np.sin(angle)])
    correct = correct_candidates(candidates, queries)
    assert 0 < correct.sum() < 2000
    seen = [bool(opportunities(query[None], at[None])[0]) for query, at in zip(queries, candidates, strict=True)]
    np.testing.assert_array_equal(seen, correct)


def test_without_references_there_is_no_opportunity():
    assert not opportunities(np.zeros((3, 2)), np.zeros((0, 2))).any()


def test_an_exclusion_needs_the_sequence_itself_as_reference():
    with pytest.raises(ValueError, match="got 3 and 2"):
        opportunities(np.zeros((3, 2)), np.zeros((2, 2)), excluded=SEPARATION)
