"""What does not come from the map counts as far as it was right: odometry by its changes, a pose head by its error."""

import numpy as np
import pytest

from tmapr.tracking import RouteModel
from tmapr.tracking.trust import HeadTrust, OdometryTrust
from tmapr.types import Odometry

MODEL = RouteModel()
WAY = np.column_stack([np.linspace(0.0, 400.0, 101), 20.0 * np.sin(np.linspace(0.0, 6.0, 101))])
EXTENT = float(np.hypot(*WAY.std(axis=0))) * 2.0
STUCK = MODEL.same_odometry


def hear(*told, views=True):
    """What is heard of each, with a new view after it."""
    trust, heard = OdometryTrust(STUCK), []
    for each in told:
        heard.append(trust.heed(each))
        if views:
            trust.see_view()
    return heard


def test_what_sticks_loses_its_say_after_some_new_views_and_has_it_again_at_once():
    heard = hear(Odometry(1.0), Odometry(2.0), *[Odometry(3.0)] * (STUCK + 2), Odometry(4.0))
    assert heard == [None, Odometry(2.0), *[Odometry(3.0)] * STUCK, None, None, Odometry(4.0)]


@pytest.mark.parametrize("stuck", [0.0, 0.3])
def test_what_never_changes_is_never_heard(stuck):
    assert set(hear(*[Odometry(stuck, stuck)] * 30)) == {None}


def test_standing_costs_it_nothing():
    assert hear(Odometry(1.0), *[Odometry(0.0)] * (3 * STUCK), views=False)[-1] == Odometry(0.0)


def test_speed_and_yaw_rate_are_heard_each_by_itself():
    told = [Odometry(0.0, 0.1 * number) for number in range(30)]
    assert hear(*told)[1:] == [Odometry(None, each.yaw_rate) for each in told[1:]]
    assert hear(*[Odometry(1.0 * number, None) for number in range(3)])[1:] == [Odometry(1.0), Odometry(2.0)]


def test_without_odometry_there_is_none_and_nothing_is_forgotten():
    assert hear(Odometry(1.0), None, Odometry(2.0)) == [None, None, Odometry(2.0)]


@pytest.mark.parametrize("at", [1, 2, STUCK + 3])
def test_odometry_goes_on_where_it_stopped(at):
    told = [Odometry(1.0, 0.0), Odometry(2.0, 0.1), *[Odometry(3.0, 0.1)] * (STUCK + 3)]
    whole, stopped, resumed = (OdometryTrust(STUCK) for _ in range(3))
    for each in told[:at]:
        for trust in (whole, stopped):
            trust.heed(each)
            trust.see_view()
    resumed.restore(stopped.arrays())
    for each in told[at:]:
        assert resumed.heed(each) == whole.heed(each)
        resumed.see_view(), whole.see_view()


def measured(say, views=200, promised=None):
    """The trust in a head after a drive along the way, every view of which was certain."""
    trust = HeadTrust(EXTENT, MODEL)
    if promised is not None:
        trust.expect(promised)
    for view in range(views):
        there = WAY[view % len(WAY)]
        trust.measure(say(there), there)
    return trust


USELESS = {
    "constant": lambda there: np.array([200.0, 0.0]),
    "mirrored": lambda there: np.array([400.0, 0.0]) - there,
    "far away": lambda there: there + 5000.0,
}


@pytest.mark.parametrize("name", USELESS)
@pytest.mark.parametrize("promised", [None, 2.0])
def test_a_useless_head_ends_without_any_say(name, promised):
    assert not measured(USELESS[name], 100, promised).known


def test_a_head_that_guesses_ends_without_any_say(rng):
    assert not measured(lambda there: WAY[rng.integers(len(WAY))]).known


def test_nobody_knows_a_new_head():
    assert not HeadTrust(EXTENT, MODEL).known


def test_its_error_is_found_from_above(rng):
    errors = [
        np.sqrt(measured(lambda there: there + rng.normal(0.0, 5.0, 2), views).variance) for views in (20, 100, 800)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == pytest.approx(5.0, rel=0.2)


def test_its_word_has_its_measured_error_and_is_new_in_a_share_of_the_views(rng):
    trust = measured(lambda there: there + rng.normal(0.0, 5.0, 2))
    np.testing.assert_allclose(trust.weigh(0.0, 1.0), np.eye(2) * trust.variance / MODEL.head_new)
    np.testing.assert_allclose(trust.weigh(0.0, 0.5), 2.0 * trust.weigh(0.0, 1.0))
    assert np.isfinite(trust.weigh(0.0, 0.0)).all()


def test_far_off_the_map_its_word_fades(rng):
    trust = measured(lambda there: there + rng.normal(0.0, 5.0, 2))
    deviations = [np.sqrt(trust.weigh(away, 1.0)[0, 0] * MODEL.head_new) for away in (0.0, 20.0, 400.0)]
    assert deviations == pytest.approx(np.hypot(np.sqrt(trust.variance), [0.0, 20.0, 400.0]))


def test_a_validation_counts_until_a_view_was_measured():
    trust = measured(None, views=0, promised=6.0)
    assert trust.known
    assert 2.0 * trust.variance == pytest.approx(36.0)
    trust.measure(WAY[0], WAY[0])
    before = trust.variance
    trust.expect(50.0)
    assert trust.variance == before


def test_a_head_that_becomes_good_again_is_believed_again(rng):
    trust = measured(USELESS["constant"])
    for view in range(1000):
        there = WAY[view % len(WAY)]
        trust.measure(there + rng.normal(0.0, 3.0, 2), there)
    assert trust.known
