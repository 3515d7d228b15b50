"""Radiance against Planck's law, and what a camera should see of sky, ground and rooms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import constants
from scipy.integrate import quad

from panels import NORTH, panel, street, wall
from tmapr.simulation.heat import solve_temperatures
from tmapr.simulation.light import (
    Appearance,
    band_radiance,
    band_slope,
    extinction,
    sky_radiance,
)
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind, join_scenes
from tmapr.simulation.weather import NAMED, Weather, air_temperature, room_temperature

CLEAR = Weather()
FREEZING = 273.15


def planck(wavelength, temperature):
    h, c, k = constants.h, constants.c, constants.k
    return 2 * h * c**2 / wavelength**5 / np.expm1(h * c / (wavelength * k * temperature))


def brightness_temperature(radiance):
    """In K, of the black body with this radiance, to a millikelvin."""
    grid = np.linspace(120.0, 800.0, 2721)
    return np.interp(radiance, band_radiance(grid), grid)


def seen(weather, *parts):
    """Brightness temperatures above the air's."""
    found = brightness_temperature(Appearance.of(join_scenes(parts), weather).radiance)
    return found - air_temperature(weather, weather.hour)


@pytest.mark.parametrize("temperature", [150.0, 220.0, 260.0, 300.0, 350.0, 500.0, 800.0])
def test_band_radiance_is_plancks_law_integrated(temperature):
    expected, _ = quad(planck, 8e-6, 14e-6, args=(temperature,), epsrel=1e-10)
    assert float(band_radiance(np.array(temperature))) == pytest.approx(expected, rel=1e-5)


def test_the_slope_is_that_of_plancks_law():
    hotter, colder = (quad(planck, 8e-6, 14e-6, args=(300 + step,), epsrel=1e-10)[0] for step in (0.01, -0.01))
    assert float(band_slope(np.array(300.0))) == pytest.approx((hotter - colder) / 0.02, rel=1e-4)


def test_the_clear_zenith_is_tens_of_kelvin_below_freezing():
    assert -70 < brightness_temperature(sky_radiance(CLEAR, 8))[-1] - FREEZING < -20


@pytest.mark.parametrize("name", list(NAMED))
def test_the_horizon_is_nearly_the_air(name):
    weather = NAMED[name]
    horizon = brightness_temperature(sky_radiance(weather, 8))[0]
    assert horizon == pytest.approx(float(air_temperature(weather, weather.hour)), abs=0.5)


def test_radiance_is_what_is_emitted_and_what_is_reflected():
    """A level mirror of 0.3 emissivity under open sky sees the zenith."""
    roof = panel(Stuff.METAL, behind=Behind.ITSELF)
    expected = 0.3 * band_radiance(solve_temperatures(roof, CLEAR)) + 0.7 * sky_radiance(CLEAR, 2)[-1]
    np.testing.assert_allclose(Appearance.of(roof, CLEAR).radiance, expected)


def test_what_is_not_sky_reflects_as_the_air():
    hidden = panel(Stuff.METAL, sky_view=0.0, behind=Behind.ITSELF)
    look = Appearance.of(hidden, CLEAR)
    expected = 0.3 * band_radiance(solve_temperatures(hidden, CLEAR)) + 0.7 * look.air
    np.testing.assert_allclose(look.radiance, expected)


def test_a_wall_mirrors_the_sky_that_stands_low():
    shiny = wall(Stuff.METAL, NORTH, Behind.ITSELF)
    look = Appearance.of(shiny, CLEAR)
    low = sky_radiance(CLEAR, 6)[1]
    expected = 0.3 * band_radiance(solve_temperatures(shiny, CLEAR)) + 0.7 * (0.45 * low + 0.55 * look.air)
    np.testing.assert_allclose(look.radiance, expected, rtol=1e-3)


def test_bare_metal_looks_colder_than_it_is():
    bare, painted = seen(CLEAR, *(panel(stuff, behind=Behind.ITSELF) for stuff in (Stuff.METAL, Stuff.PAINTED_METAL)))
    assert bare < painted - 20


def test_inside_everything_looks_like_the_room():
    room = float(room_temperature(CLEAR, CLEAR.hour))
    inside = [wall(stuff, NORTH, indoors=True) for stuff in (Stuff.PLASTER, Stuff.METAL, Stuff.GLASS)]
    looks = brightness_temperature(Appearance.of(join_scenes(inside), CLEAR).radiance)
    np.testing.assert_allclose(looks, room, atol=1.0)


@pytest.mark.parametrize("clear", ["noon", "night"])
def test_rain_takes_at_least_half_of_the_contrast(clear):
    dry, wet = (np.std(Appearance.of(street(), NAMED[name]).radiance) for name in (clear, "rain"))
    assert wet < dry / 2


def test_the_sun_warms_spots_by_no_more_than_a_bound():
    asphalt, calm = panel(Stuff.ASPHALT), replace(NAMED["summer-noon"], wind=0.3)
    bound = 0.1 * 0.95 * 25 * band_slope(solve_temperatures(asphalt, calm))
    np.testing.assert_allclose(Appearance.of(asphalt, calm).solar_relief, bound)


def test_under_a_clear_night_sky_spots_that_emit_better_look_warmer():
    assert Appearance.of(panel(Stuff.ASPHALT), NAMED["night"]).emissive_relief[0] > 0.1


def test_no_spot_emits_more_than_a_black_body():
    scene = street()
    for weather in (NAMED["noon"], NAMED["night"]):
        look = Appearance.of(scene, weather)
        assert np.all(look.radiance + look.emissive_relief <= band_radiance(solve_temperatures(scene, weather)) + 1e-9)


def test_clear_air_takes_a_third_per_kilometre():
    assert 2.5e-4 < extinction(CLEAR) < 4e-4
