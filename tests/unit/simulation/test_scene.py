"""Scenes as columns: joined in order, with normals and middles that geometry can check."""

from dataclasses import astuple, replace

import numpy as np

from panels import EAST, NORTH, SOUTH, UP, WEST, panel, street
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import join_scenes


def test_joined_scenes_keep_every_column():
    first, second = panel(Stuff.METAL, WEST, power=3.0), street()
    for column, left, right in zip(*map(astuple, (join_scenes([first, second]), first, second)), strict=True):
        np.testing.assert_array_equal(column, np.concatenate([left, right]))


def test_a_panel_faces_where_it_was_told_to():
    sides = (UP, EAST, NORTH, WEST, SOUTH)
    np.testing.assert_allclose(join_scenes([panel(Stuff.BRICK, side) for side in sides]).normals, sides, atol=1e-15)


def test_normals_stand_on_both_edges(rng):
    scene = slanted(rng)
    for edge in (scene.along, scene.across):
        np.testing.assert_allclose(np.sum(scene.normals * edge, axis=1), 0, atol=1e-12)


def test_centers_are_the_means_of_the_corners(rng):
    scene = slanted(rng)
    corners = [scene.origin + a * scene.along + b * scene.across for a in (0, 1) for b in (0, 1)]
    np.testing.assert_allclose(scene.centers, np.mean(corners, axis=0))


def slanted(rng):
    """The street with edges of any direction."""
    origin, along, across = rng.normal(size=(3, len(street()), 3))
    return replace(street(), origin=origin, along=along, across=across)
