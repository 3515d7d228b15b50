"""The passes over the triangle by torch, against NumPy on the full matrix."""

import numpy as np
import pytest
import torch

from tmapr.device.triangle import SLOTS, UPDATES, Triangle
from tmapr.places.triangle import RANK, TILE, from_dense, round_up, to_dense

CPU = torch.device("cpu")
every_dim = pytest.mark.parametrize("dim", [1, 63, 64, 65, 200])


class Case:
    """A symmetric matrix of which two updates still wait to be subtracted and one to be added."""

    def __init__(self, dim, rng):
        root = rng.normal(size=(dim, dim))
        self.dim, self.matrix = dim, root + root.T
        self.tiles = torch.from_numpy(from_dense(self.matrix, 1.0))
        self.pending = self.widen(rng.normal(size=(SLOTS, dim)))
        self.signs = torch.zeros(SLOTS, dtype=torch.float64)
        self.signs[: 3 * RANK] = torch.tensor([1.0, -1.0, 1.0]).repeat_interleave(RANK)
        self.counters = torch.tensor([3, 3, 0], dtype=torch.int32)
        self.rows = self.widen(rng.normal(size=(RANK, dim)))

    def widen(self, rows):
        wide = torch.zeros(len(rows), round_up(self.dim), dtype=torch.float64)
        wide[:, : self.dim] = torch.from_numpy(rows)
        return wide

    @property
    def settled(self):
        pending = self.pending[:, : self.dim].numpy()
        return self.matrix - pending.T @ (self.signs.numpy()[:, None] * pending)

    def multiply(self):
        product = torch.full_like(self.rows, torch.nan)
        Triangle(self.dim, CPU).multiply(self.tiles, self.pending, self.signs, self.rows, product)
        return product.numpy()

    def flush(self, least=1):
        Triangle(self.dim, CPU).flush(self.tiles, self.pending, self.signs, self.counters, least)


@every_dim
def test_the_product_sees_what_waits(dim, rng):
    case = Case(dim, rng)
    expected = case.rows[:, :dim].numpy() @ case.settled
    # Sums of some hundred terms of order 10, summed in another order.
    np.testing.assert_allclose(case.multiply()[:, :dim], expected, rtol=0, atol=1e-11)


@every_dim
def test_the_padding_never_leaks_into_the_product(dim, rng):
    np.testing.assert_array_equal(Case(dim, rng).multiply()[:, dim:], 0.0)


@every_dim
def test_flushing_applies_what_waits(dim, rng):
    case = Case(dim, rng)
    expected = case.settled
    case.flush()
    np.testing.assert_allclose(to_dense(case.tiles.numpy(), dim), expected, rtol=0, atol=1e-13)


def test_nothing_waits_after_flushing(rng):
    case = Case(100, rng)
    case.flush()
    assert case.counters.tolist() == [0, 0, 0]
    assert not case.signs.any()


def test_too_few_to_flush_are_left_waiting(rng):
    case = Case(100, rng)
    before = case.tiles.clone()
    case.flush(least=UPDATES)
    assert case.counters.tolist() == [3, 3, 0]
    np.testing.assert_array_equal(case.tiles, before)


def test_diagonal_tiles_stay_symmetric_to_the_last_bit(rng):
    case = Case(200, rng)
    case.flush()
    full = to_dense(case.tiles.numpy(), 256)
    for start in range(0, len(full), TILE):
        tile = full[start : start + TILE, start : start + TILE]
        np.testing.assert_array_equal(tile, tile.T)
