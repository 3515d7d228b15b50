import numpy as np
import pytest
from scipy.linalg import LinAlgError, block_diag, lstsq, solve_triangular
from scipy.stats import chi2

from made_up import car_fusion
from tmapr.fusion import kalman
from tmapr.types import CHI2_95

SIZES = [(1, 1), (2, 1), (4, 2), (3, 5)]
SECOND = 1_000_000_000
HERE = np.array([3.0, -4.0])


@pytest.fixture
def rng():
    return np.random.default_rng(10)


def positive(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + np.eye(size)


def measured(rng, states, count):
    """A random prior, measurement, observation and measurement noise."""
    return (
        rng.normal(size=states),
        positive(rng, states),
        rng.normal(size=count),
        rng.normal(size=(count, states)),
        positive(rng, count),
    )


@pytest.mark.parametrize(("states", "count"), SIZES)
def test_a_correction_adds_information(states, count, rng):
    mean, P, z, H, R = measured(rng, states, count)
    corrected, covariance = kalman.correct(mean, P, z, H, R)
    information = np.linalg.inv(P) + H.T @ np.linalg.inv(R) @ H
    evidence = np.linalg.inv(P) @ mean + H.T @ np.linalg.inv(R) @ z
    np.testing.assert_allclose(covariance, np.linalg.inv(information), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(corrected, np.linalg.solve(information, evidence), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("states", "count"), SIZES)
def test_two_measurements_in_turn_equal_both_at_once(states, count, rng):
    mean, P, z, H, R = measured(rng, states, count)
    _, _, z2, H2, R2 = measured(rng, states, count)
    in_turn = kalman.correct(*kalman.correct(mean, P, z, H, R), z2, H2, R2)
    at_once = kalman.correct(mean, P, np.append(z, z2), np.vstack([H, H2]), block_diag(R, R2))
    for left, right in zip(in_turn, at_once, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def test_a_prediction_has_the_moments_of_the_moved_samples(rng):
    mean, P, _, F, Q = measured(rng, 3, 3)
    count = 200_000
    samples = rng.multivariate_normal(mean, P, count) @ F.T
    samples += rng.multivariate_normal(np.zeros(3), Q, count)
    moved, covariance = kalman.predict(mean, P, F, Q)
    # Four standard errors of a sample mean and of a sample variance.
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_array_less(np.abs(samples.mean(0) - moved), 4 * deviation / np.sqrt(count))
    tolerance = 4 * np.sqrt(2 / count) * np.outer(deviation, deviation)
    np.testing.assert_array_less(np.abs(np.cov(samples.T) - covariance), tolerance)


@pytest.mark.parametrize(("states", "count"), SIZES)
def test_covariances_are_symmetric_to_the_last_bit(states, count, rng):
    mean, P, z, H, R = measured(rng, states, count)
    predicted = kalman.predict(mean, P, rng.normal(size=(states, states)), positive(rng, states))
    corrected = kalman.correct(*predicted, z, H, R)
    for _, covariance in (predicted, corrected):
        np.testing.assert_array_equal(covariance, covariance.T)


def test_a_prior_sixteen_digits_wider_than_the_noise_leaves_the_noise():
    mean, covariance = kalman.correct(np.zeros(1), np.eye(1) * 1e18, np.ones(1), np.eye(1), np.eye(1))
    np.testing.assert_allclose([mean[0], covariance[0, 0]], 1.0)


def test_a_covariance_that_is_not_positive_is_refused():
    with pytest.raises(LinAlgError):
        kalman.correct(np.zeros(1), -2 * np.eye(1), np.ones(1), np.eye(1), np.eye(1))


def transition(dt):
    return np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def motion_noise(fusion, dt):
    """Q written out entry by entry."""
    q_p, q_v = fusion.position_noise, fusion.velocity_noise
    if fusion.noise == "paper":
        return np.diag([q_p * dt**2, q_p * dt**2, q_v * dt, q_v * dt])
    a, b, c = q_v * dt**3 / 3, q_v * dt**2 / 2, q_v * dt
    return np.array([[a, 0, b, 0], [0, a, 0, b], [b, 0, c, 0], [0, b, 0, c]])


def whitened(rows, values, covariance):
    root = np.linalg.cholesky(covariance)
    return solve_triangular(root, rows, lower=True), solve_triangular(root, values, lower=True)


def least_squares(fusion, prior, gaps, measurements):
    """Last state and covariance, all states solved at once; a measurement is (frame, position, variance)."""
    states = np.eye(4 * (len(gaps) + 1)).reshape(-1, 4, 4 * (len(gaps) + 1))
    blocks = [whitened(states[0], prior.mean, prior.covariance)]
    for k, gap in enumerate(gaps):
        dt = gap / SECOND
        rows = states[k + 1] - transition(dt) @ states[k]
        blocks.append(whitened(rows, np.zeros(4), motion_noise(fusion, dt)))
    for k, position, variance in measurements:
        blocks.append(whitened(states[k][:2], position, variance * np.eye(2)))
    A, b = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return lstsq(A, b)[0][-4:], np.linalg.inv(A.T @ A)[-4:, -4:]


@pytest.mark.parametrize("noise", ["paper", "acceleration"])
def test_the_filter_equals_least_squares_over_the_whole_window(noise, rng):
    fusion = car_fusion(noise=noise)
    gaps = rng.choice([66_000_000, 132_000_000, 1_500_000_000], size=40)
    belief = prior = fusion.start(0, HERE, 5.0)
    measurements = []
    for k, gap in enumerate(gaps, start=1):
        belief = fusion.predict(belief, belief.stamp + int(gap))
        position = rng.normal(size=2) * 3 + [k, -k]
        if k % 3:
            belief = fusion.correct_apr(belief, position)
            measurements.append((k, position, 9.0))
        if k % 7 == 0:
            belief = fusion.correct_reference(belief, position + 1, confidence=0.5)
            measurements.append((k, position + 1, 6.0))
    mean, covariance = least_squares(fusion, prior, gaps, measurements)
    # The oracle squares a condition number of some 1e3.
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(belief.covariance, covariance, rtol=1e-8, atol=1e-10)


def test_the_covariance_tells_the_true_error(rng):
    fusion = car_fusion(noise="acceleration")
    runs, frames = 80, 12
    final, inside = [], []
    for _ in range(runs):
        belief = fusion.start(0, HERE, 5.0)
        truth = rng.multivariate_normal(belief.mean, belief.covariance)
        for gap in rng.choice([66_000_000, 132_000_000], size=frames):
            dt = gap / SECOND
            truth = rng.multivariate_normal(transition(dt) @ truth, motion_noise(fusion, dt))
            belief = fusion.predict(belief, belief.stamp + int(gap))
            belief = fusion.correct_apr(belief, truth[:2] + rng.normal(size=2) * 3)
            error = truth - belief.mean
            inside.append(error[:2] @ np.linalg.solve(belief.covariance[:2, :2], error[:2]) <= CHI2_95)
        final.append(error @ np.linalg.solve(belief.covariance, error))
    # Only the last frames of the runs are independent, so only they have an exact band.
    low, high = chi2.ppf([0.005, 0.995], df=4 * runs) / runs
    assert low < np.mean(final) < high
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)
