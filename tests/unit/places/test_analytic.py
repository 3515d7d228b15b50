import sys
from itertools import pairwise
from threading import Lock, Thread

import numpy as np
import pytest
from scipy.signal import lfilter

from ridges import batch_weights, relative
from tmapr.places.analytic import Ridge
from tmapr.places.recursion import absorb, find_update, read
from tmapr.places.triangle import RANK, identity_tiles, round_up, settle_and_multiply


def walk(rng, count, dim):
    """Unit rows that turn slowly within a subspace of an eighth of the dimensions, with a little noise."""
    axes = np.linalg.qr(rng.normal(size=(dim, dim // 8)))[0]
    path = lfilter([0.2], [1.0, -0.98], rng.normal(size=(count, dim // 8)), axis=0)
    rows = path @ axes.T + 0.001 * rng.normal(size=(count, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_after_5_000_weighted_updates_the_recursion_equals_the_batch_solution(ridge, rng):
    count, dim, classes = 5_000, 128, 8
    X = walk(rng, count, dim)
    Y = np.eye(classes)[np.arange(count) // 500 % classes]
    w = rng.uniform(0.5, 1.7, size=count)
    state = Ridge(dim, ridge, classes)
    # One, two and three rows at a time, and more, which go through by threes.
    for start, stop in pairwise([0, *np.cumsum([1, 2, 3, 34] * (count // 40)).tolist()]):
        state.learn(X[start:stop], Y[start:stop], w[start:stop])
        if stop % 1_000 == 0:
            K = state.covariance
            np.testing.assert_array_equal(K, K.T)
            np.linalg.cholesky(K)
    assert relative(state.weights, batch_weights(X, Y, w, ridge)) <= 1e-8


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
        correction, factor, _ = find_update(*read(X, G, W, 1), np.ones(RANK), 1.0, 1.0)
        absorb(pending, G, W, correction, factor)

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
