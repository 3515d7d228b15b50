"""Weather before any surface: air, sky, vapour and rooms through a day."""

from dataclasses import replace

import numpy as np
import pytest

from tmapr.exceptions import InputError
from tmapr.simulation.weather import (
    NAMED,
    Weather,
    air_temperature,
    find_weather,
    room_temperature,
    sample_weather,
    sky_temperature,
    vapor_pressure,
    wet_bulb_temperature,
)

CLEAR = Weather()
DAY = np.arange(0, 24, 0.1)


def test_the_air_is_coldest_at_sunrise():
    assert DAY[np.argmin(air_temperature(CLEAR, DAY))] == pytest.approx(6.0)


def test_the_air_is_warmest_at_fifteen():
    assert DAY[np.argmax(air_temperature(CLEAR, DAY))] == pytest.approx(15.0)


@pytest.mark.parametrize("quantity", [air_temperature, room_temperature, sky_temperature, wet_bulb_temperature])
def test_midnight_is_the_same_at_either_end_of_the_day(quantity):
    assert float(quantity(CLEAR, 24.0)) == pytest.approx(float(quantity(CLEAR, 0.0)))


def test_saturated_air_at_twenty_degrees_holds_what_steam_tables_say():
    assert vapor_pressure(Weather(air=293.15, humidity=1.0)) == pytest.approx(23.4, abs=0.1)


def test_a_clear_sky_is_tens_of_kelvin_colder_than_the_air():
    assert 12 < float(air_temperature(CLEAR, 2.0) - sky_temperature(CLEAR, 2.0)) < 30


def test_the_wet_bulb_reads_what_psychrometric_tables_say():
    steady = Weather(air=293.15, swing=0.0, humidity=0.9)
    assert float(wet_bulb_temperature(steady, 12.0)) - 273.15 == pytest.approx(18.9, abs=0.2)


def test_the_spring_names_are_hours_of_one_day():
    assert {replace(NAMED[name], hour=0.0) for name in ("noon", "night", "dawn", "dusk")} == {Weather(hour=0.0)}


def test_an_unknown_name_is_told_which_exist():
    with pytest.raises(InputError, match=r"'hail'.*noon, night, dawn, dusk, rain, overcast, winter-night, summer-noon"):
        find_weather("hail")


def test_random_weather_stays_on_this_planet(rng):
    for weather in (sample_weather(rng) for _ in range(200)):
        assert 260 < weather.air < 310
        assert 0 <= weather.cloud <= 1
        assert 0.2 < weather.humidity < 1
        assert 0 < weather.wind <= 10
        assert 0 <= weather.rain <= 8
        assert 0 <= weather.hour <= 24


def test_some_random_weather_is_rain_and_most_is_not(rng):
    assert 0.05 < np.mean([sample_weather(rng).rain > 0 for _ in range(400)]) < 0.35


def test_it_only_rains_from_cloud(rng):
    drawn = [sample_weather(rng) for _ in range(200)]
    assert min(weather.cloud for weather in drawn if weather.rain > 0) > 0.5
