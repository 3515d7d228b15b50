import sys
from itertools import pairwise
from threading import Lock, Thread

import numpy as np
import pytest
from scipy.signal import lfilter

from ridges import CLASSES, DIM, batch_covariance, batch_weights, learned, relative, stream
from tmapr.exceptions import StateError
from tmapr.places.analytic import Ridge, merge
from tmapr.places.recursion import update
from tmapr.places.triangle import RANK, identity_tiles, round_up


def walk(rng, count, dim):
    """Unit rows that turn slowly within a subspace of an eighth of the dimensions, with a little noise."""
    axes = np.linalg.qr(rng.normal(size=(dim, dim // 8)))[0]
    path = lfilter([0.2], [1.0, -0.98], rng.normal(size=(count, dim // 8)), axis=0)
    rows = path @ axes.T + 0.001 * rng.normal(size=(count, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


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


def test_merging_equals_the_batch_solution_over_the_base_and_both_streams(rng):
    X, Y, w = stream(rng, 300)
    base, first, second = (learned(Ridge, X[:100], Y[:100], w[:100]) for _ in range(3))
    first.learn(X[100:200], Y[100:200], w[100:200])
    second.learn(X[200:], Y[200:], w[200:])
    merged = merge([first, second], [np.arange(CLASSES)] * 2, base, CLASSES)
    assert relative(merged.weights, batch_weights(X, Y, w)) <= 1e-8
    assert relative(merged.covariance, batch_covariance(X, w)) <= 1e-8


def test_merging_the_base_alone_gives_the_base(rng):
    base = learned(Ridge, *stream(rng, 60))
    merged = merge([base], [np.arange(CLASSES)], base, CLASSES)
    assert relative(merged.weights, base.weights) < 1e-11


def test_a_merged_state_learns_on(rng):
    X, Y, w = stream(rng, 300)
    base, other = learned(Ridge, X[:100], Y[:100], w[:100]), learned(Ridge, X[:200], Y[:200], w[:200])
    merged = merge([base, other], [np.arange(CLASSES)] * 2, base, CLASSES)
    merged.learn(X[200:], Y[200:], w[200:])
    assert relative(merged.weights, batch_weights(X, Y, w)) <= 1e-8


def test_states_that_learned_less_than_the_base_cannot_be_merged(rng):
    base = learned(Ridge, *stream(rng, 60))
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
    state = identity_tiles(dim, 1.0), np.zeros((RANK, round_up(dim))), 1.0
    lesson = rng.normal(size=(RANK, dim)), np.ones((RANK, 1)), np.zeros((dim, 1)), 1.0, 1.0
    update(*state, *lesson)  # compiled before it is watched
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
        update(*state, *lesson)
        if counted:
            break
    seen = counted
    camera.join()
    assert seen == 10_000
