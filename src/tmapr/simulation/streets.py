"""Procedural environments from a seed, in three families that mirror the paper's sets."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from tmapr.exceptions import InputError
from tmapr.simulation.campus import build_campus
from tmapr.simulation.city import build_city
from tmapr.simulation.style import Style
from tmapr.simulation.valley import build_valley
from tmapr.simulation.world import World

Family = Literal["campus", "city", "valley"]
_BUILDERS = {"campus": build_campus, "city": build_city, "valley": build_valley}
FAMILIES = tuple(_BUILDERS)

LEAST: Mapping[str, float] = MappingProxyType({"campus": 80.0, "city": 160.0, "valley": 400.0})
"""Metres of route: a ring with its cross passage, blocks with a street around each, bends that stay on the road."""


def build_world(
    family: str, seed: int, *, aliasing: float = 0.3, length: float | None = None, style: Style | None = None
) -> World:
    """The environment of a seed, turned to any direction.

    `aliasing` is the share of facades, corridors or groves that are copies of a few; `length` about that of the route.
    """
    if family not in _BUILDERS:
        raise InputError(f"{family!r} is no family of worlds; there are {', '.join(_BUILDERS)}")
    if not 0 <= aliasing <= 1:
        raise InputError(f"aliasing is {aliasing:g}; it is a share, 0 to 1")
    if length is not None and not LEAST[family] <= length < np.inf:
        least = ", ".join(f"{LEAST[name]:g} for {name}" for name in FAMILIES)
        raise InputError(f"length is {length:g} m; the least is {least}")
    rng = np.random.default_rng([FAMILIES.index(family), seed])
    world = _BUILDERS[family](rng, aliasing, length, style or Style())
    return world.rotate(float(rng.uniform(0, 2 * np.pi)))
