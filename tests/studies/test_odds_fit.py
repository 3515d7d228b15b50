"""The odds learned from candidates, against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tmapr.studies.odds import fit_logistic, fit_odds, log_odds
from tmapr.studies.scoring import Evidence
from tmapr.types import Candidate

RNG = np.random.default_rng(12)


def drawn(n, right_share, apart):
    right = RNG.random(n) < right_share
    return Evidence(
        similarity=0.6 + 0.1 * RNG.normal(size=n) + apart * 0.1 * right,
        leverage=np.exp(-3.0 + RNG.normal(size=n) - apart * right),
        margin=np.abs(RNG.normal(size=n)) * (1 + apart * right),
        right=right,
        opportunities=n,
    )


@pytest.mark.parametrize(("right_share", "apart"), [(0.5, 1.0), (0.9, 0.5), (0.05, 2.0), (0.8, 30.0)])
def test_it_is_the_balanced_ridge_regression(right_share, apart):
    evidence = drawn(400, right_share, apart)
    values = np.column_stack([evidence.similarity * 10, np.log(evidence.leverage), evidence.margin])
    oracle = LogisticRegression(C=1.0, class_weight="balanced", tol=1e-10, max_iter=10_000).fit(values, evidence.right)
    bias, weights = fit_logistic(values, evidence.right)
    np.testing.assert_allclose([bias, *weights], [*oracle.intercept_, *oracle.coef_[0]], rtol=1e-4, atol=1e-5)


def test_the_odds_of_all_are_those_of_each():
    evidence = drawn(50, 0.7, 1.0)
    odds = fit_odds(evidence)
    each = [
        odds.of(Candidate(0, np.zeros(2), 0, similarity, 0.0, 1.0, margin), leverage)
        for similarity, margin, leverage in zip(
            evidence.similarity.tolist(), evidence.margin.tolist(), evidence.leverage.tolist(), strict=True
        )
    ]
    np.testing.assert_allclose(log_odds(odds, evidence), each, rtol=1e-12, atol=1e-12)


def test_odds_are_honest_on_candidates_they_have_not_seen():
    """Among candidates of log-odds around one, so many are right, at even odds beforehand."""
    odds = fit_odds(drawn(20_000, 0.5, 1.0))
    fresh = drawn(20_000, 0.5, 1.0)
    told = log_odds(odds, fresh)
    for low, high in ((-2.0, -1.0), (-0.5, 0.5), (1.0, 2.0)):
        among = (told > low) & (told < high)
        assert fresh.right[among].mean() == pytest.approx((1 / (1 + np.exp(-told[among]))).mean(), abs=0.04)


def test_a_quality_that_never_varies_says_nothing():
    evidence = drawn(100, 0.5, 1.0)
    constant = Evidence(evidence.similarity, np.zeros(100), evidence.margin, evidence.right, evidence.opportunities)
    assert fit_odds(constant).familiarity.weight == 0.0
