"""Methods compared: figures against hand cases, intervals against the bootstrap's own functions, NumPy and SciPy."""

import statistics

import numpy as np
import pytest
from scipy.ndimage import uniform_filter1d
from scipy.stats import bootstrap

from tmapr.evaluation.bootstrap import block_resamples, interval, paired_difference
from tmapr.studies.comparison import Contender, Standing, compare_contenders

FRAMES = 300


def contender(name, *errors, about="", budget=""):
    return Contender(name, about, tuple(np.asarray(one, dtype=float) for one in errors), budget)


def rmse(errors):
    return float(np.sqrt(np.mean(np.square(errors))))


def rmse_of(errors):
    return lambda frames: rmse(errors[frames])


def errors_like(rng, scale, frames=FRAMES):
    """Errors of a drive: never negative, and neighbours resemble each other."""
    return scale * np.abs(uniform_filter1d(rng.normal(size=frames), 9)) + 0.01


def difference_of(ours, other, **settings):
    """The row of the other: its difference, from low to high."""
    return compare_contenders([contender("ours", *ours), contender("other", *other)], "ours", **settings)[1]


def width(row):
    return row.high - row.low


def test_the_figures_of_a_method_are_those_computed_by_hand():
    (row,) = compare_contenders([contender("ours", [0.0, 3.0, 4.0, 5.0])], "ours")
    assert (row.rmse, row.mean, row.median) == pytest.approx((np.sqrt(50 / 4), 3.0, 3.5))


def test_of_several_seeds_the_figures_are_averaged_and_their_spread_is_the_sample_deviation():
    (row,) = compare_contenders([contender("ours", [0.0, 6.0, 6.0], [1.0, 1.0, 1.0], [2.0, 2.0, 14.0])], "ours")
    seeds = {
        "rmse": (np.sqrt(24), 1.0, np.sqrt(68)),
        "mean": (4.0, 1.0, 6.0),
        "median": (6.0, 1.0, 2.0),
    }
    assert row.seeds == 3
    for found, figures in zip((row.rmse, row.mean, row.median), seeds.values(), strict=True):
        assert found == pytest.approx(statistics.mean(figures))
    assert row.rmse_spread == pytest.approx(statistics.stdev(seeds["rmse"]))


def test_errors_in_single_precision_are_averaged_in_double(rng):
    errors = rng.gamma(2.0, 50.0, size=FRAMES).astype(np.float32)
    single = compare_contenders([Contender("ours", "", (errors,))], "ours")
    assert single == compare_contenders([contender("ours", errors.astype(np.float64))], "ours")


def test_with_one_seed_the_interval_is_the_bootstraps_own(rng):
    ours, other = errors_like(rng, 1.0), errors_like(rng, 1.3)
    resamples = block_resamples(FRAMES, 50, 2000, np.random.default_rng(0))
    expected = paired_difference(rmse_of(ours), rmse_of(other), resamples)
    found = difference_of([ours], [other])
    assert found.difference == pytest.approx(rmse(ours) - rmse(other))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_with_several_seeds_the_mean_of_their_rmse_is_resampled(rng):
    ours = [errors_like(rng, scale) for scale in (0.5, 1.0, 3.0)]
    other = [errors_like(rng, scale) for scale in (1.0, 2.0)]
    resamples = block_resamples(FRAMES, 20, 200, np.random.default_rng(4))
    differences = [
        np.mean([rmse(one[frames]) for one in ours]) - np.mean([rmse(one[frames]) for one in other])
        for frames in resamples
    ]
    found = difference_of(ours, other, block=20, resamples=200, seed=4)
    assert found.difference == pytest.approx(
        np.mean([rmse(one) for one in ours]) - np.mean([rmse(one) for one in other])
    )
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))


def test_blocks_of_one_give_scipys_paired_interval(rng):
    hardness = rng.gamma(2.0, size=FRAMES)
    ours, other = hardness + rng.uniform(0, 0.5, FRAMES), hardness + rng.uniform(0, 0.6, FRAMES)
    found = difference_of([ours], [other], block=1, resamples=4000)
    theirs = bootstrap(
        (ours, other),
        lambda a, b: rmse(a) - rmse(b),
        paired=True,
        vectorized=False,
        n_resamples=4000,
        method="percentile",
        rng=rng,
    ).confidence_interval
    # As in the bootstrap's own test: four standard errors of the difference between two such ends.
    tolerance = 4 * np.sqrt(2) * 0.042 * (theirs.high - theirs.low) / 4
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=tolerance)


def test_a_method_is_not_told_apart_from_itself(rng):
    errors = errors_like(rng, 1.0)
    found = difference_of([errors], [errors])
    assert (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)
    assert found.verdict == Standing.UNDECIDED


@pytest.mark.parametrize(("scale", "standing"), [(0.5, Standing.BETTER), (2.0, Standing.WORSE)])
def test_a_clear_gap_is_told_with_its_direction(scale, standing, rng):
    other = errors_like(rng, 1.0)
    rows = compare_contenders([contender("ours", scale * other), contender("other", other)], "ours")
    assert rows[1].verdict == standing
    assert not rows[1].low <= 0.0 <= rows[1].high


def test_what_is_hard_for_both_cancels_only_if_the_frames_are_the_same(rng):
    ours = rng.gamma(1.0, 10.0, FRAMES)
    other = ours + 0.5
    assert difference_of([ours], [other]).verdict == Standing.BETTER
    assert difference_of([ours], [rng.permutation(other)]).verdict == Standing.UNDECIDED


def test_the_order_of_frames_matters_only_through_the_blocks(rng):
    ours, other = 1 + uniform_filter1d(rng.normal(size=(2, 1000)), 40, axis=1)
    shuffle = rng.permutation(1000)
    ordered, shuffled = difference_of([ours], [other]), difference_of([ours[shuffle]], [other[shuffle]])
    assert shuffled.difference == pytest.approx(ordered.difference)
    # A moving mean of 40 frames leaves 25 independent values of 1000: blocks see up to √40 times the standard error.
    assert width(ordered) > 2 * width(shuffled)
    # Blocks of one frame forget the order: two estimates of one width, whose ends have standard errors of .03 of it.
    alike = (width(difference_of([a], [b], block=1)) for a, b in ((ours, other), (ours[shuffle], other[shuffle])))
    assert next(alike) == pytest.approx(next(alike), rel=0.2)


def test_all_methods_are_compared_on_the_same_resamples(rng):
    ours, other = errors_like(rng, 1.0), errors_like(rng, 1.2)
    contenders = [
        contender("first", other),
        contender("ours", ours),
        contender("again", other),
        contender("again", other, about="variant"),
    ]
    first, none, *again = (
        (row.difference, row.low, row.high) for row in compare_contenders(contenders, "ours", resamples=50)
    )
    assert none == (None, None, None)
    assert again == [first, first]


@pytest.mark.parametrize(("frames", "block"), [(40, 10), (199, 49), (7, 1), (3, 1), (1, 1)])
def test_a_short_sequence_is_cut_into_at_least_four_blocks_if_it_can_be(frames, block, rng):
    ours, other = errors_like(rng, 1.0, frames), errors_like(rng, 1.2, frames)
    resamples = block_resamples(frames, block, 100, np.random.default_rng(0))
    expected = interval(lambda drawn: rmse(ours[drawn]) - rmse(other[drawn]), resamples)
    found = difference_of([ours], [other], resamples=100)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_rows_stand_in_the_order_given_and_carry_what_was_said_of_them():
    given = [
        contender("AtLoc", [2.0], about="frozen encoder", budget="9 images"),
        contender("ours", [1.0], budget="8 images"),
    ]
    rows = compare_contenders(given, "ours", resamples=5)
    assert [(row.name, row.about, row.budget) for row in rows] == [
        ("AtLoc", "frozen encoder", "9 images"),
        ("ours", "", "8 images"),
    ]
    assert [row.verdict for row in rows] == [Standing.BETTER, None]


@pytest.mark.parametrize(
    ("contenders", "message"),
    [
        ([contender("ours", [1.0, 2.0]), contender("other", [1.0])], r"same frames.*'other', ''\): \[1\]"),
        ([contender("ours", [])], "at least one"),
        ([], "same frames"),
        ([contender("ours")], "at least one seed"),
        ([contender("ours", [1.0]), contender("a", [1.0]), contender("a", [2.0])], "differ in name or about"),
        ([contender("theirs", [1.0])], "'ours' names 0 of 1"),
        ([contender("ours", [1.0]), contender("ours", [1.0], about="b")], "'ours' names 2 of 2"),
        ([contender("ours", [1.0, np.nan])], "finite, got nan"),
    ],
)
def test_what_cannot_be_compared_is_refused(contenders, message):
    with pytest.raises(ValueError, match=message):
        compare_contenders(contenders, "ours", resamples=5)


@pytest.mark.parametrize(("settings", "message"), [({"block": 0}, "got 0"), ({"resamples": 0}, "got 0")])
def test_a_resampling_that_draws_nothing_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        compare_contenders([contender("ours", [1.0, 2.0])], "ours", **settings)
