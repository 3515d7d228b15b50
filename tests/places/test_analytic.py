import sys
from itertools import pairwise
from threading import Lock, Thread

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn import linear_model

from tmapr.exceptions import StateError
from tmapr.places.analytic import Ridge, merge
from tmapr.places.recursion import absorb, read
from tmapr.places.triangle import RANK, identity_tiles, round_up, settle_and_multiply

DIM, CLASSES = 100, 5
ODD_DIMS = [1, 2, 31, 33, 65, 131]


def stream(rng, count, dim=DIM, classes=CLASSES):
    """Rows of about unit length, one-hot targets and weights in [0.5, 2)."""
    X = rng.normal(size=(count, dim)) / np.sqrt(dim)
    return X, np.eye(classes)[rng.integers(classes, size=count)], rng.uniform(0.5, 2.0, size=count)


def walk(rng, count, dim):
    """Unit rows that turn slowly within a subspace of an eighth of the dimensions, with a little noise."""
    axes = np.linalg.qr(rng.normal(size=(dim, dim // 8)))[0]
    path = lfilter([0.2], [1.0, -0.98], rng.normal(size=(count, dim // 8)), axis=0)
    rows = path @ axes.T + 0.001 * rng.normal(size=(count, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def learned(X, Y, w, ridge=0.01, block=3):
    state = Ridge(X.shape[1], ridge, Y.shape[1])
    for start in range(0, len(X), block):
        part = slice(start, start + block)
        state.learn(X[part], Y[part], w[part])
    return state


def batch_weights(X, Y, w, ridge=0.01):
    model = linear_model.Ridge(alpha=ridge, fit_intercept=False, solver="cholesky")
    return np.atleast_2d(model.fit(X, Y, sample_weight=w).coef_).T


def batch_covariance(X, w, ridge=0.01):
    return np.linalg.inv(ridge * np.eye(X.shape[1]) + X.T @ (w[:, None] * X))


def relative(found, expected):
    """Frobenius norm of the error as a share of what is expected."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def snapshot(state):
    return {name: np.array(array) for name, array in state.arrays().items()}


def assert_same_bits(left, right):
    for name, array in snapshot(left).items():
        np.testing.assert_array_equal(array, snapshot(right)[name], err_msg=name)


@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_after_50_000_weighted_updates_the_recursion_equals_the_batch_solution(ridge, rng):
    count, dim, classes = 50_000, 512, 8
    X = walk(rng, count, dim)
    Y = np.eye(classes)[np.arange(count) // 500 % classes]
    w = rng.uniform(0.5, 1.7, size=count)
    state = Ridge(dim, ridge, classes)
    # One, two and three rows at a time, and more, which go through by threes.
    for start, stop in pairwise([0, *np.cumsum([1, 2, 3, 34] * (count // 40)).tolist()]):
        state.learn(X[start:stop], Y[start:stop], w[start:stop])
        if stop % 10_000 == 0:
            K = state.covariance
            np.testing.assert_array_equal(K, K.T)
            np.linalg.cholesky(K)
    assert relative(state.weights, batch_weights(X, Y, w, ridge)) <= 1e-8


def test_the_covariance_is_the_inverse_of_the_weighted_information(rng):
    X, Y, w = stream(rng, 200)
    # The oracle's condition number is some 1e3.
    assert relative(learned(X, Y, w).covariance, batch_covariance(X, w)) < 1e-12


@pytest.mark.parametrize("count", range(1, 9))
def test_rows_in_one_call_equal_the_same_rows_one_by_one(count, rng):
    state, other = (learned(*stream(np.random.default_rng(1), 30)) for _ in range(2))
    X, Y, w = stream(rng, count)
    state.learn(X, Y, w)
    for row in range(count):
        other.learn(X[row : row + 1], Y[row : row + 1], w[row : row + 1])
    assert relative(state.weights, other.weights) < 1e-12
    assert relative(state.covariance, other.covariance) < 1e-12


@pytest.mark.parametrize("block", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("dim", ODD_DIMS)
def test_any_dimension_and_any_row_count_give_the_batch_solution(dim, block, rng):
    X, Y, w = stream(rng, 84, dim)
    assert relative(learned(X, Y, w, block=block).weights, batch_weights(X, Y, w)) < 1e-11


def test_scores_are_rows_times_weights(rng):
    state, queries = learned(*stream(rng, 60)), rng.normal(size=(4, DIM))
    np.testing.assert_allclose(state.scores(queries), queries @ state.weights, rtol=1e-12, atol=1e-13)


def test_a_row_of_no_weight_teaches_nothing(rng):
    state = learned(*stream(rng, 60))
    before = state.weights.copy(), state.covariance
    X, Y, _ = stream(rng, 3)
    state.learn(X, Y, np.zeros(3))
    np.testing.assert_array_equal(state.weights, before[0])
    np.testing.assert_allclose(state.covariance, before[1], rtol=1e-13, atol=1e-13)


def test_no_rows_change_nothing(rng):
    state = learned(*stream(rng, 60))
    before = Ridge.from_arrays(state.arrays())
    state.learn(np.zeros((0, DIM)), np.zeros((0, CLASSES)), np.zeros(0))
    assert_same_bits(state, before)


def test_learning_leaves_its_input_alone(rng):
    given = stream(rng, 7)
    copies = [array.copy() for array in given]
    learned(*given, block=7)
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_unlearning_in_any_order_equals_never_having_learned(rng):
    X, Y, w = stream(rng, 1000)
    state = learned(X, Y, w)
    order = rng.permutation(1000)
    gone, kept = order[:300], order[300:]
    for row in gone:
        state.unlearn(X[row : row + 1], Y[row : row + 1], w[row : row + 1])
    assert relative(state.weights, batch_weights(X[kept], Y[kept], w[kept])) <= 1e-8
    assert relative(state.covariance, batch_covariance(X[kept], w[kept])) <= 1e-8


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_unlearning_what_was_just_learned_restores_the_state(count, rng):
    state = learned(*stream(rng, 60))
    before = state.weights.copy(), state.covariance
    rows = stream(rng, count)
    state.learn(*rows)
    state.unlearn(*rows)
    assert relative(state.weights, before[0]) < 1e-11
    assert relative(state.covariance, before[1]) < 1e-11


@pytest.mark.parametrize("classes", [5, 64, 65, 128, 129])
def test_classes_that_grow_equal_classes_that_were_there_from_the_start(classes, rng):
    X, _, w = stream(rng, 2 * classes)
    Y = np.tile(np.eye(classes), (2, 1))
    grown = Ridge(DIM, 0.01)
    for row in range(len(X)):
        grown.grow(min(row + 1, classes))
        grown.learn(X[row : row + 1], Y[row : row + 1, : grown.classes], w[row : row + 1])
    assert relative(grown.weights, learned(X, Y, w, block=1).weights) < 1e-12


def test_growing_to_fewer_classes_changes_nothing(rng):
    state = learned(*stream(rng, 60))
    before = Ridge.from_arrays(state.arrays())
    state.grow(2)
    assert_same_bits(state, before)


def test_the_weights_are_handed_out_read_only(rng):
    with pytest.raises(ValueError, match="read-only"):
        learned(*stream(rng, 6)).weights[0, 0] = 1.0


@pytest.mark.parametrize("dim", [*ODD_DIMS, 64, 128])
@pytest.mark.parametrize("ridge", [1.0, 0.01, 0.3])
def test_nothing_is_familiar_to_a_fresh_state(dim, ridge, rng):
    # The products λ · 1/λ · zᵀz / zᵀz round a few times.
    assert Ridge(dim, ridge).leverage(10 * rng.normal(size=dim)) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("dim", [*ODD_DIMS, 64, 128])
def test_leverage_is_the_share_of_the_covariance_left(dim, rng):
    X, Y, w = stream(rng, 50, dim)
    state, z = learned(X, Y, w), rng.normal(size=dim)
    expected = 0.01 * z @ batch_covariance(X, w) @ z / (z @ z)
    assert state.leverage(z) == pytest.approx(expected, rel=1e-10)


def test_leverage_falls_as_one_over_the_weight_learned(rng):
    state, z = Ridge(DIM, 0.01, 1), rng.normal(size=(1, DIM))
    z /= np.linalg.norm(z)
    found = []
    for _ in range(1000):
        state.learn(z, np.ones((1, 1)), np.ones(1))
        found.append(state.leverage(z[0]))
    # One direction alone is scalar: K = 1 / (λ + n). The last is 1e-5 of the first, which costs five digits.
    np.testing.assert_allclose(found, 0.01 / (0.01 + np.arange(1, 1001)), rtol=1e-9)


def test_leverage_sees_what_was_unlearned(rng):
    state, z = Ridge(DIM, 0.01, CLASSES), rng.normal(size=DIM)
    rows = stream(rng, 3)
    state.learn(*rows)
    state.unlearn(*rows)
    assert state.leverage(z) == pytest.approx(1.0, rel=1e-12)


def test_a_row_without_length_is_unfamiliar(rng):
    assert learned(*stream(rng, 60)).leverage(np.zeros(DIM)) == 1.0


@pytest.mark.parametrize("ridge", [0.0, -1.0])
def test_a_ridge_that_is_not_positive_is_refused(ridge):
    with pytest.raises(ValueError, match=f"ridge must be positive, got {ridge}"):
        Ridge(DIM, ridge)


def test_unlearning_rows_that_were_never_learned_is_refused(rng):
    state = learned(*stream(rng, 12))
    with pytest.raises(StateError, match="were they learned here"):
        state.unlearn(*stream(rng, 3))


def test_refused_unlearning_leaves_the_state(rng):
    state = learned(*stream(rng, 12))
    before = state.weights.copy(), state.covariance
    with pytest.raises(StateError):
        state.unlearn(*stream(rng, 3))
    np.testing.assert_array_equal(state.weights, before[0])
    np.testing.assert_allclose(state.covariance, before[1], rtol=1e-12, atol=1e-12)


def test_a_state_goes_on_after_refused_unlearning(rng):
    X, Y, w = stream(rng, 24)
    state = learned(X[:12], Y[:12], w[:12])
    with pytest.raises(StateError):
        state.unlearn(*stream(rng, 3))
    state.learn(X[12:], Y[12:], w[12:])
    assert relative(state.weights, batch_weights(X, Y, w)) < 1e-11


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["weights", "tiles", "pending"])
def test_a_state_that_holds_a_number_that_is_not_finite_refuses_to_learn(name, value, rng):
    arrays = snapshot(learned(*stream(rng, 12)))
    arrays[name].flat[0] = value
    with pytest.raises(StateError, match=r"exhausted at ridge 0\.01"):
        Ridge.from_arrays(arrays).learn(*stream(rng, 3))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", [0, 1], ids=["row", "target"])
def test_a_row_or_target_that_is_not_finite_is_refused_and_leaves_the_state(part, value, rng):
    state = learned(*stream(rng, 12))
    before = state.weights.copy(), state.covariance
    given = stream(rng, 3)
    given[part][1, 2] = value
    with pytest.raises(StateError):
        state.learn(*given)
    np.testing.assert_array_equal(state.weights, before[0])
    np.testing.assert_allclose(state.covariance, before[1], rtol=1e-12, atol=1e-12)


def after_learning(rng):
    return learned(*stream(rng, 61))


def after_unlearning(rng):
    X, Y, w = stream(rng, 61)
    state = learned(X, Y, w)
    state.unlearn(X[7:9], Y[7:9], w[7:9])
    return state


def after_growing(rng):
    state = learned(*stream(rng, 61, classes=64))
    state.grow(65)
    return state


@pytest.mark.parametrize("moment", [lambda _: Ridge(DIM, 0.3, 2), after_learning, after_unlearning, after_growing])
def test_a_restored_state_continues_bit_for_bit(moment, rng):
    state = moment(rng)
    restored = Ridge.from_arrays(snapshot(state))
    for count in (3, 1, 4):
        lesson = stream(rng, count, classes=state.classes)
        for each in (state, restored):
            each.learn(*lesson)
        assert_same_bits(restored, state)


@pytest.mark.parametrize("moment", [after_learning, after_unlearning, after_growing])
def test_a_restored_state_answers_bit_for_bit(moment, rng):
    state, query = moment(rng), rng.normal(size=(3, DIM))
    restored = Ridge.from_arrays(snapshot(state))
    np.testing.assert_array_equal(restored.scores(query), state.scores(query))
    assert restored.leverage(query[0]) == state.leverage(query[0])


def test_a_restored_state_shares_nothing_with_what_it_was_restored_from(rng):
    arrays = snapshot(learned(*stream(rng, 61)))
    copies = {name: array.copy() for name, array in arrays.items()}
    Ridge.from_arrays(arrays).learn(*stream(rng, 3))
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, copies[name], err_msg=name)


@pytest.mark.parametrize("information", [0.0, 0.3, 0.9])
def test_only_the_given_share_of_the_rows_becomes_information(information, rng):
    X, Y, w = stream(rng, 90)
    state = Ridge(DIM, 0.01, CLASSES)
    for start in range(0, 90, 3):
        part = slice(start, start + 3)
        state.learn(X[part], Y[part], w[part], information)
    assert relative(state.covariance, batch_covariance(X, information * w)) < 1e-12


def test_merging_equals_the_batch_solution_over_the_base_and_both_streams(rng):
    X, Y, w = stream(rng, 300)
    base, first, second = (learned(X[:100], Y[:100], w[:100]) for _ in range(3))
    first.learn(X[100:200], Y[100:200], w[100:200])
    second.learn(X[200:], Y[200:], w[200:])
    merged = merge([first, second], [np.arange(CLASSES)] * 2, base, CLASSES)
    assert relative(merged.weights, batch_weights(X, Y, w)) <= 1e-8
    assert relative(merged.covariance, batch_covariance(X, w)) <= 1e-8


def test_merging_the_base_alone_gives_the_base(rng):
    base = learned(*stream(rng, 60))
    merged = merge([base], [np.arange(CLASSES)], base, CLASSES)
    assert relative(merged.weights, base.weights) < 1e-11


def test_a_merged_state_learns_on(rng):
    X, Y, w = stream(rng, 300)
    base, other = learned(X[:100], Y[:100], w[:100]), learned(X[:200], Y[:200], w[:200])
    merged = merge([base, other], [np.arange(CLASSES)] * 2, base, CLASSES)
    merged.learn(X[200:], Y[200:], w[200:])
    assert relative(merged.weights, batch_weights(X, Y, w)) <= 1e-8


def test_states_that_learned_less_than_the_base_cannot_be_merged(rng):
    base = learned(*stream(rng, 60))
    fresh = Ridge(DIM, 0.01, CLASSES)
    with pytest.raises(StateError, match="grown from this base"):
        merge([fresh, fresh], [np.arange(CLASSES)] * 2, base, CLASSES)


@pytest.fixture
def no_forced_switches():
    """A thread then runs until it gives the interpreter's lock away by itself."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(usual)


def test_another_thread_runs_while_an_update_does(rng, no_forced_switches):
    dim = 2048
    pending, W = np.zeros((RANK, round_up(dim))), np.zeros((dim, 1))
    tiles, X, G = identity_tiles(dim, 1.0), rng.normal(size=(RANK, dim)), np.empty((RANK, dim))

    def update():
        settle_and_multiply(tiles, pending, 1.0, X, G)
        absorb(pending, G, *read(X, G, W, 1), np.ones(RANK), W, 1.0, 1.0)

    update()  # compiled before it is watched
    counted = 0
    start = Lock()
    start.acquire()

    def count():
        nonlocal counted
        start.acquire()
        for _ in range(10_000):
            counted += 1

    camera = Thread(target=count)
    camera.start()
    start.release()
    # Nothing in this loop but the update can let the other thread in. It takes milliseconds; a waking thread needs
    # less, but on a busy machine not always, so there are many chances.
    for _ in range(200):
        update()
        if counted:
            break
    seen = counted
    camera.join()
    assert seen == 10_000


def test_a_ridge_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="got nan"):
        Ridge(4, float("nan"))
