"""Errors, jumps, consistency and timing against values worked out by hand or by SciPy."""

import numpy as np
import pytest
from scipy.stats import chi2

from tmapr.evaluation.errors import (
    count_jumps,
    heading_errors,
    measure_consistency,
    summarize_durations,
    summarize_errors,
    summarize_headings,
    summarize_innovations,
    true_headings,
)
from tmapr.reference import JUMP_TOLERANCE, SPEED_TOLERANCE

SECOND = 1_000_000_000
EPOCH = 1_628_000_000 * SECOND


def stamps(*seconds):
    return EPOCH + np.array([round(second * SECOND) for second in seconds], dtype=np.int64)


def along_x(*metres):
    return np.column_stack([metres, np.zeros(len(metres))]).astype(np.float64)


def test_a_summary_holds_rmse_mean_and_percentiles():
    found = summarize_errors(np.array([*np.arange(100.0), 1000.0]))
    assert (found.rmse, found.mean) == pytest.approx((np.sqrt((328350 + 1e6) / 101), 5950 / 101))
    assert (found.median, found.p75, found.p95, found.p99, found.max) == (50.0, 75.0, 95.0, 99.0, 1000.0)


@pytest.mark.parametrize(
    ("estimated", "truth", "expected"),
    [
        (0.3, 0.1, 0.2),
        (0.1, 0.3, 0.2),
        (3.1, -3.1, 2 * np.pi - 6.2),
        (-3.1, 3.1, 2 * np.pi - 6.2),
        (7.0, 0.0, 7 - 2 * np.pi),
    ],
)
def test_a_heading_error_is_the_shorter_way_round(estimated, truth, expected):
    assert heading_errors(np.array([estimated]), np.array([truth]))[0] == pytest.approx(expected)


def test_heading_errors_are_told_in_degrees():
    found = summarize_headings(np.deg2rad(np.array([0.0, 0.0, 3.0, 5.0])))
    assert (found.frames, found.mean_deg, found.median_deg) == (4, pytest.approx(2.0), pytest.approx(1.5))
    assert (found.rmse_deg, found.p95_deg) == pytest.approx((np.sqrt(34 / 4), 4.7))


def test_the_true_heading_is_the_way_the_truth_goes_on_each_stretch_that_is_known():
    north = np.array([[0.0, float(metres)] for metres in range(5)])
    west = np.array([[float(-metres), 40.0] for metres in range(5)])
    still = np.tile([[9.0, 9.0]], (4, 1)) + 0.1 * np.arange(4)[:, None]
    truth = np.vstack([north, np.full((2, 2), np.nan), west, np.full((1, 2), np.nan), still])
    found = true_headings(truth, ~np.isnan(truth).any(axis=1))
    np.testing.assert_allclose(found[:5], np.pi / 2)
    np.testing.assert_allclose(np.abs(found[7:12]), np.pi)
    assert np.isnan(found[[5, 6, *range(12, 17)]]).all()


def test_half_a_metre_is_motion_enough_for_a_heading():
    assert true_headings(along_x(0.0, 0.5), np.ones(2, dtype=bool)).tolist() == [0.0, 0.0]
    assert np.isnan(true_headings(along_x(0.0, 0.49), np.ones(2, dtype=bool))).all()


def test_innovations_are_counted_inside_the_95_percent_bound():
    edge = chi2.ppf(0.95, df=2)
    found = summarize_innovations(np.array([edge * 0.999, edge * 1.001, 0.0, 1.0]))
    assert (found.inside95, found.count) == (0.75, 4)
    assert found.mean == pytest.approx((2 * edge + 1.0) / 4)


@pytest.mark.parametrize("condense", [summarize_errors, summarize_headings, summarize_innovations, summarize_durations])
@pytest.mark.parametrize(("values", "message"), [([], "must not be empty"), ([1.0, np.nan], "must be finite, got nan")])
def test_nothing_and_non_numbers_are_refused(condense, values, message):
    with pytest.raises(ValueError, match=message):
        condense(np.array(values, dtype=np.float64))


def test_timing_is_given_in_milliseconds():
    timing = summarize_durations(np.arange(101) / 1000)
    assert (timing.p50, timing.p95, timing.max) == pytest.approx((50.0, 95.0, 100.0))


@pytest.mark.parametrize(
    ("distance", "elapsed", "jumps"),
    [
        (JUMP_TOLERANCE + SPEED_TOLERANCE * 10 * 0.5, 0.5, 0),
        (JUMP_TOLERANCE + SPEED_TOLERANCE * 10 * 0.5 + 1e-9, 0.5, 1),
        (JUMP_TOLERANCE, 0, 0),
        (JUMP_TOLERANCE + 1e-9, 0, 1),
        (JUMP_TOLERANCE + SPEED_TOLERANCE * 10 * 0.5, -0.5, 0),
    ],
)
def test_a_jump_exceeds_a_metre_and_what_the_time_allows(distance, elapsed, jumps):
    assert count_jumps(stamps(10, 10 + elapsed), along_x(0, distance), top_speed=10.0) == jumps


def test_going_there_and_back_are_two_jumps():
    assert count_jumps(stamps(0, 1, 2, 3), along_x(0, 50, 0, 1), top_speed=1.0) == 2


@pytest.mark.parametrize("frames", [0, 1])
def test_fewer_than_two_frames_cannot_jump(frames):
    assert count_jumps(stamps(*range(frames)), along_x(*range(frames)), top_speed=1.0) == 0


def test_nees_weighs_an_error_by_its_covariance():
    covariances = np.array([np.diag([4.0, 1.0]), [[2.0, 1.0], [1.0, 2.0]]])
    # 2²/4 + 2²/1 = 5; the inverse of the second is [[2, −1], [−1, 2]]/3, so (2 + 18 + 6)/3 = 26/3.
    found = measure_consistency(np.array([[2.0, 2.0], [1.0, -3.0]]), covariances)
    assert found.mean == pytest.approx((5 + 26 / 3) / 2)


def test_coverage_counts_the_frames_inside_the_95_percent_ellipse():
    edge = np.sqrt(chi2.ppf(0.95, df=2))
    errors = np.array([[edge * 0.999, 0.0], [0.0, edge * 1.001], [0.0, 0.0], [0.0, -edge * 0.999]])
    assert measure_consistency(errors, np.tile(np.eye(2), (4, 1, 1))).coverage95 == 0.75


def test_an_honest_covariance_has_nees_two_and_covers_95_percent():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(20_000, 2, 2))
    covariances = roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(2)
    errors = np.einsum("nij,nj->ni", np.linalg.cholesky(covariances), rng.normal(size=(20_000, 2)))
    found = measure_consistency(errors, covariances)
    # Four standard errors: NEES has variance 4, coverage .95 · .05.
    assert found.mean == pytest.approx(2.0, abs=4 * 2 / np.sqrt(20_000))
    assert found.coverage95 == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 20_000))


@pytest.mark.parametrize("covariance", [np.zeros((2, 2)), np.diag([1.0, -1.0]), np.ones((2, 2)) * np.nan])
def test_a_covariance_that_is_not_positive_definite_is_refused_by_its_frame(covariance):
    with pytest.raises(ValueError, match="frame 1 has"):
        measure_consistency(np.zeros((2, 2)), np.stack([np.eye(2), covariance]))
