"""What a start, the level of a match and a reader make of the belief over a route."""

import numpy as np
import pytest

from routes import lay, line
from tmapr.track.coverage import cover_modes
from tmapr.tracking.filter import RouteFilter
from tmapr.tracking.placing import Placing
from tmapr.tracking.speeds import START_OFF, START_WRONG
from tmapr.types import CHI2_95, Belief

ROUTE = lay(line(30))
RADIUS = 5.0


@pytest.fixture
def anywhere(rng):
    """A belief that has weighed one random view."""
    belief = RouteFilter(ROUTE)
    belief.update(rng.normal(0.0, 2.0, len(ROUTE)), np.zeros(len(ROUTE)))
    return belief


def test_a_start_is_a_bell_around_where_somebody_said():
    belief = RouteFilter(ROUTE)
    belief.start_around(np.array([24.0, 1.0]), 6.0)
    told = belief.where - (1.0 - START_OFF) * START_WRONG * belief.share
    along = ROUTE.positions[:, 0]
    mean = float(told @ along / told.sum())
    assert mean == pytest.approx(24.0, abs=0.1)
    assert np.sqrt(told @ (along - mean) ** 2 / told.sum()) == pytest.approx(6.0, rel=0.02)


def test_a_start_that_was_wrong_leaves_every_reference_its_share():
    belief = RouteFilter(ROUTE)
    belief.start_around(np.array([0.0, 0.0]), 0.5)
    assert (belief.where >= (1.0 - START_OFF) * START_WRONG * belief.share * (1 - 1e-12)).all()
    assert belief.where.sum() + belief.p_off == pytest.approx(1.0)


@pytest.mark.parametrize("odds", [-0.75, 0.0, 1.0])
def test_a_level_multiplies_the_odds_of_being_on_the_map(odds, anywhere):
    before = anywhere.where.sum() / anywhere.p_off
    anywhere.weigh_map(odds)
    assert anywhere.where.sum() / anywhere.p_off == pytest.approx(before * np.exp(odds))
    assert anywhere.where.sum() + anywhere.p_off == pytest.approx(1.0)


def test_the_peak_is_where_most_lies_around_a_reference(anywhere):
    around = [sum(anywhere.where[np.hypot(*(ROUTE.positions - here).T) <= RADIUS]) for here in ROUTE.positions]
    peak, probability = anywhere.find_peak(RADIUS)
    assert probability == pytest.approx(max(around))
    assert around[peak] == pytest.approx(max(around))


def test_the_points_where_the_camera_may_be_have_all_the_probability(anywhere):
    _, masses = anywhere.list_modes()
    assert masses.sum() == pytest.approx(1.0, abs=1e-6)


def test_off_the_map_the_points_are_within_reach_of_where_it_was_left(anywhere):
    anywhere.reach = np.full(len(anywhere.centres), 4.0)
    points, _ = anywhere.list_modes()
    off = points[np.count_nonzero(anywhere.where) :]
    nearest = np.hypot(*(off[:, None] - anywhere.centres[None]).transpose(2, 0, 1)).min(axis=1)
    assert len(off) == 4 * len(anywhere.centres)
    assert nearest.max() <= 4.0


def placed(p_place):
    """A camera at the origin whose views have no length."""
    nothing = np.zeros(0, dtype=np.int64)
    spread = p_place, 0.0, 0, nothing, np.zeros(0), np.zeros(2), np.eye(2)
    return Placing(*spread, share=1.0, new_view=True, view_metres=0.0, near=nothing)


BELIEF = Belief(0, np.zeros(4), np.diag([2.0, 3.0, 1.0, 1.0]))


def test_the_ellipse_of_a_probable_place_holds_what_is_missing_to_95_percent():
    told = cover_modes(BELIEF, placed(0.97), lambda: pytest.fail("no other mode is asked for"), RADIUS)
    held = 1.0 - np.exp(-0.5 * CHI2_95 * told[0, 0] / BELIEF.covariance[0, 0])
    assert 0.97 * held == pytest.approx(0.95)


def test_of_two_places_the_ellipse_holds_both_and_stretches_from_one_to_the_other():
    points, masses = np.array([[0.0, 0.0], [100.0, 0.0]]), np.array([0.6, 0.4])
    told = cover_modes(BELIEF, placed(0.6), lambda: (points, masses), RADIUS)[:2, :2]
    assert points[1] @ np.linalg.inv(told) @ points[1] <= CHI2_95 * (1 + 1e-9)
    assert told[0, 0] > 100 * told[1, 1]
