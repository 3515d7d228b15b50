import numpy as np
import pytest

from tmapr.places.triangle import (
    RANK,
    TILE,
    from_dense,
    identity_tiles,
    quadratic_form,
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
    settle_and_multiply(tiles, pending, sign, rows(rng, dim), np.empty((RANK, round_up(dim))))
    expected = matrix - sign * (pending.T @ pending)[:dim, :dim]
    # Entries of order 10 and four roundings each.
    np.testing.assert_allclose(to_dense(tiles, dim), expected, rtol=0, atol=1e-13)


@both_signs
@every_dim
def test_a_pass_multiplies_by_the_settled_matrix(dim, sign, rng):
    matrix, pending, factor = symmetric(rng, dim), rows(rng, dim), rows(rng, dim)
    product = np.full((RANK, round_up(dim)), np.nan)
    settle_and_multiply(from_dense(matrix, 1.0), pending, sign, factor, product)
    settled = matrix - sign * (pending.T @ pending)[:dim, :dim]
    # Sums of a few hundred terms of order 10, summed in another order.
    np.testing.assert_allclose(product[:, :dim], factor[:, :dim] @ settled, rtol=0, atol=1e-11)


@every_dim
def test_the_padding_never_leaks_into_a_product(dim, rng):
    product = np.empty((RANK, round_up(dim)))
    tiles = from_dense(symmetric(rng, dim), 1e300)
    settle_and_multiply(tiles, rows(rng, dim), 1.0, rows(rng, dim), product)
    np.testing.assert_array_equal(product[:, dim:], 0.0)


@both_signs
@every_dim
def test_a_quadratic_form_sees_the_pending_downdate(dim, sign, rng):
    matrix, pending, row = symmetric(rng, dim), rows(rng, dim), rows(rng, dim, 1)[0]
    settled = matrix - sign * (pending.T @ pending)[:dim, :dim]
    found = quadratic_form(from_dense(matrix, 1.0), pending, sign, row)
    # Up to 10⁵ terms of order 10, summed in another order.
    np.testing.assert_allclose(found, row[:dim] @ settled @ row[:dim], rtol=1e-12, atol=1e-10)


def test_a_quadratic_form_reads_only(rng):
    tiles, pending, row = from_dense(symmetric(rng, WIDEST), 1.0), rows(rng, WIDEST), rows(rng, WIDEST, 1)[0]
    before = [array.copy() for array in (tiles, pending, row)]
    quadratic_form(tiles, pending, 1.0, row)
    for array, copy in zip((tiles, pending, row), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_diagonal_tiles_stay_symmetric_to_the_last_bit(rng):
    tiles = from_dense(symmetric(rng, WIDEST), 1.0)
    product = np.empty((RANK, round_up(WIDEST)))
    for sign in rng.choice([-1.0, 1.0], size=2000):
        settle_and_multiply(tiles, rows(rng, WIDEST), sign, rows(rng, WIDEST), product)
    full = to_dense(tiles, round_up(WIDEST))
    for start in range(0, len(full), TILE):
        tile = full[start : start + TILE, start : start + TILE]
        np.testing.assert_array_equal(tile, tile.T)
