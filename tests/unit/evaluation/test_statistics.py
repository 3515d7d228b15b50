"""What is drawn again and again: statistics of drawn frames, and the interval that resampling gives them."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from tmapr.evaluation.bootstrap import block_resamples, draw_frames, f1_of, interval, mean_of, rmse_of
from tmapr.evaluation.trial import Queries


def interval_of(statistic, frames):
    return interval(statistic, draw_frames(frames))


@pytest.fixture
def queries(rng):
    opportunity = rng.random(300) < 0.8
    correct = opportunity & (rng.random(300) < 0.7)
    similarity = 0.4 * correct + 0.7 * rng.random(300)
    return Queries(similarity, correct | (rng.random(300) < 0.8), correct, opportunity)


def test_f1_of_drawn_frames_is_that_of_scikit_learn_where_every_opportunity_is_correct(queries, rng):
    sure = Queries(queries.similarity, np.ones(300, dtype=bool), queries.opportunity, queries.opportunity)
    drawn = rng.integers(0, 300, size=300)
    expected = f1_score(queries.opportunity[drawn], queries.similarity[drawn] >= 0.6)
    assert f1_of(sure, 0.6)(drawn) == pytest.approx(expected)


@pytest.mark.parametrize(("similarity", "opportunity"), [([0.1, 0.2], [True, True]), ([0.9, 0.9], [False, False])])
def test_f1_without_an_accepted_query_or_an_opportunity_is_none(similarity, opportunity):
    yes, no = np.ones(2, dtype=bool), np.zeros(2, dtype=bool)
    assert f1_of(Queries(np.array(similarity), yes, no, np.array(opportunity)), 0.5)(np.arange(2)) is None


def test_rmse_and_mean_are_those_of_the_drawn_frames():
    errors, drawn = np.array([3.0, 4.0, 100.0]), np.array([0, 1, 1, 0])
    assert rmse_of(errors)(drawn) == np.sqrt((9 + 16) / 2)
    assert mean_of(errors)(drawn) == 3.5


def test_an_interval_holds_the_middle_95_percent_of_the_resampled_figures(rng):
    errors = rng.exponential(size=400)
    drawn = block_resamples(400, 50, 1000, np.random.default_rng(0))
    low, high = np.quantile(np.sqrt((errors**2)[drawn].mean(axis=1)), [0.025, 0.975])
    found = interval_of(rmse_of(errors), 400)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_errors_that_come_in_stretches_have_a_wider_interval_than_the_same_ones_scattered(rng):
    stretches = np.repeat(rng.exponential(size=20), 20)
    found = [interval_of(mean_of(errors), 400) for errors in (stretches, rng.permutation(stretches))]
    assert found[0].high - found[0].low > 1.5 * (found[1].high - found[1].low)


@pytest.mark.parametrize("frames", [1, 3, 7])
def test_a_few_frames_are_enough_for_an_interval(frames):
    found = interval_of(mean_of(np.arange(frames, dtype=float)), frames)
    assert 0 <= found.low <= (frames - 1) / 2 <= found.high <= frames - 1
    assert found.low < found.high or frames == 1


def test_a_long_sequence_is_drawn_less_often_and_not_from_fewer_frames():
    seen = []
    interval_of(lambda frames: float(seen.append(len(frames)) or 0.0), 200_000)
    assert set(seen) == {200_000}
    assert len(seen) == (1 << 24) // 200_000
