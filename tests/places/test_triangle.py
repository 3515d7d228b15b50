import numpy as np
import pytest

from tmapr.places.triangle import (
    RANK,
    TILE,
    from_dense,
    identity_tiles,
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


@every_dim
def test_only_the_lower_triangle_of_tiles_is_kept(dim, rng):
    panels = round_up(dim) // TILE
    assert from_dense(symmetric(rng, dim), 1.0).size == panels * (panels + 1) // 2 * TILE**2


@every_dim
def test_a_scaled_identity_is_the_tiles_of_a_diagonal_matrix(dim):
    np.testing.assert_array_equal(identity_tiles(dim, 0.25), from_dense(0.25 * np.eye(dim), 0.25))


@pytest.mark.parametrize(("dim", "tiles"), [(1, 1), (TILE - 1, 1), (TILE, 1), (TILE + 1, 2), (3 * TILE + 4, 4)])
def test_a_dimension_is_rounded_up_to_whole_tiles(dim, tiles):
    assert round_up(dim) == tiles * TILE


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
def test_the_padding_never_leaks_into_a_product(dim, rng):
    product = np.empty((RANK, round_up(dim)))
    tiles = from_dense(symmetric(rng, dim), 1e300)
    settle_and_multiply(tiles, rows(rng, dim), 1.0, rows(rng, dim), product)
    np.testing.assert_array_equal(product[:, dim:], 0.0)


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


@every_dim
def test_what_else_is_multiplied_by_leaves_the_tiles_and_a_row_as_they_would_be(dim, rng):
    matrix, pending, factor, others = symmetric(rng, dim), rows(rng, dim), rows(rng, dim), rows(rng, dim)
    others[0] = factor[0]
    tiles, products = [from_dense(matrix, 1.0) for _ in range(2)], np.empty((2, *factor.shape))
    for each, given, product in zip(tiles, (factor, others), products, strict=True):
        settle_and_multiply(each, pending.copy(), 1.0, given, product)
    assert tiles[0].tobytes() == tiles[1].tobytes()
    assert products[0, 0].tobytes() == products[1, 0].tobytes()


def test_diagonal_tiles_stay_symmetric_to_the_last_bit(rng):
    tiles = from_dense(symmetric(rng, WIDEST), 1.0)
    product = np.empty((RANK, round_up(WIDEST)))
    for sign in rng.choice([-1.0, 1.0], size=2000):
        settle_and_multiply(tiles, rows(rng, WIDEST), sign, rows(rng, WIDEST), product)
    full = to_dense(tiles, round_up(WIDEST))
    for start in range(0, len(full), TILE):
        tile = full[start : start + TILE, start : start + TILE]
        np.testing.assert_array_equal(tile, tile.T)
