"""The world's texture as numbers; how it lies on surfaces is seen in the tests of the renderer."""

import numpy as np
import pytest

from tmapr.simulation.texture import LEVELS, SIZE, TEXEL, make_texture

TEXTURE = make_texture(7)


def levels(texture):
    """Level by level, as squares."""
    found, start = [], 0
    for level in range(LEVELS):
        side = SIZE >> level
        found.append(texture[start : start + side**2].reshape(side, side, 2))
        start += side**2
    assert start == len(texture)
    return found


def test_values_use_their_range():
    np.testing.assert_allclose(levels(TEXTURE)[0].std(axis=(0, 1)), 1 / 3, rtol=0.02)


def test_the_same_seed_gives_the_same_texture():
    np.testing.assert_array_equal(make_texture(7), TEXTURE)


@pytest.mark.parametrize("level", range(1, LEVELS))
def test_a_coarser_level_is_the_average_of_the_finer(level):
    finer, coarser = levels(TEXTURE)[level - 1 : level + 1]
    fours = (finer[0::2, 0::2] + finer[1::2, 0::2] + finer[0::2, 1::2] + finer[1::2, 1::2]) / 4
    np.testing.assert_allclose(coarser, fours, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_no_seam_at_the_border_of_the_tile(axis):
    """From the last row to the first it steps no further than between rows within."""
    finest = levels(TEXTURE)[0]
    across = np.abs(np.take(finest, 0, axis) - np.take(finest, -1, axis)).mean()
    assert across == pytest.approx(np.abs(np.diff(finest, axis=axis)).mean(), rel=0.2)


def test_no_wave_is_longer_than_eight_metres():
    waves = np.abs(np.fft.fft2(levels(TEXTURE)[0][:, :, 0]))
    frequency = np.hypot(*np.meshgrid(*[np.fft.fftfreq(SIZE, TEXEL)] * 2)) * 8.0
    # Clipping at three deviations stirs a little of everything.
    assert waves[frequency < 0.99].max() < 0.02 * waves.max()


def test_neighbours_are_alike_and_points_two_metres_apart_are_not():
    """Amplitudes fall with the wave number."""
    finest = levels(TEXTURE)[0][:, :, 0]
    near, far = (np.mean(finest * np.roll(finest, shift, 1)) / np.var(finest) for shift in (1, round(2 / TEXEL)))
    assert near > 0.7
    assert abs(far) < 0.2
