import numpy as np
import pytest
from sklearn.decomposition import PCA

from tmapr.places.projection import Projection, fit_subspace

WIDTH = 24
PINNED = [95, -126, -62, -39, -49, -21, 15, -93, 33, -41]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def traverse(rng, count=200, rank=WIDTH):
    """Descriptors that vary in `rank` directions about a common mean."""
    axes = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0][:rank]
    return 0.4 * np.ones(WIDTH) + rng.normal(size=(count, rank)) * np.linspace(1, 0.1, rank) @ axes


def dense(lift):
    """The lift's matrix with unit variance per entry: 512 columns after 512 columns, rows padded to fours."""
    padded = -(-lift.width // 4) * 4
    blocks = [
        lift.matrix[start * padded : min(start + 512, lift.dimension) * padded].reshape(padded, -1)
        for start in range(0, lift.dimension, 512)
    ]
    return (np.hstack(blocks)[: lift.width] + 0.5) / np.sqrt((256**2 - 1) / 12)


def test_the_entries_of_a_seeds_lift_never_change():
    # The first bytes of the first raw integers of PCG64(0). A saved map relies on them.
    lift = Projection(seed=0, dimension=64).fit(np.zeros((1, WIDTH)))
    np.testing.assert_array_equal(lift.matrix[:10], PINNED)


@pytest.mark.parametrize("width", [24, 25, 27, 1])
@pytest.mark.parametrize("dimension", [2, 64, 512, 513, 1500])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_a_lift_rectifies_a_linear_map(width, dimension, count, rng):
    lift, descriptors = Projection(dimension=dimension).fit(np.zeros((1, width))), rng.normal(size=(count, width))
    expected = np.maximum(descriptors @ dense(lift) * np.sqrt(2 / dimension), 0.0)
    np.testing.assert_allclose(lift(descriptors), expected, rtol=1e-9, atol=1e-12)


def test_the_entries_of_a_lift_are_uniform_and_independent(rng):
    entries = dense(Projection(dimension=2048).fit(np.zeros((1, 100))))
    count = entries.size
    assert abs(entries.mean()) < 4 / np.sqrt(count)
    assert abs(entries.var() - 1) < 4 * np.sqrt(0.8 / count)  # a uniform's fourth moment is 1.8
    assert np.abs(np.corrcoef(entries) - np.eye(100)).max() < 5 / np.sqrt(2048)


def test_a_lift_gives_unit_descriptors_a_mean_squared_length_of_one(rng):
    squares = []
    for seed in range(500):
        projector = Projection(seed=seed, dimension=64).fit(np.zeros((1, WIDTH)))
        squares.append(float(np.sum(projector(unit(rng.normal(size=(1, WIDTH)))) ** 2)))
    assert abs(np.mean(squares) - 1.0) < 4 * np.std(squares) / np.sqrt(len(squares))


@pytest.mark.parametrize("dimension", [1, 8, 24])
def test_a_principal_subspace_gives_its_own_data_a_mean_squared_length_of_one(dimension, rng):
    descriptors = traverse(rng)
    squares = np.sum(fit_subspace(descriptors, dimension)(descriptors) ** 2, axis=1)
    assert squares.mean() == pytest.approx(1.0, rel=1e-12)


def test_a_principal_subspace_is_that_of_principal_component_analysis(rng):
    descriptors, queries = traverse(rng), traverse(rng, 9)
    expected = PCA(8).fit(descriptors).transform(queries)
    found = fit_subspace(descriptors, 8)(queries)
    # Axes have no sign of their own, and ours share one scale.
    scale = np.linalg.norm(found) / np.linalg.norm(expected)
    np.testing.assert_allclose(np.abs(found), scale * np.abs(expected), rtol=1e-9, atol=1e-11)


def test_a_pca_projection_is_the_principal_subspace_of_the_reference(rng):
    descriptors = traverse(rng)
    fitted = Projection(kind="pca", dimension=8).fit(descriptors)
    np.testing.assert_array_equal(fitted(descriptors), fit_subspace(descriptors, 8)(descriptors))


@pytest.mark.parametrize(("count", "rank", "kept"), [(200, 5, 5), (200, 24, 24), (7, 24, 6), (2, 24, 1)])
def test_a_principal_subspace_is_at_most_as_wide_as_the_data_allow(count, rank, kept, rng):
    assert fit_subspace(traverse(rng, count, rank), 100).dimension == kept


def test_a_reference_that_never_changes_does_not_blow_up_other_descriptors(rng):
    rows = rng.normal(size=(6, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    still = np.repeat(rows[:1], 7, axis=0)
    assert np.abs(fit_subspace(still, 8)(rows)).max() < 10


def test_a_long_traverse_is_sampled_and_still_gives_its_subspace(rng):
    descriptors = traverse(rng, 5000, rank=3)
    expected = PCA(3).fit(descriptors).components_
    found = fit_subspace(descriptors, 3).axes.T
    cosines = np.abs(np.sum(unit(found) * expected, axis=1))
    assert cosines.min() > 0.99
