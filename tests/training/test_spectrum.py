"""Another spectrum: what stays of a scene, and what does not."""

from dataclasses import replace

import numpy as np
import pytest

from tmapr.simulation.light import Appearance
from tmapr.simulation.streets import build_world
from tmapr.simulation.weather import find_weather
from tmapr.training.spectrum import change_spectrum


@pytest.fixture(scope="module")
def scene():
    return build_world("campus", 41).scene(1)


@pytest.fixture(scope="module")
def night(scene):
    return Appearance.of(scene, find_weather("night"))


def test_no_temperature_is_left(scene, night):
    warmer = replace(night, radiance=night.radiance + 9, sky=2 * night.sky, air=1.0)
    first, second = (change_spectrum(each, scene, np.random.default_rng(5)) for each in (night, warmer))
    np.testing.assert_array_equal(first.radiance, second.radiance)
    np.testing.assert_array_equal(first.sky, second.sky)
    assert first.air == second.air


def test_surfaces_of_a_material_look_more_alike_than_others(scene, night):
    spread = []
    for seed in range(20):
        radiance = change_spectrum(night, scene, np.random.default_rng(seed)).radiance
        within = np.mean([radiance[scene.material == one].std() for one in np.unique(scene.material)])
        spread.append(within / radiance.std())
    assert np.mean(spread) < 0.8


def test_another_seed_is_another_spectrum(scene, night):
    first, second = (change_spectrum(night, scene, np.random.default_rng(seed)).radiance for seed in (1, 2))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.9


def test_what_a_sensor_is_given_is_positive_and_far_above_its_noise(scene, night):
    seen = change_spectrum(night, scene, np.random.default_rng(3))
    assert min(seen.radiance.min(), seen.sky.min(), seen.air) > 0
    assert np.ptp(seen.radiance) > 2
