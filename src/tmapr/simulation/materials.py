"""What surfaces are made of. The numbers are rounded from handbooks; each material stands for a family."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Float, Int


class Stuff(IntEnum):
    """Rows of MATERIALS."""

    ASPHALT = 0
    CONCRETE = 1
    BRICK = 2
    PLASTER = 3
    GLASS = 4
    METAL = 5
    PAINTED_METAL = 6
    WOOD = 7
    SOIL = 8
    GRASS = 9
    FOLIAGE = 10
    ROCK = 11
    FLOOR = 12


@dataclass(frozen=True, slots=True)
class Material:
    """A homogeneous layer."""

    conductivity: float
    """W/(m K)"""
    heat_capacity: float
    """J/(m³ K), density times specific heat"""
    thickness: float
    """m, to whatever lies behind"""
    absorptance: float
    """Share of sunlight that warms it."""
    emissivity: float
    """In the long-wave infrared."""
    evaporation: float
    """Share of the absorbed sunlight that leaves as vapour: living or wet things stay near the air's temperature."""
    roughness: float
    """How much absorptance and emissivity vary over the surface, as a share."""


MATERIALS: tuple[Material, ...] = (
    Material(0.75, 1.9e6, 0.30, 0.90, 0.95, 0.0, 0.10),  # asphalt
    Material(1.40, 2.0e6, 0.25, 0.65, 0.93, 0.0, 0.10),  # concrete
    Material(0.70, 1.5e6, 0.25, 0.70, 0.93, 0.0, 0.14),  # brick
    Material(0.50, 1.2e6, 0.15, 0.45, 0.92, 0.0, 0.08),  # plaster
    Material(1.00, 2.1e6, 0.008, 0.15, 0.85, 0.0, 0.03),  # glass
    Material(50.0, 3.6e6, 0.002, 0.40, 0.30, 0.0, 0.06),  # bare metal
    Material(50.0, 3.6e6, 0.002, 0.70, 0.90, 0.0, 0.05),  # painted metal
    Material(0.15, 1.0e6, 0.04, 0.60, 0.91, 0.0, 0.12),  # wood
    Material(1.00, 2.2e6, 0.50, 0.75, 0.94, 0.15, 0.16),  # soil
    Material(0.50, 1.8e6, 0.30, 0.77, 0.97, 0.65, 0.14),  # grass
    Material(0.30, 1.5e6, 0.0015, 0.60, 0.97, 0.75, 0.20),  # foliage
    Material(2.50, 2.1e6, 0.60, 0.65, 0.93, 0.0, 0.14),  # rock
    Material(0.60, 1.8e6, 0.10, 0.50, 0.92, 0.0, 0.05),  # floor covering
)


def of_each(
    material: Int[np.ndarray, " surfaces"], number: Callable[[Material], float]
) -> Float[np.ndarray, " surfaces"]:
    """A number of the material of every surface: `of_each(scene.material, lambda each: each.emissivity)`."""
    return np.array([number(each) for each in MATERIALS])[material]
