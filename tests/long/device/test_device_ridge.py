"""K and W on a device beside those on the CPU; what both keep is in tests/contracts/test_ridge_contract.py."""

import numpy as np
import pytest
import torch

from ridges import CLASSES, DIM, batch_weights, learned, relative, snapshot, stream
from tmapr.artifacts.layout import check_arrays
from tmapr.device.ridge import DeviceRidge
from tmapr.device.triangle import UPDATES
from tmapr.exceptions import StateError
from tmapr.places.analytic import LAYOUT, Ridge


def drive(rng, count, dim, classes):
    """Three unit rows a frame that show one place, as a drive past the same places again and again gives them."""
    views = rng.normal(size=(classes, dim))
    for _ in range(count):
        place = int(rng.integers(classes))
        rows = views[place] + 0.5 * rng.normal(size=(3, dim))
        yield rows / np.linalg.norm(rows, axis=1, keepdims=True), place, rng.uniform(0.3, 1.0, size=3)


@pytest.mark.parametrize("count", [500, 10_000])
def test_a_long_drive_leaves_the_weights_of_the_cpu(count, rng):
    dim, classes = 192, 20
    ours, theirs = DeviceRidge(dim, 0.01, classes), Ridge(dim, 0.01, classes)
    for rows, place, weights in drive(rng, count, dim, classes):
        ours.observe(torch.from_numpy(rows))
        ours.absorb_place(torch.tensor(place), torch.from_numpy(weights))
        ours.flush(UPDATES)
        theirs.learn(rows, np.eye(classes)[[place] * 3], weights)
    ours.check()
    assert relative(ours.weights, theirs.weights) < 1e-9
    assert relative(ours.covariance, theirs.covariance) < 1e-9


@pytest.mark.parametrize("least", [1, 3])
def test_how_often_it_is_flushed_changes_nothing(least, rng):
    lessons = list(drive(rng, 60, DIM, CLASSES))
    often, seldom = DeviceRidge(DIM, 0.01, CLASSES), DeviceRidge(DIM, 0.01, CLASSES)
    for state, flushed in ((often, least), (seldom, UPDATES)):
        for rows, place, weights in lessons:
            state.observe(torch.from_numpy(rows))
            state.absorb_place(torch.tensor(place), torch.from_numpy(weights))
            state.flush(flushed)
    assert relative(often.weights, seldom.weights) < 1e-12
    assert relative(often.covariance, seldom.covariance) < 1e-12


def test_observing_gives_scores_and_leverage(rng):
    state, rows = learned(DeviceRidge, *stream(rng, 61)), rng.normal(size=(3, DIM))
    scores, leverage = state.observe(torch.from_numpy(rows))
    np.testing.assert_allclose(scores[:, :CLASSES], rows @ state.weights, rtol=1e-12, atol=1e-13)
    assert float(leverage) == pytest.approx(state.leverage(rows[0]), rel=1e-12)


def test_classes_entered_within_the_capacity_leave_what_is_observed_where_it_was(rng):
    state, rows = learned(DeviceRidge, *stream(rng, 61)), torch.from_numpy(rng.normal(size=(3, DIM)))
    before, _ = state.observe(rows)
    state.grow(state.capacity)
    after, _ = state.observe(rows)
    assert after.shape == (3, state.capacity)
    assert after.data_ptr() == before.data_ptr()
    assert not after[:, CLASSES:].any()


def test_a_query_between_observing_and_absorbing_does_not_disturb_the_lesson(rng):
    X, Y, w = stream(rng, 63)
    state = learned(DeviceRidge, X[:60], Y[:60], w[:60])
    state.observe(torch.from_numpy(X[60:]))
    state.leverage(rng.normal(size=DIM))
    state.scores(rng.normal(size=(2, DIM)))
    state.absorb(torch.from_numpy(Y[60:]), torch.from_numpy(w[60:]))
    assert relative(state.weights, batch_weights(X, Y, w)) < 1e-11


def test_room_made_between_observing_and_absorbing_does_not_disturb_the_lesson(rng):
    X, Y, w = stream(rng, 63, classes=70)
    state = learned(DeviceRidge, X[:60], Y[:60, :64], w[:60])
    state.observe(torch.from_numpy(X[60:]))
    state.grow(70)
    state.absorb(torch.from_numpy(Y[60:]), torch.from_numpy(w[60:]))
    Y[:60, 64:] = 0.0
    assert relative(state.weights, batch_weights(X, Y, w)) < 1e-11


def test_rows_in_single_precision_are_taken_as_they_are(rng):
    rows = rng.normal(size=(3, DIM)).astype(np.float32)
    state = learned(DeviceRidge, *stream(rng, 61))
    scores, _ = state.observe(torch.from_numpy(rows))
    np.testing.assert_allclose(scores[:, :CLASSES], rows.astype(float) @ state.weights, rtol=1e-12, atol=1e-13)


def test_a_refused_lesson_is_told_when_the_host_asks_and_only_once(rng):
    X, Y, w = (torch.from_numpy(array) for array in stream(rng, 6))
    state = DeviceRidge(DIM, 0.01, CLASSES)
    for block, terms in ((slice(3), state.terms(-1.0)), (slice(3, 6), None)):
        state.observe(X[block])
        state.absorb(Y[block], w[block], terms)
    with pytest.raises(StateError, match="were they learned here"):
        state.check(-1.0)
    state.check()
    assert relative(state.weights, batch_weights(X[3:], Y[3:], w[3:])) < 1e-11


def test_lessons_beyond_those_that_can_wait_are_refused(rng):
    X, Y, w = (torch.from_numpy(array) for array in stream(rng, 3 * UPDATES + 3))
    state = DeviceRidge(DIM, 0.01, CLASSES)
    for start in range(0, len(X), 3):
        state.observe(X[start : start + 3])
        state.absorb(Y[start : start + 3], w[start : start + 3])
    with pytest.raises(StateError):
        state.check()
    assert relative(state.weights, batch_weights(X[:-3], Y[:-3], w[:-3])) < 1e-11


def test_what_the_cpu_saved_goes_on_on_a_device_and_back(rng):
    X, Y, w = stream(rng, 90)
    on_cpu = learned(Ridge, X[:30], Y[:30], w[:30])
    on_device = DeviceRidge.from_arrays(snapshot(on_cpu))
    on_device.learn(X[30:61], Y[30:61], w[30:61])
    arrays = snapshot(on_device)
    check_arrays("a state", arrays, LAYOUT, "save it again")
    back = Ridge.from_arrays(arrays)
    back.learn(X[61:], Y[61:], w[61:])
    assert relative(back.weights, batch_weights(X, Y, w)) < 1e-11


def test_room_for_classes_doubles():
    state = DeviceRidge(DIM, 0.01, 3)
    rooms = []
    for classes in (64, 65, 128, 500):
        state.grow(classes)
        rooms.append(state.capacity)
    assert rooms == [64, 128, 128, 512]
