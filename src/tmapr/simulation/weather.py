"""Weather and hour: what a traverse is driven in, and the temperatures that follow from it before any surface."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from tmapr.exceptions import InputError
from tmapr.simulation.sun import sunrise

_FREEZING = 273.15
_HOTTEST = 15.0
_SETBACK = 3.0


@dataclass(frozen=True, slots=True)
class Weather:
    """A repeating day, and the moment of it at which one drives. Hours are local solar time."""

    hour: float = 12.0
    day: float = 81.0
    """of the year; 81 is the spring equinox"""
    latitude: float = float(np.radians(36.0))
    air: float = 288.0
    """K, mean of the day"""
    swing: float = 5.0
    """K, half the difference between afternoon and dawn under a clear sky"""
    cloud: float = 0.0
    """0 clear … 1 overcast"""
    wind: float = 2.0
    """m/s"""
    humidity: float = 0.5
    """relative, 0 … 1"""
    rain: float = 0.0
    """mm/h, for the last hours"""
    room: float = 294.0
    """K, inside buildings by day; heating is turned down at night"""

    @property
    def cover(self) -> float:
        """Share of the sky under cloud; rain brings its own."""
        return max(self.cloud, min(4 * self.rain, 1.0))


NAMED: Mapping[str, Weather] = MappingProxyType(
    {
        "noon": Weather(hour=12.0),
        "night": Weather(hour=2.0),
        "dawn": Weather(hour=6.5),
        "dusk": Weather(hour=18.5),
        "rain": Weather(hour=13.0, air=285.0, cloud=1.0, wind=4.0, humidity=0.9, rain=4.0),
        "overcast": Weather(hour=13.0, air=286.0, cloud=0.95, wind=3.0, humidity=0.7),
        "winter-night": Weather(hour=2.0, day=15.0, air=273.0, swing=4.0, humidity=0.6),
        "summer-noon": Weather(hour=12.0, day=196.0, air=298.0, swing=6.0, wind=1.5, room=297.0),
    }
)


def find_weather(name: str) -> Weather:
    """The weather of that name in NAMED."""
    if name not in NAMED:
        raise InputError(f"weather {name!r} is not known; choose one of {', '.join(NAMED)}")
    return NAMED[name]


def sample_weather(rng: np.random.Generator, hour: float | None = None) -> Weather:
    """A plausible moment of a temperate year at 36° N; skies are more often clear or grey than between."""
    day = rng.uniform(0, 365)
    season = -np.cos(2 * np.pi * (day - 20) / 365)
    cloud = rng.beta(0.6, 0.6)
    raining = cloud > 0.7 and rng.random() < 0.4
    return Weather(
        hour=rng.uniform(0, 24) if hour is None else hour,
        day=day,
        air=float(np.clip(287 + 11 * season + rng.normal(0, 3), 263, 308)),
        swing=rng.uniform(3, 7),
        cloud=cloud,
        wind=float(np.clip(rng.gamma(2.0, 1.2), 0.3, 10)),
        humidity=rng.uniform(0.85, 0.97) if raining else rng.uniform(0.3, 0.75) + 0.1 * cloud,
        rain=rng.uniform(0.3, 8.0) if raining else 0.0,
        room=294 + max(0.0, 3 * float(season)),
    )


def air_temperature(weather: Weather, hour: float | Float[np.ndarray, "*hours"]) -> Float[np.ndarray, "*hours"]:
    """In K: half a cosine up from sunrise to 15:00 and half a cosine down, so that the day's mean is `weather.air`."""
    coldest = min(max(sunrise(weather.day, weather.latitude), 3.0), 9.0)
    rise = _HOTTEST - coldest
    since = np.mod(np.asarray(hour) - coldest, 24)
    phase = np.where(since < rise, since / rise, 1 + (since - rise) / (24 - rise))
    return np.asarray(weather.air - weather.swing * (1 - 0.6 * weather.cover) * np.cos(np.pi * phase))


def room_temperature(weather: Weather, hour: float | Float[np.ndarray, "*hours"]) -> Float[np.ndarray, "*hours"]:
    """In K: turned down by 3 K between 21:00 and 7:00, over two hours each way."""
    setback = np.interp(hour, [5.0, 7.0, 21.0, 23.0], [_SETBACK, 0.0, 0.0, _SETBACK], period=24)
    return np.asarray(weather.room - setback)


def vapor_pressure(weather: Weather) -> float:
    """In hPa, by Magnus' formula at the day's mean temperature: the air keeps its vapour all day."""
    celsius = weather.air - _FREEZING
    return float(weather.humidity * 6.112 * np.exp(17.62 * celsius / (243.12 + celsius)))


def sky_temperature(weather: Weather, hour: float | Float[np.ndarray, "*hours"]) -> Float[np.ndarray, "*hours"]:
    """In K, of the black hemisphere with the sky's thermal radiation: Brutsaert's clear sky, Unsworth's cloud."""
    air = air_temperature(weather, hour)
    clear = 1.24 * (vapor_pressure(weather) / weather.air) ** (1 / 7)
    emissivity = clear + 0.84 * weather.cover * (1 - clear)
    return np.asarray(air * emissivity**0.25)


def wet_bulb_temperature(weather: Weather, hour: float | Float[np.ndarray, "*hours"]) -> Float[np.ndarray, "*hours"]:
    """In K, of wet surfaces in the shade: Stull's fit, for the air under rain, which is never drier than 85 %."""
    celsius = air_temperature(weather, hour) - _FREEZING
    percent = 100 * min(max(weather.humidity, 0.85), 0.99)
    wet = (
        celsius * np.arctan(0.151977 * np.sqrt(percent + 8.313659))
        + np.arctan(celsius + percent)
        - np.arctan(percent - 1.676331)
        + 0.00391838 * percent**1.5 * np.arctan(0.023101 * percent)
        - 4.686035
    )
    return np.asarray(_FREEZING + wet)
