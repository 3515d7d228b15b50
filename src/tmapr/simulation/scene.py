"""A scene: flat parallelograms in a world of metres, x East, y North, z up, with what heat and light need to know.

Everything that is seen is made of them: the ground, walls, windows a hand's breadth before them, cars, leaves. A
surface is seen from both sides; its outward normal is along × across.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Bool, Float, Int


class Behind(IntEnum):
    """What lies behind a surface."""

    ROOM = 0
    OUTDOORS = 1
    SOIL = 2
    ITSELF = 3
    """Nothing that holds heat: a leaf, a sheet of metal, a wall with the same on its other side."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Surfaces as columns; `origin`, `along` and `across` are a corner and two edges in metres."""

    origin: Float[np.ndarray, "surfaces 3"]
    along: Float[np.ndarray, "surfaces 3"]
    across: Float[np.ndarray, "surfaces 3"]
    material: Int[np.ndarray, " surfaces"]
    """Rows of `materials.MATERIALS`."""
    sky_view: Float[np.ndarray, " surfaces"]
    """Share of the half space before a surface that is open sky."""
    indoors: Bool[np.ndarray, " surfaces"]
    """Whether a room, not weather, is before the surface."""
    behind: Int[np.ndarray, " surfaces"]
    power: Float[np.ndarray, " surfaces"]
    """Heat released at the surface in W/m²: radiators, engines, lamps, pipes behind plaster."""
    texture: Float[np.ndarray, "surfaces 2"]
    """Metres: where in the world's texture the corner lies; equal for surfaces that are copies of each other."""

    def __len__(self) -> int:
        return len(self.origin)

    @property
    def normals(self) -> Float[np.ndarray, "surfaces 3"]:
        """Outward directions of unit length."""
        crossed = np.cross(self.along, self.across)
        return crossed / np.linalg.norm(crossed, axis=1, keepdims=True)

    @property
    def centers(self) -> Float[np.ndarray, "surfaces 3"]:
        """Middles of the surfaces."""
        return self.origin + (self.along + self.across) / 2


def join_scenes(parts: Sequence[Scene]) -> Scene:
    """All surfaces in one scene, in the order of the parts."""
    return Scene(*map(np.concatenate, zip(*map(astuple, parts), strict=True)))
