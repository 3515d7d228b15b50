"""Scenes of single surfaces for the tests of heat and light."""

import numpy as np

from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind, Scene, join_scenes

UP, EAST, NORTH, WEST, SOUTH = (0, 0, 1), (1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0)


def panel(
    stuff: Stuff,
    normal: tuple[int, int, int] = UP,
    sky_view: float | None = None,
    behind: Behind = Behind.SOIL,
    indoors: bool = False,
    power: float = 0.0,
) -> Scene:
    """One square metre; without a sky view its horizon is open."""
    along = np.array([1.0, 0.0, 0.0]) if normal == UP else np.cross([0.0, 0.0, 1.0], normal)
    return Scene(
        origin=np.zeros((1, 3)),
        along=along[None],
        across=np.cross(normal, along).astype(float)[None],
        material=np.array([int(stuff)]),
        sky_view=np.array([(1 + normal[2]) / 2 if sky_view is None else sky_view]),
        indoors=np.array([indoors]),
        behind=np.array([int(behind)]),
        power=np.array([power]),
        texture=np.zeros((1, 2)),
    )


def wall(stuff: Stuff, normal: tuple[int, int, int], behind: Behind = Behind.ROOM, indoors: bool = False) -> Scene:
    return panel(stuff, normal, 0.0 if indoors else 0.45, behind, indoors)


def street() -> Scene:
    """Ground, walls of four orientations, glass, metal and trees, all outdoors."""
    sides = (EAST, NORTH, WEST, SOUTH)
    return join_scenes(
        [
            panel(Stuff.ASPHALT, sky_view=0.8),
            panel(Stuff.CONCRETE, sky_view=0.7),
            panel(Stuff.GRASS, sky_view=0.8),
            panel(Stuff.PAINTED_METAL, sky_view=0.9, behind=Behind.ITSELF),
            wall(Stuff.PAINTED_METAL, SOUTH, Behind.ITSELF),
            panel(Stuff.FOLIAGE, sky_view=0.6, behind=Behind.ITSELF),
            wall(Stuff.FOLIAGE, WEST, Behind.ITSELF),
            *(wall(Stuff.BRICK, side) for side in sides),
            *(wall(Stuff.PLASTER, side) for side in sides),
            *(wall(Stuff.GLASS, side) for side in sides),
        ]
    )
