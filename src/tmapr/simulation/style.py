"""How a world is built, driven and filmed, apart from what its seed decides: a style for every number.

Style 0 is the plain one. All others are drawn from their number, wide enough that what was chosen on one of them has to
prove itself on the next. Even styles are for choosing a method or its settings, odd ones for reporting.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from pydantic import Field

from tmapr.config import Settings
from tmapr.simulation.camera import CAMERAS, Camera

_RESOLUTIONS = ((160, 120), (206, 156), (256, 192), (320, 240), (320, 256), (384, 288))
"""Those of common cameras; more pixels than the last would cost more than twice style 0's frame."""

_RATES = (2.4, 30.0)
"""Frames a second at the style's speed; with stops and slow bends a lap has fewer."""

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Ranges:
    """What the styles of a family are drawn from."""

    speed: Span
    """m/s"""
    spacing: Span
    """Metres a frame in the mean of a lap: with stops and slow bends the references of straights are farther apart."""
    aside: float
    """Metres beside the middle of the plain way that leave what comes the other way its room."""
    block: Span | None
    house_width: Span
    vegetation: Span
    relief: float
    """The least."""
    noise: float
    """Of the sensor, a factor: what is little beside the contrasts of a street hides a corridor."""


RANGES: Mapping[str, Ranges] = MappingProxyType(
    {
        # Corridors and meadows have less to tell places by than streets: drawn as wide, most would have nothing.
        "campus": Ranges((0.5, 3.0), (0.32, 1.2), 0.15, None, (0.45, 0.85), (0.1, 1.9), 0.65, 0.5),
        "city": Ranges((3.0, 30.0), (0.32, 3.5), 0.65, (50.0, 130.0), (0.6, 1.7), (0.1, 1.9), 0.25, 1.0),
        "valley": Ranges((3.0, 30.0), (0.7, 3.5), 0.65, (12.0, 24.0), (0.6, 1.7), (0.9, 2.2), 0.5, 1.0),
    }
)


class Style(Settings):
    """Factors are of what the family has in style 0."""

    street: float = Field(1.0, gt=0, le=3, description="width of streets, roads or corridors, a factor")
    block: float | None = Field(
        None,
        gt=0,
        description="between crossings or bends, about, metres; none: the route has its plain number of them",
    )
    house_width: float = Field(1.0, gt=0, le=5, description="of houses, and of the bays of corridors, a factor")
    house_height: float = Field(1.0, gt=0, le=5, description="of houses, huts and corridors, a factor")
    windows: float = Field(1.0, gt=0, le=5, description="from window to window, a factor")
    gaps: float = Field(1.0, ge=0, le=2.5, description="between houses, how often, a factor")
    vegetation: float = Field(1.0, ge=0, le=4, description="trees and bushes, how many, a factor")
    parked: float = Field(1.0, ge=0, le=2.8, description="cars at the kerb, people and carts, how many, a factor")
    moving: float = Field(0.0, ge=0, le=10, description="cars or people on their way, for 100 m of the route")
    relief: float = Field(1.0, ge=0, le=1, description="strength of all surfaces' texture, a factor")
    grain: float = Field(1.2, gt=0, le=3, description="how fast the texture's amplitudes fall with the wave number")
    speed: float | None = Field(None, gt=0, le=100, description="m/s; none: the family's")
    spacing: float | None = Field(None, gt=0, le=100, description="metres a frame; none: as the route is long")
    offset: float = Field(0.0, ge=0, le=5, description="beside the way, at most; a traverse keeps its own, metres")
    camera: Camera = Camera()

    def route_length(self, frames: int, least: float) -> float | None:
        """Metres that so many frames cover, but no less than a family's routes have; None: the family's own length."""
        return None if self.spacing is None else max(least, frames * self.spacing)


def sample_style(number: int, family: str) -> Style:
    """The style of a number: nothing in it depends on a world's seed."""
    plain = CAMERAS[family]
    if number == 0:
        return Style(camera=plain)
    rng, ranges = np.random.default_rng([number, list(CAMERAS).index(family)]), RANGES[family]
    street = rng.uniform(0.85, 1.6)
    looks = {
        "house_width": _log_uniform(rng, *ranges.house_width),
        "house_height": _log_uniform(rng, 0.6, 1.7),
        "windows": _log_uniform(rng, 0.75, 2.0),
        "gaps": rng.uniform(0.2, 2.2),
        "vegetation": rng.uniform(*ranges.vegetation),
        "parked": rng.uniform(0.0, 2.4),
        "moving": rng.uniform(0.0, 3.0),
        "relief": rng.uniform(ranges.relief, 1.0),
        "grain": rng.uniform(0.8, 1.9),
    }
    spacing = _log_uniform(rng, *ranges.spacing)
    slowest, fastest = ranges.speed
    speed = _log_uniform(rng, max(slowest, _RATES[0] * spacing), min(fastest, _RATES[1] * spacing))
    return Style(
        street=street,
        block=_log_uniform(rng, *ranges.block) if ranges.block else None,
        **looks,
        speed=speed,
        spacing=spacing,
        offset=rng.uniform(0.0, ranges.aside * street**2),
        camera=_sample_camera(rng, plain, ranges.noise),
    )


def _sample_camera(rng: np.random.Generator, plain: Camera, noise: float) -> Camera:
    width, height = _RESOLUTIONS[rng.integers(len(_RESOLUTIONS))]
    view = math.radians(rng.uniform(50, 105))
    return Camera(
        width=width,
        height=height,
        focal=width / 2 / math.tan(view / 2),
        mount=plain.mount * _log_uniform(rng, 0.55, 1.5),
        tilt=math.radians(rng.uniform(-8, 3)),
        baseline=plain.baseline,
        distortion=rng.uniform(0.0, 0.4),
        gain=_log_uniform(rng, 15.0, 100.0),
        netd=noise * _log_uniform(rng, 0.02, 0.1),
        fixed_pattern=noise * _log_uniform(rng, 0.02, 0.12),
        column_noise=noise * _log_uniform(rng, 0.01, 0.1),
        row_noise=noise * _log_uniform(rng, 0.01, 0.06),
        drift=_log_uniform(rng, 0.1, 1.0),
        vignetting=rng.uniform(0.0, 0.35),
        blur=rng.uniform(0.3, 1.2) * width / plain.width,
        lag=rng.uniform(0.0, 0.3),
        nuc_every=rng.uniform(25, 120),
    )


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
