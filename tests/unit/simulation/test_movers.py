"""What moves along the route: a mover is where a plain walk along the route's legs puts it, and looks where it goes."""

from itertools import pairwise

import numpy as np
import pytest

from tmapr.simulation.blocks import Builder, Finish
from tmapr.simulation.materials import Stuff
from tmapr.simulation.movers import Movers
from tmapr.simulation.streets import FAMILIES, build_world
from tmapr.simulation.style import Style

ROUTE = np.array([[0.0, 0.0], [30.0, 0.0], [30.0, 40.0], [0.0, 0.0]])
LENGTH, LANE = 120.0, 2.0


def walked(metres):
    """The point of the route after so many metres, and the direction there."""
    metres %= LENGTH
    for start, stop in pairwise(ROUTE):
        leg = np.hypot(*(stop - start))
        if metres < leg:
            return start + metres * (stop - start) / leg, (stop - start) / leg
        metres -= leg
    raise AssertionError


def moving(started, speed):
    """One mover: a plate across its way, a metre ahead of its middle."""
    builder = Builder()
    builder.quad((1.0, -0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), Finish(Stuff.METAL))
    return Movers(builder.scene(), ROUTE, np.array([started]), np.array([speed]), LANE)


@pytest.mark.parametrize("seconds", [0.0, 3.7, 11.0, 250.0])
@pytest.mark.parametrize("speed", [5.0, -4.0])
def test_a_mover_keeps_right_of_the_middle_and_looks_where_it_goes(seconds, speed):
    scene = moving(10.0, speed).scene_at(seconds)
    point, onward = walked(10.0 + speed * seconds)
    ahead = np.sign(speed) * onward
    left = np.array([-ahead[1], ahead[0]])
    np.testing.assert_allclose(scene.centers[0, :2], point - LANE * left + ahead, atol=1e-9)
    np.testing.assert_allclose(scene.along[0, :2], left, atol=1e-12)
    np.testing.assert_allclose(scene.across[0], [0.0, 0.0, 1.0])


@pytest.mark.parametrize("family", FAMILIES)
def test_there_are_as_many_as_the_style_says_and_others_on_every_traverse(family):
    world = build_world(family, 1, length=400.0, style=Style(moving=2.0))
    length = np.hypot(*np.diff(world.route, axis=0).T).sum()
    movers = world.movers(3)
    assert len(np.unique(movers.started)) == round(2.0 * length / 100)
    assert set(np.sign(movers.speed)) == {-1.0, 1.0}
    assert not np.array_equal(np.unique(movers.started), np.unique(world.movers(4).started))
