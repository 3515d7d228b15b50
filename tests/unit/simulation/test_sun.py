"""The sun against the almanac."""

import numpy as np
import pytest

from tmapr.simulation.sun import direction, irradiance, sunlight, sunrise

LATITUDE = float(np.radians(36.0))
EQUINOX, SUMMER_SOLSTICE = 81.0, 81.0 + 365 / 4


def toward(hour, day=EQUINOX):
    return direction(day, LATITUDE, np.array([hour]))[0]


def light(hour, cloud=0.0, day=EQUINOX):
    return sunlight(day, LATITUDE, cloud, np.array([hour]))


def on(normal, sky_view, hour, cloud=0.0):
    return float(irradiance(light(hour, cloud), np.array([normal], dtype=float), np.array([sky_view]))[0, 0])


def test_the_equinox_noon_stands_as_far_from_the_zenith_as_the_latitude():
    assert np.arcsin(toward(12.0)[2]) == pytest.approx(np.pi / 2 - LATITUDE)


def test_the_solstice_noon_stands_higher_by_the_tilt_of_the_axis():
    elevation = np.arcsin(toward(12.0, SUMMER_SOLSTICE)[2])
    assert elevation == pytest.approx(np.pi / 2 - LATITUDE + np.radians(23.45))


def test_the_equinox_sun_rises_due_east_at_six():
    np.testing.assert_allclose(toward(6.0), [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize("day", [10.0, 81.0, 172.0, 300.0])
def test_the_sun_is_on_the_horizon_at_sunrise(day):
    assert toward(sunrise(day, LATITUDE), day)[2] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("day", "hour"), [(172.0, 0.0), (355.0, 12.0)])
def test_in_the_far_north_the_sun_rises_at_midnight_or_not_before_noon(day, hour):
    assert sunrise(day, np.radians(80.0)) == pytest.approx(hour)


def test_a_clear_noon_brings_what_pyranometers_read_at_this_latitude():
    assert 780 < light(12.0).level[0] < 880


def test_a_wall_that_faces_the_rising_sun_receives_the_beam():
    lit, unlit = on((1, 0, 0), 0.5, 7.0), on((-1, 0, 0), 0.5, 7.0)
    assert lit - unlit == pytest.approx(light(7.0).direct[0] * toward(7.0)[0])


def test_a_wall_in_shadow_sees_half_the_sky_and_what_the_ground_reflects():
    noon = light(12.0)
    assert on((0, 1, 0), 0.5, 12.0) == pytest.approx(0.5 * noon.diffuse[0] + 0.5 * 0.2 * noon.level[0])


def test_a_low_sun_does_not_reach_the_floor_of_a_street():
    morning = light(7.0)
    assert on((0, 0, 1), 0.5, 7.0) == pytest.approx(0.5 * morning.diffuse[0] + 0.5 * 0.5 * 0.2 * morning.level[0])


def test_half_hidden_by_a_ring_of_its_own_height_the_sun_is_halved():
    noon, sky_view = light(12.0), 1 - toward(12.0)[2] ** 2
    beam = on((0, 0, 1), sky_view, 12.0) - sky_view * (noon.diffuse[0] + (1 - sky_view) * 0.2 * noon.level[0])
    assert beam == pytest.approx(0.5 * noon.direct[0] * toward(12.0)[2])
