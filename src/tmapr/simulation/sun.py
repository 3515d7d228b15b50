"""Where the sun stands and how much of it arrives. Hours are local solar time; x is East, y North, z up."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_TILT = float(np.radians(23.45))
_ALBEDO = 0.2
"""Share of the sunlight that streets and walls send back."""


@dataclass(frozen=True, slots=True)
class Sunlight:
    """Sunlight at some hours, in W/m²; no light comes from a sun below the horizon."""

    toward: Float[np.ndarray, "hours 3"]
    """Unit vectors to the sun."""
    direct: Float[np.ndarray, " hours"]
    """Through a plane that faces the sun."""
    diffuse: Float[np.ndarray, " hours"]
    """From the whole sky through a level plane."""

    @property
    def level(self) -> Float[np.ndarray, " hours"]:
        """All of it, through a level plane under open sky."""
        return self.direct * np.maximum(self.toward[:, 2], 0.0) + self.diffuse


def declination(day: float) -> float:
    """Latitude over which the sun stands, by Cooper's formula; 0 on day 81."""
    return float(_TILT * np.sin(2 * np.pi * (day - 81) / 365))


def sunrise(day: float, latitude: float) -> float:
    """Hour at which the sun's center rises; 0 where it never sets and 12 where it never rises."""
    cosine = np.clip(-np.tan(latitude) * np.tan(declination(day)), -1.0, 1.0)
    return float(12 - np.arccos(cosine) * 12 / np.pi)


def direction(day: float, latitude: float, hours: Float[np.ndarray, " hours"]) -> Float[np.ndarray, "hours 3"]:
    """Unit vectors to the sun, also to one below the horizon."""
    angle, tilt = np.pi * (hours - 12) / 12, declination(day)
    east = -np.cos(tilt) * np.sin(angle)
    north = np.cos(latitude) * np.sin(tilt) - np.sin(latitude) * np.cos(tilt) * np.cos(angle)
    up = np.sin(latitude) * np.sin(tilt) + np.cos(latitude) * np.cos(tilt) * np.cos(angle)
    return np.stack([east, north, up], axis=1)


def sunlight(day: float, latitude: float, cloud: float, hours: Float[np.ndarray, " hours"]) -> Sunlight:
    """Clear-sky beam of Meinel with a tenth of it scattered; Kasten and Czeplak's cloud takes the total.

    Cloud hides the disc for the share of the sky that it covers, and scatters part of that light back in.
    """
    toward = direction(day, latitude, hours)
    beam = np.where(toward[:, 2] > 0, 1353 * 0.7 ** (_air_mass(toward[:, 2]) ** 0.678), 0.0)
    level = beam * np.maximum(toward[:, 2], 0.0)
    total = (level + 0.1 * beam) * (1 - 0.75 * cloud**3.4)
    return Sunlight(toward, beam * (1 - cloud), total - level * (1 - cloud))


def irradiance(
    light: Sunlight, normals: Float[np.ndarray, "surfaces 3"], sky_view: Float[np.ndarray, " surfaces"]
) -> Float[np.ndarray, "hours surfaces"]:
    """On surfaces, in W/m²: the disc, the share of the sky that they see, and surroundings that reflect in the rest.

    A plane sees (1 + n_z)/2 of sky where nothing stands in the way; what it sees of that is its openness, and its
    surroundings, being in the same street, are lit by as much.
    """
    openness = np.minimum(sky_view / np.maximum((1 + normals[:, 2]) / 2, 1e-6), 1.0)
    facing = np.maximum(light.toward @ normals.T, 0.0)
    disc = light.direct[:, None] * facing * _unhidden(light.toward[:, 2], openness)
    return disc + np.outer(light.diffuse, sky_view) + np.outer(_ALBEDO * light.level, (1 - sky_view) * openness)


def _unhidden(
    height: Float[np.ndarray, " hours"], openness: Float[np.ndarray, " surfaces"]
) -> Float[np.ndarray, "hours surfaces"]:
    """Share of a surface that a sun of this sine of elevation reaches over what stands around.

    A ring of even height leaves the openness cos² of its elevation. Streets are uneven: the sun fades in while its sine
    grows from half to one and a half of the ring's.
    """
    ring = np.sqrt(1 - openness)
    return np.clip(height[:, None] / np.maximum(ring, 1e-6) - 0.5, 0.0, 1.0)


def _air_mass(height: Float[np.ndarray, " hours"]) -> Float[np.ndarray, " hours"]:
    """Kasten and Young: how many atmospheres the beam crosses at a sine of elevation."""
    elevation = np.maximum(np.degrees(np.arcsin(np.clip(height, -1.0, 1.0))), 0.0)
    return 1 / (np.maximum(height, 0.0) + 0.50572 * (elevation + 6.07995) ** -1.6364)
