import numpy as np
import pytest

from tmapr.places.analytic import Ridge
from tmapr.places.attenuation import Attenuation

PAPER = Attenuation()


def residual(length):
    return length * np.array([0.6, 0.0, -0.8])


@pytest.mark.parametrize(
    ("length", "weight"),
    [(0.0, 1.0), (1.0, 5 / 5.1), (2.0, 5 / 5.2), (5.5, 5 / 5.55), (5.6, 0.9), (50.0, 0.9), (1e9, 0.9)],
)
def test_the_weight_follows_equation_4_down_to_its_floor(length, weight):
    # The floor is met at γ(1/w_min − 1)/η = 5.56.
    assert PAPER.weight(residual(length)) == pytest.approx(weight, rel=1e-14)


@pytest.mark.parametrize(
    ("attenuation", "weight"),
    [
        (Attenuation(bound=1.0, gain=1.0, floor=0.1), 0.25),
        (Attenuation(bound=1.0, gain=1.0, floor=0.3), 0.3),
        (Attenuation(bound=3.0, gain=1.0, floor=0.1), 0.5),
        (Attenuation(gain=0.0), 1.0),
        (Attenuation(floor=1.0), 1.0),
    ],
)
def test_bound_gain_and_floor_each_play_their_part(attenuation, weight):
    assert attenuation.weight(residual(3.0)) == pytest.approx(weight, rel=1e-14)


@pytest.mark.parametrize(("level", "information"), [(1.0, 0.0), (2.0, 0.75), (1e9, 1.0)])
def test_the_level_decides_the_share_of_a_sample_that_becomes_information(level, information):
    assert Attenuation(mode="minimax", level=level).information == information


RIDGE = 0.01


def similar_rows(rng):
    rows = 0.3 * rng.normal(size=(60, 6)) + np.eye(6)[0]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def turning_rows(rng):
    angles = np.linspace(0, 3 * np.pi, 80)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def repeated_rows(rng):
    return np.ones((200, 1))


SEQUENCES = [similar_rows, turning_rows, repeated_rows]


def error_gain(rows, information):
    """Largest gain of the map from (√λ · initial weight error, noise) to all errors x_tᵀ(w* − ŵ_t) after each update.

    Every class is fed another basis vector of (√λ w*, noise), so that the classes together are the map.
    """
    count, dim = rows.shape
    truth = np.eye(dim, dim + count) / np.sqrt(RIDGE)
    noise = np.eye(count, dim + count, k=dim)
    state = Ridge(dim, RIDGE, dim + count)
    errors = []
    for row, disturbance in zip(rows, noise, strict=True):
        state.learn(row[None], (row @ truth + disturbance)[None], np.ones(1), information)
        errors.append(row @ (truth - state.weights))
    return np.linalg.norm(np.stack(errors), ord=2)


@pytest.mark.parametrize("level", [1.0, 1.1, 1.5])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_no_disturbance_is_amplified_beyond_the_level(sequence, level, rng):
    information = Attenuation(mode="minimax", level=level).information
    assert error_gain(sequence(rng), information) <= level * (1 + 1e-9)


def test_the_bound_is_nearly_reached():
    # Averaging n equal rows: otherwise a bound that never binds would pass for one that holds.
    information = Attenuation(mode="minimax", level=1.1).information
    assert error_gain(np.ones((200, 1)), information) > 1.05


def test_ridge_alone_amplifies_a_disturbance_beyond_the_level():
    # A running mean is Cesàro's operator, whose gain tends to 2 (Hardy's inequality).
    assert 1.5 < error_gain(np.ones((200, 1)), information=1.0) < 2.0


def learned(rng, information, count=50, dim=20):
    state = Ridge(dim, RIDGE, 2)
    for _ in range(count):
        state.learn(rng.normal(size=(1, dim)), rng.normal(size=(1, 2)), np.ones(1), information)
    return state


def test_an_infinite_level_is_ridge():
    information = Attenuation(mode="minimax", level=1e6).information
    minimax, ridge = (learned(np.random.default_rng(4), share) for share in (information, 1.0))
    # K⁻¹ differs by 1e-12 of itself.
    np.testing.assert_allclose(minimax.weights, ridge.weights, rtol=1e-9, atol=1e-10)


def test_a_level_of_one_is_normalised_least_mean_squares(rng):
    state = Ridge(20, RIDGE, 2)
    expected = np.zeros((20, 2))
    for _ in range(50):
        row, target = rng.normal(size=20), rng.normal(size=2)
        state.learn(row[None], target[None], np.ones(1), Attenuation(mode="minimax", level=1.0).information)
        expected += np.outer(row, target - row @ expected) / (RIDGE + row @ row)
    np.testing.assert_allclose(state.weights, expected, rtol=1e-10, atol=1e-12)
