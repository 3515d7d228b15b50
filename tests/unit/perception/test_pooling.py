"""Pooled and joined descriptors against formulas in float64."""

from math import ceil, floor

import numpy as np
import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings as budget
from hypothesis import strategies as st

from tmapr.perception.encoder import Features
from tmapr.perception.pooling import Aggregator, Gem, GridPooling, Joined, average_tokens

CHANNELS = 6
GRIDS = [(4, 8), (15, 41), (5, 7), (1, 1), (3, 2)]


def features(rng, rows=5, columns=7, images=3):
    tokens = rng.normal(size=(images, rows * columns, CHANNELS)).astype(np.float32)
    summary = rng.normal(size=(images, CHANNELS)).astype(np.float32)
    return Features(torch.from_numpy(tokens), torch.from_numpy(summary), rows, columns)


def blank():
    return Features(torch.zeros(2, 35, CHANNELS), torch.zeros(2, CHANNELS), 5, 7)


def unit(values):
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def looped_cells(given, rows, columns):
    """One cell at a time, with the bounds of adaptive average pooling: [images, rows, columns, channels]."""
    grid = given.tokens.double().numpy().reshape(-1, given.rows, given.columns, CHANNELS)
    cells = np.empty((len(grid), rows, columns, CHANNELS))
    for row in range(rows):
        upper, lower = floor(row * given.rows / rows), ceil((row + 1) * given.rows / rows)
        for column in range(columns):
            left, right = floor(column * given.columns / columns), ceil((column + 1) * given.columns / columns)
            cells[:, row, column] = grid[:, upper:lower, left:right].mean(axis=(1, 2))
    return cells


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("first", [None, 2])
def test_grid_pooling_is_the_average_of_each_cell(grid, first, rng):
    given = features(rng, *grid)
    pooling = GridPooling(CHANNELS, first=first)
    cell_major = looped_cells(given, 2, 4)[..., :first].reshape(3, -1)
    np.testing.assert_allclose(pooling(given), unit(cell_major), atol=1e-6)
    assert pooling.dim == cell_major.shape[1]


def test_the_cells_follow_one_another_with_their_channels_together():
    tokens = torch.zeros(1, 32, CHANNELS)
    second_row, fifth_column, fourth_channel = 1, 4, 3
    tokens[0, second_row * 8 + fifth_column, fourth_channel] = 1.0
    described = GridPooling(CHANNELS)(Features(tokens, torch.zeros(1, CHANNELS), 4, 8))
    assert described[0].nonzero().flatten().tolist() == [2 * CHANNELS + fourth_channel]


@pytest.mark.parametrize("cells", [(2, 4), (3, 3), (1, 1), (7, 9)])
def test_averaged_features_are_a_coarser_grid(cells, rng):
    given = features(rng)
    coarse = average_tokens(given, *cells)
    expected = looped_cells(given, *cells).reshape(3, -1, CHANNELS)
    np.testing.assert_allclose(coarse.tokens, expected, atol=1e-6)
    assert (coarse.rows, coarse.columns) == cells
    assert coarse.summary is given.summary


@pytest.mark.parametrize("power", [1.0, 3.0, 6.5, 60.0])
def test_gem_is_the_generalised_mean(power, rng):
    given = features(rng)
    above = np.maximum(given.tokens.double().numpy(), 1e-6)
    expected = unit(np.mean(above**power, axis=1) ** (1 / power))
    np.testing.assert_allclose(Gem(CHANNELS, power=power)(given), expected, rtol=1e-5)


def test_joined_parts_keep_their_order_and_their_weights(rng):
    given = features(rng)
    grid, gem = GridPooling(CHANNELS), Gem(CHANNELS)
    joined = Joined([grid, gem], [1.0, 0.5])
    expected = torch.cat([grid(given), 0.5 * gem(given)], dim=1) / 1.25**0.5
    torch.testing.assert_close(joined(given), expected)
    assert joined.dim == grid.dim + gem.dim


@budget(derandomize=True)
@drawn(weights=st.lists(st.floats(0.01, 100.0), min_size=3, max_size=3), seed=st.integers(0, 1000))
def test_a_joined_similarity_is_the_mean_of_the_parts_weighted_by_the_square(weights, seed):
    given = features(np.random.default_rng(seed), images=2)
    parts = [GridPooling(CHANNELS), Gem(CHANNELS), GridPooling(CHANNELS, rows=1, columns=1)]
    cosines = [float(np.dot(*part(given).double().numpy())) for part in parts]
    expected = np.average(cosines, weights=np.square(weights))
    assert np.dot(*Joined(parts, weights)(given).double().numpy()) == pytest.approx(expected, abs=1e-5)


PARTS = [GridPooling(CHANNELS), Gem(CHANNELS), Joined([GridPooling(CHANNELS), Gem(CHANNELS)], [1.0, 2.0])]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_every_descriptor_has_unit_length_and_the_length_it_announced(part, rng):
    described = part(features(rng))
    assert isinstance(part, Aggregator)
    assert described.shape == (3, part.dim)
    np.testing.assert_allclose(described.norm(dim=1), 1.0, rtol=1e-6)


def test_the_average_of_nothing_is_zero_and_not_nan():
    assert torch.equal(GridPooling(CHANNELS)(blank()), torch.zeros(2, 8 * CHANNELS))
    assert torch.equal(Joined([GridPooling(CHANNELS)], [2.0])(blank()), torch.zeros(2, 8 * CHANNELS))


def test_the_generalised_mean_of_nothing_points_nowhere_in_particular():
    np.testing.assert_allclose(Gem(CHANNELS)(blank()), CHANNELS**-0.5, rtol=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Joined([], []), "got 0 parts and 0 weights"),
        (lambda: Joined([Gem(CHANNELS)], [1.0, 2.0]), "got 1 parts and 2 weights"),
        (lambda: Joined([Gem(CHANNELS)], [0.0]), r"must be positive, got \[0.0\]"),
        (lambda: Joined([Gem(CHANNELS)], [float("nan")]), "must be positive"),
        (lambda: Gem(CHANNELS, power=0.0), "power must be positive, got 0.0"),
        (lambda: GridPooling(CHANNELS, rows=0), "got 0×4"),
        (lambda: GridPooling(CHANNELS, first=7), "between 1 and the 6 channels of a token, got 7"),
        (lambda: GridPooling(CHANNELS, first=0), "got 0"),
    ],
)
def test_what_cannot_be_built_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
