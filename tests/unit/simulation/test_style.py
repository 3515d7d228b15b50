"""Styles: the plain one is what worlds always were; the others lie within what a robot may meet."""

from itertools import pairwise

import numpy as np
import pytest

from tmapr.simulation.streets import FAMILIES, LEAST, build_world
from tmapr.simulation.style import Style, sample_style
from tmapr.simulation.traverse import Traverse, drive_lap, prepare_passage
from tmapr.simulation.weather import find_weather
from tmapr.types import NANOSECONDS

NOON = find_weather("noon")
FRAMES = 600
NUMBERS = range(1, 4)
SPEEDS = {"campus": (0.5, 3.0), "city": (3.0, 30.0), "valley": (3.0, 30.0)}


def built(family, number, seed=1):
    style = sample_style(number, family)
    return build_world(family, seed, length=style.route_length(FRAMES, LEAST[family]), style=style)


@pytest.fixture(scope="module", params=["campus", "city"])
def styled(request):
    """A family, and for every number its style and a world in it."""
    return request.param, [(sample_style(number, request.param), built(request.param, number)) for number in NUMBERS]


# Surfaces, and the sums of their corners: what a world of a seed was before there were styles.
PLAIN = {
    "campus": (652, 38018.02193, 20094.50589),
    "city": (7001, 797912.7420, -604429.9121),
    "valley": (2270, 5952.95506, 81198.25413),
}


@pytest.fixture(params=FAMILIES)
def plain(request):
    return request.param, built(request.param, 0).scene(9)


def test_style_0_is_the_world_as_it_always_was(plain):
    family, scene = plain
    surfaces, east, north = PLAIN[family]
    assert len(scene) == surfaces
    np.testing.assert_allclose(scene.origin[:, :2].sum(axis=0), [east, north], rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_style_is_its_number_s_alone(family):
    assert sample_style(7, family) == sample_style(7, family)
    assert sample_style(7, family) != sample_style(9, family)
    assert sample_style(0, family) == Style(camera=sample_style(0, family).camera)


def test_speeds_rates_and_spacings_are_those_of_robots_and_cars(styled):
    family, worlds = styled
    slowest, fastest = SPEEDS[family]
    for style, world in worlds:
        motion, times = drive_lap(world, Traverse("lap", NOON, 1, frames=FRAMES))
        assert slowest <= style.speed <= fastest
        assert 2 <= FRAMES / motion.duration <= 30
        positions, _ = motion.poses_at(motion.distance_at(times / NANOSECONDS))
        steps = np.hypot(*np.diff(positions, axis=0).T)
        assert 0.3 <= np.median(steps[steps > 0.05]) <= 5


def test_a_traverse_keeps_its_own_distance_from_the_middle(styled):
    _, worlds = styled
    for style, world in worlds:
        laps = [drive_lap(world, Traverse("lap", NOON, seed, frames=10))[0] for seed in (1, 2)]
        first, second = (lap.wander.level for lap in laps)
        assert first != second
        assert max(abs(first), abs(second)) <= style.offset


def test_nothing_stands_where_one_drives(styled):
    """No fixed wall crosses the camera's way at the height of its lens: it never looks out of a house."""
    style, world = styled[1][1]
    passage = prepare_passage(world, Traverse("lap", NOON, 3, frames=100), style.camera)
    walls = world.fixed.normals[:, 2] ** 2 < 0.01
    corner, along, across = (each[walls] for each in (world.fixed.origin, world.fixed.along, world.fixed.across))
    reach = np.linalg.norm(along, axis=1) + np.linalg.norm(across, axis=1)
    for here, there in pairwise(view.eye for view in passage.views):
        near = np.linalg.norm(corner - here, axis=1) <= reach + np.linalg.norm(here - there)
        passed = np.stack([along[near], across[near], np.broadcast_to(here - there, along[near].shape)], axis=2)
        crossing = np.abs(np.linalg.det(passed)) > 1e-9
        shares = np.linalg.solve(passed[crossing], (here - corner[near][crossing])[..., None])[..., 0]
        assert not ((shares >= 0) & (shares <= 1)).all(axis=1).any()
