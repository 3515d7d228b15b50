"""What every ridge regression keeps, with K and W in tiles or in torch, against the batch solution."""

from dataclasses import dataclass

import numpy as np
import pytest

from ridges import (
    CLASSES,
    DIM,
    assert_same_bits,
    batch_covariance,
    batch_weights,
    learned,
    relative,
    snapshot,
    stream,
)
from tmapr.exceptions import StateError
from tmapr.gpu.torch_matrices import TorchMatrices
from tmapr.places.analytic import Ridge
from tmapr.places.matrices import MakeMatrices, TiledMatrices

ODD_DIMS = [1, 2, 31, 33, 65, 131]


@dataclass
class Kind:
    make_matrices: MakeMatrices

    def __call__(self, dim, ridge, classes=0):
        return Ridge(dim, ridge, classes, self.make_matrices)

    def from_arrays(self, arrays):
        return Ridge.from_arrays(arrays, self.make_matrices)


@pytest.fixture(params=[TiledMatrices, TorchMatrices], ids=["tiles", "torch"])
def kind(request):
    return Kind(request.param)


def test_the_covariance_is_the_inverse_of_the_weighted_information(kind, rng):
    X, Y, w = stream(rng, 200)
    # The oracle's condition number is some 1e3.
    assert relative(learned(kind, X, Y, w).covariance, batch_covariance(X, w)) < 1e-12


@pytest.mark.parametrize("count", range(1, 9))
def test_rows_in_one_call_equal_the_same_rows_one_by_one(kind, count, rng):
    state, other = (learned(kind, *stream(np.random.default_rng(1), 30)) for _ in range(2))
    X, Y, w = stream(rng, count)
    state.learn(X, Y, w)
    for row in range(count):
        other.learn(X[row : row + 1], Y[row : row + 1], w[row : row + 1])
    assert relative(state.weights, other.weights) < 1e-12
    assert relative(state.covariance, other.covariance) < 1e-12


@pytest.mark.parametrize("block", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("dim", ODD_DIMS)
def test_any_dimension_and_any_row_count_give_the_batch_solution(kind, dim, block, rng):
    X, Y, w = stream(rng, 84, dim)
    assert relative(learned(kind, X, Y, w, block=block).weights, batch_weights(X, Y, w)) < 1e-11


def test_scores_are_rows_times_weights(kind, rng):
    state, queries = learned(kind, *stream(rng, 60)), rng.normal(size=(4, DIM))
    np.testing.assert_allclose(state.scores(queries), queries @ state.weights, rtol=1e-12, atol=1e-13)


def test_a_row_of_no_weight_teaches_nothing(kind, rng):
    state = learned(kind, *stream(rng, 60))
    before = state.weights.copy(), state.covariance
    X, Y, _ = stream(rng, 3)
    state.learn(X, Y, np.zeros(3))
    np.testing.assert_array_equal(state.weights, before[0])
    np.testing.assert_allclose(state.covariance, before[1], rtol=1e-13, atol=1e-13)


def test_learning_leaves_its_input_alone(kind, rng):
    given = stream(rng, 7)
    copies = [array.copy() for array in given]
    learned(kind, *given, block=7)
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_what_cannot_be_written_is_learned_and_restored_all_the_same(kind, rng):
    given = stream(rng, 6)
    arrays = snapshot(learned(kind, *given))
    for array in (*given, *arrays.values()):
        array.flags.writeable = False
    state = kind.from_arrays(arrays)
    state.learn(*given)
    state.scores(given[0])
    state.leverage(given[0][0])
    twice = (np.concatenate([array, array]) for array in given)
    assert relative(state.weights, batch_weights(*twice)) < 1e-11


def test_unlearning_in_any_order_equals_never_having_learned(kind, rng):
    X, Y, w = stream(rng, 300)
    state = learned(kind, X, Y, w)
    order = rng.permutation(300)
    gone, kept = order[:90], order[90:]
    for row in gone:
        state.unlearn(X[row : row + 1], Y[row : row + 1], w[row : row + 1])
    assert relative(state.weights, batch_weights(X[kept], Y[kept], w[kept])) <= 1e-8
    assert relative(state.covariance, batch_covariance(X[kept], w[kept])) <= 1e-8


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_unlearning_what_was_just_learned_restores_the_state(kind, count, rng):
    state = learned(kind, *stream(rng, 60))
    before = state.weights.copy(), state.covariance
    rows = stream(rng, count)
    state.learn(*rows)
    state.unlearn(*rows)
    assert relative(state.weights, before[0]) < 1e-11
    assert relative(state.covariance, before[1]) < 1e-11


@pytest.mark.parametrize("classes", [5, 64, 65, 128, 129])
def test_classes_that_grow_equal_classes_that_were_there_from_the_start(kind, classes, rng):
    X, _, w = stream(rng, 2 * classes)
    Y = np.tile(np.eye(classes), (2, 1))
    grown = kind(DIM, 0.01)
    for row in range(len(X)):
        grown.grow(min(row + 1, classes))
        grown.learn(X[row : row + 1], Y[row : row + 1, : grown.classes], w[row : row + 1])
    assert relative(grown.weights, learned(kind, X, Y, w, block=1).weights) < 1e-12


def test_the_weights_are_handed_out_read_only(kind, rng):
    with pytest.raises(ValueError, match="read-only"):
        learned(kind, *stream(rng, 6)).weights[0, 0] = 1.0


@pytest.mark.parametrize("dim", [*ODD_DIMS, 64, 128])
@pytest.mark.parametrize("ridge", [1.0, 0.01, 0.3])
def test_nothing_is_familiar_to_a_fresh_state(kind, dim, ridge, rng):
    # The products λ · 1/λ · zᵀz / zᵀz round a few times.
    assert kind(dim, ridge).leverage(10 * rng.normal(size=dim)) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("dim", [*ODD_DIMS, 64, 128])
def test_leverage_is_the_share_of_the_covariance_left(kind, dim, rng):
    X, Y, w = stream(rng, 50, dim)
    state, z = learned(kind, X, Y, w), rng.normal(size=dim)
    expected = 0.01 * z @ batch_covariance(X, w) @ z / (z @ z)
    assert state.leverage(z) == pytest.approx(expected, rel=1e-10)


def test_leverage_falls_as_one_over_the_weight_learned(kind, rng):
    state, z = kind(DIM, 0.01, 1), rng.normal(size=(1, DIM))
    z /= np.linalg.norm(z)
    found = []
    for _ in range(300):
        state.learn(z, np.ones((1, 1)), np.ones(1))
        found.append(state.leverage(z[0]))
    # One direction alone is scalar: K = 1 / (λ + n). The last is 3e-5 of the first, which costs five digits.
    np.testing.assert_allclose(found, 0.01 / (0.01 + np.arange(1, 301)), rtol=1e-9)


def test_a_row_without_length_is_unfamiliar(kind, rng):
    assert learned(kind, *stream(rng, 60)).leverage(np.zeros(DIM)) == 1.0


@pytest.mark.parametrize("ridge", [0.0, -1.0, float("nan")])
def test_a_ridge_that_is_not_positive_is_refused(kind, ridge):
    with pytest.raises(ValueError, match=f"got {ridge}"):
        kind(DIM, ridge)


def test_unlearning_rows_that_were_never_learned_is_refused_and_leaves_the_state(kind, rng):
    state = learned(kind, *stream(rng, 12))
    before = state.weights.copy(), state.covariance
    with pytest.raises(StateError, match="were they learned here"):
        state.unlearn(*stream(rng, 3))
    np.testing.assert_array_equal(state.weights, before[0])
    np.testing.assert_allclose(state.covariance, before[1], rtol=1e-12, atol=1e-12)


def test_a_state_goes_on_after_refused_unlearning(kind, rng):
    X, Y, w = stream(rng, 24)
    state = learned(kind, X[:12], Y[:12], w[:12])
    with pytest.raises(StateError):
        state.unlearn(*stream(rng, 3))
    state.learn(X[12:], Y[12:], w[12:])
    assert relative(state.weights, batch_weights(X, Y, w)) < 1e-11


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["weights", "tiles", "pending"])
def test_a_state_that_holds_a_number_that_is_not_finite_refuses_to_learn(kind, name, value, rng):
    arrays = snapshot(learned(kind, *stream(rng, 12)))
    arrays[name].flat[0] = value
    with pytest.raises(StateError, match=r"exhausted at ridge 0\.01"):
        kind.from_arrays(arrays).learn(*stream(rng, 3))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", [0, 1], ids=["row", "target"])
def test_a_row_or_target_that_is_not_finite_is_refused_and_leaves_the_state(kind, part, value, rng):
    state = learned(kind, *stream(rng, 12))
    before = state.weights.copy(), state.covariance
    given = stream(rng, 3)
    given[part][1, 2] = value
    with pytest.raises(StateError):
        state.learn(*given)
    np.testing.assert_array_equal(state.weights, before[0])
    np.testing.assert_allclose(state.covariance, before[1], rtol=1e-12, atol=1e-12)


def after_learning(kind, rng):
    return learned(kind, *stream(rng, 61))


def after_unlearning(kind, rng):
    X, Y, w = stream(rng, 61)
    state = learned(kind, X, Y, w)
    state.unlearn(X[7:9], Y[7:9], w[7:9])
    return state


def after_growing(kind, rng):
    state = learned(kind, *stream(rng, 61, classes=64))
    state.grow(65)
    return state


@pytest.mark.parametrize("moment", [lambda kind, _: kind(DIM, 0.3, 2), after_learning, after_unlearning, after_growing])
def test_a_restored_state_continues_bit_for_bit(kind, moment, rng):
    state = moment(kind, rng)
    restored = kind.from_arrays(snapshot(state))
    for count in (3, 1, 4):
        lesson = stream(rng, count, classes=state.classes)
        for each in (state, restored):
            each.learn(*lesson)
        assert_same_bits(restored, state)
        np.testing.assert_array_equal(restored.scores(lesson[0]), state.scores(lesson[0]))
        assert restored.leverage(lesson[0][0]) == state.leverage(lesson[0][0])


def test_a_restored_state_shares_nothing_with_what_it_was_restored_from(kind, rng):
    arrays = snapshot(learned(kind, *stream(rng, 61)))
    copies = {name: array.copy() for name, array in arrays.items()}
    kind.from_arrays(arrays).learn(*stream(rng, 3))
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, copies[name], err_msg=name)


@pytest.mark.parametrize("information", [0.0, 0.3, 0.9])
def test_only_the_given_share_of_the_rows_becomes_information(kind, information, rng):
    X, Y, w = stream(rng, 90)
    state = kind(DIM, 0.01, CLASSES)
    for start in range(0, 90, 3):
        part = slice(start, start + 3)
        state.learn(X[part], Y[part], w[part], information)
    assert relative(state.covariance, batch_covariance(X, information * w)) < 1e-12
