"""Long-wave radiance: what surfaces emit and reflect, what the sky sends, what the air takes and adds.

Everything is of the camera's band, 8–14 µm, in W/(m² sr).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.simulation.heat import STEFAN_BOLTZMANN, Exposure, front_exchange, solar_gain, solve_temperatures
from tmapr.simulation.materials import of_each
from tmapr.simulation.scene import Scene
from tmapr.simulation.weather import Weather, air_temperature, room_temperature, vapor_pressure

BAND = (8e-6, 14e-6)
"""m"""
_SECOND_RADIATION_CONSTANT = 1.438777e-2
_ELEVATIONS = 64
_GLANCE = 0.2
"""Sine of the elevation at which walls mirror the sky to someone in the street."""
_CLOUD_BASE = 5.0
"""K that clouds are colder than the air below."""
_MOST_WARMING = 25.0
"""K"""


@dataclass(frozen=True, slots=True)
class Appearance:
    """What a renderer needs of a scene in a weather. Radiances of the camera's band, in W/(m² sr)."""

    radiance: Float[np.ndarray, " surfaces"]
    """Leaves a surface in the mean, emitted and reflected."""
    emissive_relief: Float[np.ndarray, " surfaces"]
    """Added times the first channel of the texture, which lies in −1 … 1: spots that emit better."""
    solar_relief: Float[np.ndarray, " surfaces"]
    """Added times the second channel: spots that the sun warms more; nothing at night."""
    sky: Float[np.ndarray, " elevations"]
    """By the sine of the elevation, in even steps from the horizon, 0, to the zenith, 1."""
    air: float
    """Of a black body at the air's temperature: what distance turns everything into."""
    extinction: float
    """1/m"""

    @classmethod
    def of(cls, scene: Scene, weather: Weather) -> "Appearance":
        """How a scene looks at the weather's hour; its temperatures are solved for."""
        warmth = solve_temperatures(scene, weather)
        emissivity = of_each(scene.material, lambda each: each.emissivity)
        roughness = of_each(scene.material, lambda each: each.roughness)
        emitted, reflected = band_radiance(warmth), _incident_radiance(scene, weather)
        return cls(
            radiance=emissivity * emitted + (1 - emissivity) * reflected,
            emissive_relief=np.minimum(0.2 * roughness, 1 - emissivity) * (emitted - reflected),
            solar_relief=roughness * emissivity * band_slope(warmth) * _warming(scene, weather, warmth),
            sky=sky_radiance(weather, _ELEVATIONS),
            air=float(band_radiance(air_temperature(weather, weather.hour))),
            extinction=extinction(weather),
        )


def band_radiance(temperature: float | Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Radiance of a black body of 120 … 800 K: Planck's law integrated over the band."""
    shortest, longest = BAND
    share = _share_below(longest, temperature) - _share_below(shortest, temperature)
    return np.asarray(STEFAN_BOLTZMANN / np.pi * temperature**4 * share)


def band_slope(temperature: float | Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """What one kelvin more adds to the radiance of a black body."""
    return np.asarray(band_radiance(temperature + 0.5) - band_radiance(temperature - 0.5))


def sky_radiance(weather: Weather, count: int) -> Float[np.ndarray, " count"]:
    """Radiance of the sky by the sine of the elevation, in even steps from horizon to zenith.

    Clear air emits as a layer of even depth: the lower one looks, the more of it and the nearer to black. Cloud fills
    what the air before it lets through, a little colder than the air down here.
    """
    depth = 0.15 + 0.035 * vapor_pressure(weather)
    let_through = np.exp(-depth / (np.linspace(0, 1, count) + 0.03))
    air = air_temperature(weather, weather.hour)
    cloud = weather.cover * band_radiance(air - _CLOUD_BASE)
    return (1 - let_through) * band_radiance(air) + let_through * cloud


def extinction(weather: Weather) -> float:
    """1/m along a path through the air: vapour, and rain by its drops."""
    return 1.5e-4 + 1.8e-5 * vapor_pressure(weather) + 4e-4 * weather.rain**0.63


def _incident_radiance(scene: Scene, weather: Weather) -> Float[np.ndarray, " surfaces"]:
    """Radiance that falls on surfaces: sky from where they face, of low elevation for walls, and black surroundings."""
    sky = sky_radiance(weather, _ELEVATIONS)
    faced = np.interp(np.maximum(scene.normals[:, 2], _GLANCE), np.linspace(0, 1, _ELEVATIONS), sky)
    around = band_radiance(air_temperature(weather, weather.hour))
    room = band_radiance(room_temperature(weather, weather.hour))
    return np.where(scene.indoors, room, scene.sky_view * faced + (1 - scene.sky_view) * around)


def _warming(scene: Scene, weather: Weather, warmth: Float[np.ndarray, " surfaces"]) -> Float[np.ndarray, " surfaces"]:
    """K that the present sunlight would add to a thin surface, bounded."""
    exposure = Exposure.of(scene)
    emissivity = of_each(scene.material, lambda each: each.emissivity)
    radiative = 4 * emissivity * STEFAN_BOLTZMANN * warmth**3
    sun = solar_gain(exposure, weather, np.array([weather.hour], dtype=float))[0]
    return np.minimum(sun / (front_exchange(exposure, weather) + radiative), _MOST_WARMING)


def _share_below(wavelength: float, temperature: float | Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Share of a black body's radiation that is of shorter wavelengths, by the exponential series of Planck's integral.

    Fifteen terms leave less than 1e-7 of the share at 800 K, where the series is slowest.
    """
    x = _SECOND_RADIATION_CONSTANT / (wavelength * temperature)
    terms = (np.exp(-n * x) / n * (x**3 + 3 * x**2 / n + 6 * x / n**2 + 6 / n**3) for n in range(1, 16))
    return np.asarray(15 / np.pi**4 * sum(terms))
