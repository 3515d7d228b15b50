"""The log-odds of one candidate, by hand."""

from math import inf, log

import numpy as np
import pytest

from tmapr.gating import Odds, Quality
from tmapr.types import Candidate

ODDS = Odds(
    bias=1.0,
    similarity=Quality(centre=0.7, weight=10.0),
    familiarity=Quality(centre=log(100.0), weight=2.0),
    margin=Quality(centre=log(2.0), weight=3.0),
)


def candidate(similarity=0.7, margin=1.0):
    return Candidate(0, np.zeros(2), 0, similarity, 0.0, 1.0, margin)


@pytest.mark.parametrize(
    ("given", "leverage", "expected"),
    [
        (candidate(), 0.01, 1.0),
        (candidate(similarity=0.8), 0.01, 2.0),
        (candidate(), 0.1, 1.0 - 2 * log(10.0)),
        (candidate(), None, 1.0),
        (candidate(margin=3.0), 0.01, 1.0 + 3 * log(2.0)),
        (candidate(margin=-5.0), 0.01, 1.0 - 3 * log(2.0)),
    ],
)
def test_the_terms_add_up(given, leverage, expected):
    assert ODDS.of(given, leverage) == pytest.approx(expected, abs=1e-12)


def test_extremes_stay_finite():
    assert np.isfinite(ODDS.of(candidate(margin=inf), 0.0))
