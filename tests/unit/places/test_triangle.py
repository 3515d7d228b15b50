import numpy as np
import pytest

from tmapr.places.triangle import (
    RANK,
    TILE,
    from_dense,
    round_up,
    settle_and_multiply,
    to_dense,
)

DIMS = sorted({1, 31, 32, 33, 100, TILE - 1, TILE, TILE + 1, 3 * TILE + 4})
WIDEST = DIMS[-1]
every_dim = pytest.mark.parametrize("dim", DIMS)
both_signs = pytest.mark.parametrize("sign", [1.0, -1.0], ids=["learn", "unlearn"])


def symmetric(rng, dim):
    root = rng.normal(size=(dim, dim))
    return root + root.T


def rows(rng, dim, count=RANK):
    """Random rows, widened by zeros to whole tiles as the passes expect."""
    wide = np.zeros((count, round_up(dim)))
    wide[:, :dim] = rng.normal(size=(count, dim))
    return wide


@every_dim
def test_a_matrix_survives_being_cut_into_tiles(dim, rng):
    matrix = symmetric(rng, dim)
    np.testing.assert_array_equal(to_dense(from_dense(matrix, 1.0), dim), matrix)


@both_signs
@every_dim
def test_a_pass_applies_the_pending_downdate(dim, sign, rng):
    matrix, pending = symmetric(rng, dim), rows(rng, dim)
    tiles = from_dense(matrix, 1.0)
    expected = matrix - sign * (pending.T @ pending)[:dim, :dim]
    settle_and_multiply(tiles, pending, sign, rows(rng, dim), np.empty((RANK, round_up(dim))))
    # Entries of order 10 and four roundings each.
    np.testing.assert_allclose(to_dense(tiles, dim), expected, rtol=0, atol=1e-13)


@both_signs
@every_dim
def test_a_pass_multiplies_by_the_settled_matrix(dim, sign, rng):
    matrix, pending, factor = symmetric(rng, dim), rows(rng, dim), rows(rng, dim)
    product = np.full((RANK, round_up(dim)), np.nan)
    settled = matrix - sign * (pending.T @ pending)[:dim, :dim]
    settle_and_multiply(from_dense(matrix, 1.0), pending, sign, factor, product)
    # Sums of a few hundred terms of order 10, summed in another order.
    np.testing.assert_allclose(product[:, :dim], factor[:, :dim] @ settled, rtol=0, atol=1e-11)


@every_dim
def test_nothing_is_pending_after_a_pass(dim, rng):
    pending = rows(rng, dim)
    settle_and_multiply(from_dense(symmetric(rng, dim), 1.0), pending, 1.0, rows(rng, dim), np.empty_like(pending))
    np.testing.assert_array_equal(pending, 0.0)


@both_signs
@every_dim
def test_a_product_has_the_same_bits_whether_this_pass_settled_or_one_before(dim, sign, rng):
    tiles, pending, factor = from_dense(symmetric(rng, dim), 1.0), rows(rng, dim), rows(rng, dim)
    at_once, afterwards = np.empty_like(factor), np.empty_like(factor)
    settle_and_multiply(tiles, pending, sign, factor, at_once)
    settled = tiles.copy()
    settle_and_multiply(tiles, pending, sign, factor, afterwards)
    assert at_once.tobytes() == afterwards.tobytes()
    assert tiles.tobytes() == settled.tobytes()


def test_diagonal_tiles_stay_symmetric_to_the_last_bit(rng):
    tiles = from_dense(symmetric(rng, WIDEST), 1.0)
    product = np.empty((RANK, round_up(WIDEST)))
    for sign in rng.choice([-1.0, 1.0], size=2000):
        settle_and_multiply(tiles, rows(rng, WIDEST), sign, rows(rng, WIDEST), product)
    full = to_dense(tiles, round_up(WIDEST))
    for start in range(0, len(full), TILE):
        tile = full[start : start + TILE, start : start + TILE]
        np.testing.assert_array_equal(tile, tile.T)
