"""What the building blocks look like from outside: faces outward, on the ground, as large as asked for."""

import numpy as np
import pytest

from tmapr.simulation.blocks import PROUD, Builder, Finish, Wall
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind

BRICK = Finish(Stuff.BRICK)


def corners(scene):
    found = [scene.origin + a * scene.along + b * scene.across for a in (0, 1) for b in (0, 1)]
    return np.concatenate(found)


def test_nothing_built_is_an_empty_scene():
    assert len(Builder().scene()) == 0


def test_a_finish_reaches_its_surface():
    builder = Builder(texture=(3.0, 4.0))
    builder.ground((0, 0), (1, 1), Finish(Stuff.GLASS, 0.25, Behind.OUTDOORS, 7.0, indoors=True))
    scene = builder.scene()
    found = (scene.material[0], scene.sky_view[0], scene.behind[0], scene.power[0], scene.indoors[0])
    assert (*found, *scene.texture[0]) == (Stuff.GLASS, 0.25, Behind.OUTDOORS, 7.0, True, 3.0, 4.0)


def test_a_surface_keeps_the_texture_of_the_moment_it_was_built():
    builder = Builder(texture=(1.0, 2.0))
    builder.ground((0, 0), (1, 1), BRICK)
    builder.texture = (5.0, 6.0)
    builder.ground((0, 0), (1, 1), BRICK)
    np.testing.assert_array_equal(builder.scene().texture, [[1, 2], [5, 6]])


def test_what_is_taken_over_comes_after_what_was_there():
    builder, other = Builder(), Builder()
    builder.ground((0, 0), (1, 1), BRICK)
    other.ground((0, 0), (1, 1), Finish(Stuff.ROCK))
    builder.take(other)
    np.testing.assert_array_equal(builder.scene().material, [Stuff.BRICK, Stuff.ROCK])


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


def test_a_post_stands_upright_around_its_place():
    builder = Builder()
    builder.pole((5, 6), 4.0, 0.2, BRICK)
    found = corners(builder.scene())
    np.testing.assert_allclose([found.min(axis=0), found.max(axis=0)], [[4.9, 5.9, 0], [5.1, 6.1, 4]])


@pytest.mark.parametrize(("height", "spread"), [(8.0, 2.0), (1.5, 0.8)])
def test_leaves_stay_about_the_crown(height, spread, rng):
    builder = Builder()
    builder.tree((5, 6), height, spread, 300, rng)
    leaves = builder.scene().centers[2:]
    assert np.all(np.hypot(*(leaves[:, :2] - [5, 6]).T) <= spread)
    assert np.all((leaves[:, 2] > 0) & (leaves[:, 2] <= height))


def test_leaves_face_anywhere(rng):
    builder = Builder()
    builder.tree((0, 0), 8.0, 2.0, 1000, rng)
    normals = builder.scene().normals[2:]
    # The mean of a thousand even directions is 0.02 long, and a third of each squared part falls on every axis.
    np.testing.assert_allclose(normals.mean(axis=0), 0, atol=0.1)
    np.testing.assert_allclose((normals**2).mean(axis=0), 1 / 3, atol=0.05)


def test_leaves_are_squares(rng):
    builder = Builder()
    builder.tree((0, 0), 8.0, 2.0, 50, rng)
    scene = builder.scene()
    np.testing.assert_allclose(np.sum(scene.along * scene.across, axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(*(np.linalg.norm(edge[2:], axis=1) for edge in (scene.along, scene.across)))


def test_a_car_stands_on_the_ground_at_its_place(rng):
    builder = Builder()
    builder.car((10, 20), 0.0, rng, warm=True)
    found = corners(builder.scene())
    assert found[:, 2].min() == 0
    assert np.all(np.abs(found - [10, 20, 0]) <= [2.5, 1.0, 1.5])


def test_only_a_car_that_just_came_is_warm(rng):
    powers = []
    for warm in (False, True):
        builder = Builder()
        builder.car((0, 0), 0.0, rng, warm=warm)
        powers.append(builder.scene().power.max())
    assert powers == [0, 250]


def test_the_warm_bonnet_is_before_the_cabin(rng):
    builder = Builder()
    builder.car((0, 0), np.pi / 2, rng, warm=True)
    scene = builder.scene()
    assert scene.centers[scene.power > 0][:, 1].min() > scene.centers[scene.material == Stuff.GLASS][:, 1].max()


def test_a_head_is_warmer_than_clothes():
    builder = Builder()
    builder.person((0, 0), 0.0, 1.8, indoors=False)
    scene = builder.scene()
    assert scene.power[scene.centers[:, 2].argmax()] == scene.power.max() > scene.power.min() > 0


def test_a_person_is_as_tall_as_asked_for():
    builder = Builder()
    builder.person((0, 0), 0.0, 1.8, indoors=True)
    scene = builder.scene()
    assert corners(scene)[:, 2].max() == pytest.approx(0.98 * 1.8)
    assert scene.indoors.all()


WALL = Wall(np.array([2.0, 3.0]), np.array([0.6, 0.8]), 10.0, 5.0)


def test_a_wall_faces_to_the_right_of_its_direction():
    builder = Builder()
    WALL.build(builder, BRICK)
    np.testing.assert_allclose(builder.scene().normals, [[0.8, -0.6, 0.0]])
    np.testing.assert_allclose(WALL.outward, [0.8, -0.6])


def test_a_wall_stands_on_the_ground_from_its_corner():
    builder = Builder()
    WALL.build(builder, BRICK)
    found = corners(builder.scene())
    np.testing.assert_allclose([found[0], found.max(axis=0)], [[2, 3, 0], [8, 11, 5]])


def test_what_hangs_on_a_wall_stands_out_from_it():
    builder = Builder()
    WALL.hang(builder, (1.0, 2.0), (0.5, 0.7), BRICK)
    found = corners(builder.scene())
    np.testing.assert_allclose((found[:, :2] - WALL.corner) @ WALL.outward, PROUD)


def test_what_hangs_on_a_wall_is_where_it_was_told_to_hang():
    builder = Builder()
    WALL.hang(builder, (1.0, 2.0), (0.5, 0.7), BRICK)
    found = corners(builder.scene())
    along = (found[:, :2] - WALL.corner) @ WALL.direction
    np.testing.assert_allclose([along.min(), along.max(), *np.unique(found[:, 2])], [1.0, 1.5, 2.0, 2.7])
