"""Loop scores against scikit-learn, opportunities against SciPy's tree."""

import numpy as np
import pytest
from scipy.spatial import KDTree
from sklearn.metrics import f1_score, precision_score, recall_score

from tmapr.artifacts.documents.runs import LoopScores
from tmapr.evaluation.loops import RADIUS, correct_candidates, opportunities, score_loops

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


def test_a_similarity_on_the_threshold_is_accepted():
    yes = np.array([True])
    scores = score_loops(np.array([0.6]), found=yes, correct=yes, opportunity=yes, threshold=0.6)
    assert scores == LoopScores(precision=1.0, recall=1.0, f1=1.0, decision_recall=1.0, accepted=1, queries=1)


def test_a_query_without_a_candidate_counts_as_a_missed_opportunity():
    yes = np.array([True, True])
    scores = score_loops(
        np.array([0.9, np.nan]), found=np.array([True, False]), correct=yes, opportunity=yes, threshold=0.5
    )
    assert scores == LoopScores(precision=1.0, recall=0.5, f1=2 / 3, decision_recall=1.0, accepted=1, queries=2)


@pytest.mark.parametrize(
    ("similarity", "correct", "opportunity", "expected"),
    [
        ([], [], [], LoopScores(precision=None, recall=None, f1=None, decision_recall=None, accepted=0, queries=0)),
        (
            [0.1],
            [True],
            [True],
            LoopScores(precision=None, recall=0.0, f1=None, decision_recall=0.0, accepted=0, queries=1),
        ),
        (
            [0.9],
            [False],
            [False],
            LoopScores(precision=0.0, recall=None, f1=None, decision_recall=None, accepted=1, queries=1),
        ),
        (
            [0.9],
            [False],
            [True],
            LoopScores(precision=0.0, recall=0.0, f1=0.0, decision_recall=None, accepted=1, queries=1),
        ),
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
        score_loops(np.ones(2), found=correct, correct=correct, opportunity=opportunity, threshold=0.5)


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
