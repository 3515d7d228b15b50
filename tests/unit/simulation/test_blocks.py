"""What the building blocks look like from outside: faces outward, on the ground, as large as asked for."""

import numpy as np
import pytest

from tmapr.simulation.blocks import Builder, Finish, Wall
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind

BRICK = Finish(Stuff.BRICK)


def corners(scene):
    found = [scene.origin + a * scene.along + b * scene.across for a in (0, 1) for b in (0, 1)]
    return np.concatenate(found)


def test_a_finish_reaches_its_surface():
    builder = Builder(texture=(3.0, 4.0))
    builder.ground((0, 0), (1, 1), Finish(Stuff.GLASS, 0.25, Behind.OUTDOORS, 7.0, indoors=True))
    scene = builder.scene()
    found = (scene.material[0], scene.sky_view[0], scene.behind[0], scene.power[0], scene.indoors[0])
    assert (*found, *scene.texture[0]) == (Stuff.GLASS, 0.25, Behind.OUTDOORS, 7.0, True, 3.0, 4.0)


def test_ground_faces_up_between_its_corners_at_its_level():
    builder = Builder()
    builder.ground((1, 2), (4, 8), BRICK, level=0.5)
    scene = builder.scene()
    np.testing.assert_array_equal(scene.normals, [[0, 0, 1]])
    np.testing.assert_allclose([corners(scene).min(axis=0), corners(scene).max(axis=0)], [[1, 2, 0.5], [4, 8, 0.5]])


def test_the_faces_of_a_box_face_away_from_its_middle():
    builder = Builder()
    builder.box((3, -2), 0.7, (4, 2, 1.5), BRICK, level=0.3)
    scene = builder.scene()
    away = np.sum(scene.normals * (scene.centers - [3, -2, 0.3 + 0.75]), axis=1)
    np.testing.assert_allclose(away, [1, 2, 1, 2, 0.75])


def test_a_box_is_as_long_along_its_heading_as_asked_for():
    builder, heading = Builder(), 0.7
    builder.box((3, -2), heading, (4, 2, 1.5), BRICK, level=0.3)
    ahead = (corners(builder.scene())[:, :2] - [3, -2]) @ [np.cos(heading), np.sin(heading)]
    np.testing.assert_allclose([ahead.min(), ahead.max()], [-2, 2])


@pytest.mark.parametrize(("height", "spread"), [(8.0, 2.0), (1.5, 0.8)])
def test_leaves_stay_about_the_crown(height, spread, rng):
    builder = Builder()
    builder.tree((5, 6), height, spread, 300, rng)
    leaves = builder.scene().centers[2:]
    assert np.all(np.hypot(*(leaves[:, :2] - [5, 6]).T) <= spread)
    assert np.all((leaves[:, 2] > 0) & (leaves[:, 2] <= height))


def test_a_car_stands_on_the_ground_at_its_place(rng):
    builder = Builder()
    builder.car((10, 20), 0.0, rng, warm=True)
    found = corners(builder.scene())
    assert found[:, 2].min() == 0
    assert np.all(np.abs(found - [10, 20, 0]) <= [2.5, 1.0, 1.5])


WALL = Wall(np.array([2.0, 3.0]), np.array([0.6, 0.8]), 10.0, 5.0)


def test_a_wall_faces_to_the_right_of_its_direction():
    builder = Builder()
    WALL.build(builder, BRICK)
    np.testing.assert_allclose(builder.scene().normals, [[0.8, -0.6, 0.0]])
    np.testing.assert_allclose(WALL.outward, [0.8, -0.6])


def test_what_hangs_on_a_wall_is_where_it_was_told_to_hang():
    builder = Builder()
    WALL.hang(builder, (1.0, 2.0), (0.5, 0.7), BRICK)
    found = corners(builder.scene())
    along = (found[:, :2] - WALL.corner) @ WALL.direction
    np.testing.assert_allclose([along.min(), along.max(), *np.unique(found[:, 2])], [1.0, 1.5, 2.0, 2.7])
