"""What a shift of the picture means: the gain is found among wrong pairs, and nothing where there is none."""

import numpy as np
import pytest

from tmapr.data.turns import fit_turn_gain, pair_turns
from tmapr.perception.gyroscope import Gyroscope

PAIRS = 400


@pytest.fixture
def shifts(rng):
    return rng.normal(0.0, 0.05, PAIRS)


def paired(turns, shifts):
    return np.stack([turns, shifts], axis=1)


@pytest.mark.parametrize("gain", [0.25, 0.9, -0.9, 3.9])
def test_an_exact_gain_is_found(gain, shifts):
    # A product, a sum of 400 and a quotient.
    assert fit_turn_gain(paired(gain * shifts, shifts)) == pytest.approx(gain, rel=1e-13)


def test_noise_makes_it_as_much_less_certain_as_least_squares_say(shifts, rng):
    found = fit_turn_gain(paired(0.9 * shifts + rng.normal(0.0, 0.01, PAIRS), shifts))
    # Five deviations of 0.01 / √(400 · 0.05²).
    assert found == pytest.approx(0.9, abs=0.05)


def test_jumps_of_the_heading_and_wrong_matches_are_left_out(shifts, rng):
    turns, seen = 0.9 * shifts, shifts.copy()
    turns[:20] = rng.choice([-3.0, 3.0], 20)
    seen[20:50] = rng.choice([-0.4, 0.4], 30)
    assert fit_turn_gain(paired(turns, seen)) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("gain", [0.15, 4.5, -0.15, -4.5])
def test_a_gain_that_no_lens_has_is_none(gain, shifts):
    assert np.isnan(fit_turn_gain(paired(gain * shifts, shifts)))


@pytest.mark.parametrize(("moved", "enough"), [(19, False), (20, True)])
def test_few_pairs_that_moved_tell_nothing(moved, enough, shifts, rng):
    still = rng.uniform(-0.005, 0.005, PAIRS)
    moving = np.where(np.arange(PAIRS) < moved, np.sign(shifts) * (0.01 + np.abs(shifts)), still)
    assert np.isfinite(fit_turn_gain(paired(0.9 * moving, moving))) == enough


def test_no_pairs_tell_nothing():
    assert np.isnan(fit_turn_gain(np.zeros((0, 2))))


@pytest.mark.parametrize("spread", [0.02, 1.0])
def test_turns_that_have_nothing_to_do_with_the_shifts_tell_nothing(spread, shifts, rng):
    assert np.isnan(fit_turn_gain(paired(rng.uniform(-spread, spread, PAIRS), shifts)))


def test_a_turn_across_the_west_is_a_small_one():
    pairs = pair_turns([4, 5, 6], np.array([3.1, -3.1, 3.1]), np.array([0.0, 0.1, -0.1]))
    np.testing.assert_allclose(pairs, [[2 * np.pi - 6.2, 0.1], [6.2 - 2 * np.pi, -0.1]], rtol=0, atol=1e-15)


def test_only_neighbours_with_a_heading_and_a_shift_are_a_pair():
    rows, headings = [0, 1, 3, 4, 5, 6], np.array([0.0, 0.1, 0.3, np.nan, 0.5, 0.6])
    shifts = np.array([0.1, 0.1, 0.1, 0.1, 0.1, np.nan])
    found = pair_turns(rows, headings, shifts)
    np.testing.assert_allclose(found, [[0.1, 0.1]], rtol=0, atol=1e-15)


def test_a_drive_in_a_city_teaches_the_width_of_the_picture_in_focal_lengths(city_lap):
    gyroscope, drive = Gyroscope(), city_lap[:100]
    shifts = np.array([np.nan if (found := gyroscope.measure(each.image())) is None else found for each in drive])
    headings = np.array([frame.heading for frame in drive])
    # A turn around the middle of the picture; at its edge a radian is a little wider.
    assert fit_turn_gain(pair_turns(range(len(drive)), headings, shifts)) == pytest.approx(128 / 100, rel=0.05)
