"""Odometry that never changes while the pictures do is none; each of speed and yaw rate by itself."""

import numpy as np
import pytest

from routes import SPEED, record, ring
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.system import System, build, make_map
from tmapr.tracking.odometry import OdometryTrust
from tmapr.tracking.speeds import UNCHANGED
from tmapr.types import Belief, Estimate, Odometry, Percept, Reason, RouteBelief, Status, Verdict

SYSTEM = System(places=Places(use=(), projection=Projection(dimension=32)))
COUNT = 20
RNG = np.random.default_rng(6)
MEASURED = np.column_stack([SPEED + RNG.normal(0.0, 0.1, COUNT), 2 * np.pi / 15 + RNG.normal(0.0, 0.01, COUNT)])
ABSENT, ZERO, ODD = np.full(COUNT, np.nan), np.zeros(COUNT), np.full(COUNT, 0.3)
DRIVE = record("driven", ring(60), 2)


@pytest.fixture(scope="module")
def mapped():
    return make_map(SYSTEM, record("mapped", ring(60), 1))


def film(speeds, rates):
    motion = np.full((60, 2), np.nan)
    motion[:COUNT] = np.column_stack([speeds, rates])
    return DRIVE.with_motion(motion).percepts[:COUNT]


def follow(localizer, percepts):
    return [(each.position.tobytes(), each.status) for each in map(localizer.observe, percepts)]


@pytest.mark.parametrize(
    ("stuck", "without"),
    [
        ((ZERO, ZERO), (ABSENT, ABSENT)),
        ((ODD, ODD), (ABSENT, ABSENT)),
        ((MEASURED[:, 0], ZERO), (MEASURED[:, 0], ABSENT)),
        ((ZERO, MEASURED[:, 1]), (ABSENT, MEASURED[:, 1])),
    ],
    ids=["all zero", "constant", "yaw rate zero", "speed zero"],
)
def test_what_never_changes_is_as_if_it_were_not_there(mapped, stuck, without):
    told = follow(build(SYSTEM, mapped), film(*stuck))
    assert told == follow(build(SYSTEM, mapped), film(*without))
    assert told[-1][1] is Status.LOCALIZED


@pytest.mark.parametrize("at", [4, 16])
def test_stopped_and_gone_on_it_hears_the_same(mapped, at):
    percepts = film(np.where(np.arange(COUNT) < 4, MEASURED[:, 0], 0.3), ZERO)
    whole, stopped, again = (build(SYSTEM, mapped) for _ in range(3))
    follow(stopped, percepts[:at])
    again.restore(stopped.arrays(), "route")
    assert follow(again, percepts[at:]) == follow(whole, percepts)[at:]


def view(new):
    """An estimate of a frame that was a new view, or not."""
    route = RouteBelief(0.9, 0.1, np.zeros(0, np.int64), np.zeros(0), new)
    belief, percept = Belief(0, np.zeros(4), np.eye(4)), Percept(0, np.ones(1))
    return Estimate(belief, percept, None, Verdict(Reason.ACCEPTED), Status.LOCALIZED, route=route)


def test_what_sticks_loses_its_say_after_some_new_views_and_has_it_again_at_once():
    trust = OdometryTrust()
    heard = []
    for speed in [1.0, 2.0, *[3.0] * (UNCHANGED + 2), 4.0]:
        heard.append(trust.heed(Odometry(speed)))
        trust.see(view(True))
    assert heard == [None, Odometry(2.0), *[Odometry(3.0)] * UNCHANGED, None, None, Odometry(4.0)]


def test_standing_costs_it_nothing():
    trust = OdometryTrust()
    for speed in [1.0, *[0.0] * (3 * UNCHANGED)]:
        heard = trust.heed(Odometry(speed, 0.5))
        trust.see(view(False))
    assert heard == Odometry(0.0)
