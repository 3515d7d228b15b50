"""The Triton kernels against NumPy and the CPU: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so test_device_kernels.py runs this
file in a process of its own. On a machine with a GPU: `pytest tests/device/kernel_checks.py`.
"""

import numpy as np
import pytest
import torch

from interpreting import DEVICE, numbers_as_numpy_has_them  # noqa: F401 (a fixture)
from ridges import learned, relative, stream
from tmapr.device.ridge import DeviceRidge
from tmapr.device.triangle import SLOTS, Triangle, Tuning
from tmapr.exceptions import StateError
from tmapr.places.analytic import Ridge
from tmapr.places.triangle import RANK, from_dense, round_up, to_dense

pytestmark = pytest.mark.usefixtures("numbers_as_numpy_has_them")
TUNINGS = {
    "default": Tuning(),
    "wide spans": Tuning(chunk=3, span=32, strip=16, times=1, run=2),
    "a tile at a time": Tuning(chunk=2, span=16, strip=16, times=4, stages=1, run=1),
}
OTHERS = [name for name in TUNINGS if name != "default"]


def random_rows(rng, count, dim):
    rows = torch.zeros(count, round_up(dim), dtype=torch.float64)
    rows[:, :dim] = torch.from_numpy(rng.normal(size=(count, dim)))
    return rows.to(DEVICE)


@pytest.mark.parametrize(("tuning", "dim"), [("default", 100), ("default", 300), *((name, 190) for name in OTHERS)])
def test_the_passes_equal_numpy_on_the_full_matrix(tuning, dim, rng):
    root = rng.normal(size=(dim, dim))
    tiles = torch.from_numpy(from_dense(root + root.T, 1.0)).to(DEVICE)
    pending, rows = random_rows(rng, SLOTS, dim), random_rows(rng, RANK, dim)
    signs = torch.zeros(SLOTS, dtype=torch.float64, device=DEVICE)
    signs[: 3 * RANK] = torch.tensor([1.0, -1.0, 1.0]).repeat_interleave(RANK)
    counters = torch.tensor([3, 3, 0], dtype=torch.int32, device=DEVICE)
    narrow = pending[:, :dim].cpu().numpy()
    settled = root + root.T - narrow.T @ (signs.cpu().numpy()[:, None] * narrow)
    triangle, product = Triangle(dim, DEVICE, TUNINGS[tuning]), torch.full_like(rows, torch.nan)

    triangle.multiply(tiles, pending, signs, rows, product)
    expected = rows[:, :dim].cpu().numpy() @ settled
    # Sums of some hundred terms of order 10, summed in another order.
    np.testing.assert_allclose(product[:, :dim].cpu().numpy(), expected, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(product[:, dim:].cpu().numpy(), 0.0)

    before = tiles.clone()
    triangle.flush(tiles, pending, signs, counters, least=4)
    assert torch.equal(tiles, before)
    triangle.flush(tiles, pending, signs, counters)
    np.testing.assert_allclose(to_dense(tiles.cpu().numpy(), dim), settled, rtol=0, atol=1e-13)
    assert counters.tolist() == [0, 0, 0]
    assert not signs.any()


def test_lessons_and_queries_equal_those_of_the_cpu(rng):
    dim, classes = 70, 5
    theirs = learned(Ridge, *stream(rng, 30, dim, classes))
    ours = DeviceRidge.from_arrays(theirs.arrays(), DEVICE)
    last = stream(rng, 3, dim, classes)
    for information in (1.0, 0.9):
        for state in (ours, theirs):
            state.learn(*last, information)
    ours.flush()
    for state in (ours, theirs):
        state.unlearn(*(array[:2] for array in last))
    assert relative(ours.weights, theirs.weights) < 1e-12
    assert relative(ours.covariance, theirs.covariance) < 1e-12
    rows = rng.normal(size=(3, dim))
    scores, leverage = ours.observe(torch.from_numpy(rows).to(DEVICE))
    np.testing.assert_allclose(scores[:, :classes].cpu().numpy(), theirs.scores(rows), rtol=1e-11, atol=1e-13)
    assert float(leverage) == pytest.approx(theirs.leverage(rows[0]), rel=1e-10)


def test_many_classes_go_in_blocks(rng):
    lesson = stream(rng, 3, 64, 200)
    ours, theirs = DeviceRidge(64, 0.01, 200, DEVICE), Ridge(64, 0.01, 200)
    for state in (ours, theirs):
        state.learn(*lesson)
    assert relative(ours.weights, theirs.weights) < 1e-12


@pytest.mark.parametrize("spoiled", ["row", "target", "sign"])
def test_a_refused_lesson_changes_nothing(spoiled, rng):
    state = DeviceRidge(64, 0.01, 5, DEVICE)
    X, Y, w = stream(rng, 3, 64, 5)
    state.learn(X, Y, w)
    before, covariance = state.weights, state.covariance
    X, Y, w = stream(rng, 3, 64, 5)
    {"row": X, "target": Y, "sign": np.ones((3, 3))}[spoiled][1, 2] = np.nan
    with pytest.raises(StateError):
        (state.unlearn if spoiled == "sign" else state.learn)(X, Y, w)
    np.testing.assert_array_equal(state.weights, before)
    np.testing.assert_array_equal(state.covariance, covariance)


def test_a_row_without_length_is_unfamiliar():
    _, leverage = DeviceRidge(64, 0.01, 5, DEVICE).observe(torch.zeros(3, 64, dtype=torch.float64, device=DEVICE))
    assert float(leverage) == 1.0
