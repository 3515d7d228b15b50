import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import mahalanobis

from made_up import car_fusion
from tmapr.fusion import Correction
from tmapr.types import CHI2_95, Belief, Status

SECOND = 1_000_000_000
YEAR = 365 * 24 * 3600 * SECOND
HERE = np.array([3.0, -4.0])
NOISES = ["paper", "acceleration"]
both_noises = pytest.mark.parametrize("fusion", [car_fusion(noise=noise) for noise in NOISES], ids=NOISES)


def tracked(fusion, seconds=3):
    """A belief that has followed a camera moving east at 2 m/s."""
    belief = fusion.start(0, HERE, 5.0)
    for tenth in range(1, 10 * seconds + 1):
        belief = fusion.predict(belief, tenth * SECOND // 10)
        belief = fusion.correct_apr(belief, HERE + tenth * np.array([0.2, 0.0]))
    return belief


GAPS = st.sampled_from([0, 1, 66_000_000, 132_000_000, 5 * SECOND, 3600 * SECOND, YEAR])
POSITIONS = st.tuples(*[st.floats(-1e4, 1e4)] * 2).map(np.array)
EVENTS = st.one_of(
    st.tuples(st.just("predict"), GAPS),
    st.tuples(st.just("apr"), POSITIONS),
    st.tuples(st.just("reference"), POSITIONS, st.floats(0, 1)),
    st.tuples(st.just("relocalize"), POSITIONS, st.floats(0.01, 1e3)),
)


def after(fusion, belief, event):
    match event:
        case "predict", gap:
            return fusion.predict(belief, belief.stamp + gap)
        case "apr", position:
            return fusion.correct_apr(belief, position)
        case "reference", position, confidence:
            return fusion.correct_reference(belief, position, confidence)
        case "relocalize", position, deviation:
            return fusion.relocalize(belief, position, deviation)


@both_noises
@given(events=st.lists(EVENTS, max_size=25))
def test_no_sequence_of_events_spoils_the_covariance(fusion, events):
    belief = fusion.start(0, HERE, 5.0)
    for event in events:
        belief = after(fusion, belief, event)
        assert np.isfinite(belief.mean).all()
        assert np.isfinite(belief.covariance).all()
        np.testing.assert_array_equal(belief.covariance, belief.covariance.T)
        np.linalg.cholesky(belief.covariance)


def once_and_in_parts(fusion, parts):
    belief = tracked(fusion)
    once = fusion.predict(belief, belief.stamp + sum(parts))
    for part in parts:
        belief = fusion.predict(belief, belief.stamp + part)
    return once, belief


@pytest.mark.parametrize("parts", [[66_000_000, 132_000_000], [SECOND] * 29, [1, 5 * SECOND]])
def test_acceleration_noise_does_not_depend_on_how_time_is_cut(parts):
    once, cut = once_and_in_parts(car_fusion(noise="acceleration"), parts)
    np.testing.assert_allclose(cut.mean, once.mean, rtol=1e-12)
    np.testing.assert_allclose(cut.covariance, once.covariance, rtol=1e-12, atol=1e-14)


def test_the_papers_noise_depends_on_how_time_is_cut():
    once, cut = once_and_in_parts(car_fusion(noise="paper"), [SECOND] * 10)
    np.testing.assert_allclose(cut.mean, once.mean, rtol=1e-12)
    assert cut.semi_axis != pytest.approx(once.semi_axis, rel=0.05)


@both_noises
def test_without_corrections_the_semi_axis_grows_with_time(fusion):
    belief = tracked(fusion)
    times = [0, 0.001, 0.066, 1, 5, 29.9, 30, 30.001, 31, 3600, 3.15e7]
    axes = [fusion.predict(belief, belief.stamp + round(t * SECOND)).semi_axis for t in times]
    assert np.all(np.diff(axes) > 0)


def test_a_parked_camera_never_becomes_certain():
    fusion = car_fusion()
    belief = fusion.start(0, HERE, 5.0)
    for k in range(2_000):
        belief = fusion.predict(belief, k // 10 * SECOND // 10)
        belief = fusion.correct_reference(belief, HERE, 1.0)
    # Were no time to pass, n measurements of variance r and a prior p would leave 1/(n/r + 1/p).
    timeless = (2_000 / 4.0 + 1 / 25.0) ** -0.5
    assert belief.semi_axis > np.sqrt(CHI2_95) * timeless


def test_a_gap_forgets_the_velocity_and_keeps_the_place():
    fusion = car_fusion()
    belief = tracked(fusion)
    believed = fusion.predict(belief, belief.stamp + 30 * SECOND)
    forgot = fusion.predict(belief, belief.stamp + 50 * SECOND)
    np.testing.assert_array_equal(forgot.mean, [*believed.position, 0, 0])
    np.testing.assert_allclose(forgot.covariance[:2, :2], believed.covariance[:2, :2] + 200.0**2 * np.eye(2))
    np.testing.assert_array_equal(forgot.covariance[2:], [[0, 0, 100, 0], [0, 0, 0, 100]])


@pytest.mark.parametrize(
    ("confidence", "variance"),
    [(1.0, 4.0), (0.75, 4.0), (0.5, 6.0), (0.3, 10.0), (1e-4, 3e4), (0.0, 3e4), (-0.2, 3e4)],
)
def test_the_variance_of_a_reference_follows_equation_9(confidence, variance):
    belief = car_fusion().start(0, np.zeros(2), 10.0)
    corrected = car_fusion().correct_reference(belief, HERE, confidence)
    np.testing.assert_allclose(np.diag(corrected.covariance)[:2], 1 / (1 / 100 + 1 / variance))


@both_noises
def test_a_correction_at_the_believed_position_leaves_the_mean(fusion):
    belief = tracked(fusion)
    corrected = fusion.correct_apr(fusion.correct_reference(belief, belief.position, 0.9), belief.position)
    np.testing.assert_array_equal(corrected.mean, belief.mean)
    assert corrected.semi_axis < belief.semi_axis


def test_an_older_stamp_is_refused_with_both_stamps():
    belief = car_fusion().start(1_628_000_000_123_456_789, HERE, 5.0)
    with pytest.raises(ValueError, match="1628000000123456789 to the older stamp 1628000000123456788"):
        car_fusion().predict(belief, belief.stamp - 1)


@pytest.mark.parametrize("deviation", [0.0, -1.0, float("nan"), float("inf")])
def test_a_start_without_a_positive_deviation_is_refused(deviation):
    with pytest.raises(ValueError, match=f"got {deviation}"):
        car_fusion().start(0, HERE, deviation)


@pytest.mark.parametrize(
    "correct",
    [
        lambda fusion, belief: fusion.correct_apr(belief, np.array([np.nan, 0.0])),
        lambda fusion, belief: fusion.correct_reference(belief, np.array([np.inf, 0.0]), 0.5),
        lambda fusion, belief: fusion.correct_reference(belief, HERE, float("nan")),
        lambda fusion, belief: fusion.relocalize(belief, np.array([0.0, np.nan]), 1.0),
    ],
)
def test_a_measurement_that_is_not_finite_is_refused(correct):
    with pytest.raises(ValueError, match="must be finite, got"):
        correct(car_fusion(), tracked(car_fusion()))


def test_relocalizing_keeps_only_the_stamp():
    belief = tracked(car_fusion())
    again = car_fusion().relocalize(belief, HERE, 2.0)
    assert again.stamp == belief.stamp
    np.testing.assert_array_equal(again.mean, [3, -4, 0, 0])
    np.testing.assert_array_equal(again.covariance, np.diag([4, 4, 100, 100]))


def believed(semi_axis):
    return Belief(100 * SECOND, np.append(HERE, [0, 0]), np.diag([semi_axis**2 / CHI2_95] * 2 + [1.0, 1.0]))


def corrected(seconds_ago, metres_away):
    return Correction(round((100 - seconds_ago) * SECOND), HERE + metres_away * np.array([0.6, 0.8]))


@pytest.mark.parametrize(
    ("semi_axis", "apr_used", "last", "status"),
    [
        (9.9, True, corrected(0, 0), Status.LOCALIZED),
        (9.9, False, corrected(9.9, 14.9), Status.LOCALIZED),
        (9.9, True, corrected(10.1, 0), Status.APR_ONLY),
        (9.9, True, corrected(0, 15.1), Status.APR_ONLY),
        (10.1, True, corrected(0, 0), Status.APR_ONLY),
        (9.9, True, None, Status.APR_ONLY),
        (10.1, True, None, Status.APR_ONLY),
        (9.9, False, None, Status.PREDICTING),
        (9.9, False, corrected(10.1, 0), Status.PREDICTING),
        (9.9, False, corrected(0, 15.1), Status.PREDICTING),
        (10.1, False, corrected(0, 0), Status.LOST),
        (10.1, False, None, Status.LOST),
    ],
)
def test_the_first_rung_that_holds_names_the_status(semi_axis, apr_used, last, status):
    assert car_fusion().status(believed(semi_axis), apr_used, last) is status


@both_noises
def test_the_normalised_innovation_is_that_of_an_independent_filter(fusion, rng):
    belief = tracked(fusion)
    position, confidence = belief.position + rng.normal(size=2), 0.4
    variance = max(fusion.correction_variance / confidence, fusion.min_correction_variance)
    spread = belief.covariance[:2, :2] + variance * np.eye(2)
    expected = mahalanobis(position, belief.position, np.linalg.inv(spread)) ** 2
    assert fusion.nis(belief, position, confidence) == pytest.approx(expected, rel=1e-12)


def test_an_honest_filter_is_as_surprised_as_it_says(rng):
    fusion = car_fusion(noise="acceleration", correction_variance=4.0, min_correction_variance=4.0)
    surprises, belief, truth = [], fusion.start(0, HERE, 2.0), rng.normal(HERE, 2.0)
    for tenth in range(1, 1000):
        belief = fusion.predict(belief, tenth * SECOND // 10)
        seen = truth + rng.normal(0.0, 2.0, size=2)
        surprises.append(fusion.nis(belief, seen, 1.0))
        belief = fusion.correct_reference(belief, seen, 1.0)
    # The camera stands still, so the filter, which expects it to move, is never surprised more than it says: NIS ≤ 2.
    assert 1.2 < np.mean(surprises) < 2.1
