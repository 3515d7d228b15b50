"""Temperatures: known counts of known cameras, and no answer where there is none."""

import numpy as np
import pytest

from tmapr.exceptions import InputError
from tmapr.perception.radiometry import PROFILES, Planck, find_profile


def reading(calibration, *counts):
    return calibration.celsius(np.array([counts], np.uint16))[0]


@pytest.mark.parametrize(
    ("name", "counts", "celsius"),
    [
        ("tlinear-high", 7329, 20.01),
        ("tlinear-low", 733, 20.05),
        ("centikelvin", 27315, 0.0),
        ("centikelvin", 0, -273.15),
        ("decikelvin", 2932, 20.05),
        ("optris", 1000, 0.0),
        ("optris", 1365, 36.5),
        ("optris", 0, -100.0),
    ],
)
def test_a_profile_gives_the_temperature_of_a_known_count(name, counts, celsius):
    assert reading(find_profile(name), counts) == pytest.approx(celsius, abs=1e-9)


@pytest.mark.parametrize("counts", [3052, 3430, 4215, 5939])
def test_planck_solves_its_own_law(counts):
    """Radiation at the temperature found, R / (exp(B / T) − F) + O, is the count again."""
    kelvin = reading(find_profile("ms2"), counts)[0] + 273.15
    assert 380747 / (np.exp(1428 / kelvin) - 1) - 88.539 == pytest.approx(counts, rel=1e-12)


@pytest.mark.parametrize("name", PROFILES)
def test_more_counts_are_warmer(name):
    assert (np.diff(reading(find_profile(name), *range(0, 60000, 500))) > 0).all()


def test_there_is_no_temperature_at_or_below_the_offset():
    celsius = reading(Planck(R=380747.0, B=1428.0, F=1.0, O=100.0), 0, 99, 100, 101)
    assert np.isnan(celsius).tolist() == [True, True, True, False]


def test_there_is_no_temperature_without_a_positive_logarithm():
    """F below 1: from R / (1 − F) counts above O on, even an infinite temperature would not give so many."""
    celsius = reading(Planck(R=1000.0, B=1428.0, F=0.5, O=0.0), 1999, 2000, 2001)
    assert np.isnan(celsius).tolist() == [False, True, True]


def test_an_unknown_camera_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"no camera profile 'boson'; there are ms2, tlinear-high, .*optris"):
        find_profile("boson")
