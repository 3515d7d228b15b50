"""The block bootstrap against SciPy's ordinary one, and against the truth for a series that remembers."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import bootstrap

from tmapr.evaluation.bootstrap import Interval, block_resamples, interval, paired_difference


def mean_of(values):
    return lambda frames: float(values[frames].mean())


def test_blocks_of_one_give_scipys_percentile_interval(rng):
    values = rng.gamma(2.0, size=120)
    ours = interval(mean_of(values), block_resamples(120, 1, 4000, rng))
    theirs = bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", vectorized=True, rng=rng
    ).confidence_interval
    # An end of the interval has a standard error of σ√(.025·.975/4000)/φ(1.96) = .042 σ; four of the
    # difference between two such ends, with σ a quarter of the width.
    tolerance = 4 * np.sqrt(2) * 0.042 * (theirs.high - theirs.low) / 4
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=tolerance)


def test_blocks_cover_a_series_that_remembers_better_than_single_frames(rng):
    noise = rng.normal(size=(100, 200))
    series = lfilter([1.0], [1.0, -0.8], noise, axis=1)

    def coverage(block):
        found = [interval(mean_of(values), block_resamples(200, block, 150, rng)) for values in series]
        return np.mean([not one.excludes(0.0) for one in found])

    single, blocked = coverage(1), coverage(20)
    # Single frames see a third of the standard error, √((1 − .8)/(1 + .8)): P(|z| < 1.96/3) = .49.
    # Both coverages have a standard error of .05, their difference one of .07 at most.
    assert single < 0.65
    assert blocked > single + 0.2


@pytest.mark.parametrize(("count", "block"), [(12, 4), (10, 4), (5, 5), (7, 1)])
def test_resamples_are_runs_of_consecutive_frames(count, block, rng):
    resamples = block_resamples(count, block, 50, rng)
    assert resamples.shape == (50, count)
    assert resamples.min() >= 0
    assert resamples.max() < count
    steps = np.diff(resamples, axis=1)
    inside = np.arange(1, count) % block != 0
    assert (steps[:, inside] == 1).all()


def test_the_same_seed_gives_the_same_resamples():
    first, second = (block_resamples(30, 5, 10, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 0, 5), "block must lie between 1 and the 10 frames, got 0"),
        ((10, 11, 5), "got 11"),
        ((0, 1, 5), "the 0 frames"),
        ((10, 2, 0), "resamples must be positive, got 0"),
    ],
)
def test_impossible_resamples_are_refused(arguments, message, rng):
    with pytest.raises(ValueError, match=message):
        block_resamples(*arguments, rng)


def test_resamples_where_the_statistic_is_undefined_are_left_out():
    resamples = np.arange(5)[:, None]
    found = interval(lambda frames: None if frames[0] % 2 else float(frames[0]), resamples, level=0.5)
    assert found == Interval(1.0, 3.0)


def test_a_statistic_that_is_never_defined_is_refused():
    with pytest.raises(ValueError, match="undefined in all 3 resamples"):
        interval(lambda _: None, np.zeros((3, 1), dtype=np.int64))


def test_a_statistic_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="must be finite or None"):
        interval(lambda _: np.nan, np.zeros((3, 1), dtype=np.int64))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_outside_zero_and_one_is_refused(level):
    with pytest.raises(ValueError, match=f"got {level}"):
        interval(lambda _: 0.0, np.zeros((3, 1), dtype=np.int64), level)


def test_pairing_finds_a_difference_that_is_small_beside_the_common_noise(rng):
    common = rng.normal(0, 10.0, size=300)
    better, worse = common + 0.0, common + 0.1 + rng.normal(0, 0.1, size=300)
    resamples = block_resamples(300, 10, 300, rng)
    assert not interval(mean_of(worse), resamples).excludes(common.mean())
    difference = paired_difference(mean_of(better), mean_of(worse), resamples)
    assert difference.high < 0
    assert difference.excludes(0.0)


def test_a_pair_is_left_out_where_either_is_undefined():
    resamples = np.arange(4)[:, None]
    found = paired_difference(
        lambda frames: None if frames[0] == 0 else float(frames[0]),
        lambda frames: None if frames[0] == 3 else 0.0,
        resamples,
        level=0.5,
    )
    assert found == Interval(1.25, 1.75)


@pytest.mark.parametrize(("value", "excluded"), [(0.9, True), (1.0, False), (1.5, False), (2.0, False), (2.1, True)])
def test_an_interval_contains_its_ends(value, excluded):
    assert Interval(1.0, 2.0).excludes(value) is excluded
