"""A pose head beside the map: a useless one changes nothing that is localized, a good one carries on where it ends."""

from dataclasses import replace

import numpy as np
import pytest

from descriptor_field import DescriptorField
from routes import LOOP, STEP, around, film, follow, remember_drives
from tmapr.config import changed
from tmapr.fusion.capf import Fusion
from tmapr.system import System
from tmapr.tracking import RouteTracker, Tracking
from tmapr.types import NANOSECONDS, Percept, Recognition, Status

MEMORY = remember_drives(LOOP)
WAY = around(STEP * np.arange(60))
DRIVE = film(WAY)
BESIDE = WAY[-1] + STEP * np.arange(1, 41)[:, None] * (WAY[-1] - WAY[-2]) / STEP
LEFT = film(BESIDE, field=DescriptorField.from_seed(107, dimension=48), start=DRIVE[-1].stamp + NANOSECONDS // 4)
"""Straight on from there, along streets that are not mapped."""


def track(fusion=None):
    return RouteTracker(Tracking(), fusion or Fusion(), MEMORY)


def say(percepts, positions):
    return [replace(each, position=np.array(spot)) for each, spot in zip(percepts, positions, strict=True)]


def drive(tracker, percepts):
    return follow(tracker, MEMORY, percepts)


USELESS = {
    "constant": lambda rng: np.tile([3.0, 4.0], (60, 1)),
    "far away": lambda rng: WAY + 1e6,
    "mirrored": lambda rng: -WAY,
    "a guess": lambda rng: LOOP[rng.integers(len(LOOP), size=60)],
}


@pytest.fixture(scope="module")
def without():
    return drive(track(), DRIVE)


@pytest.mark.parametrize("name", USELESS)
@pytest.mark.parametrize("promised", [None, 2.0])
def test_a_useless_head_changes_no_localized_estimate(name, promised, without, rng):
    tracker = track()
    if promised:
        tracker.expect_head(promised)
    said = drive(tracker, say(DRIVE, USELESS[name](rng)))
    for ours, plain in zip(said, without, strict=True):
        assert (ours.status is Status.LOCALIZED) == (plain.status is Status.LOCALIZED)
        assert ours.route.p_place == plain.route.p_place
        if plain.status is Status.LOCALIZED:
            np.testing.assert_array_equal(ours.belief.mean, plain.belief.mean)
            np.testing.assert_array_equal(ours.belief.covariance, plain.belief.covariance)
    assert not tracker.head.known


def test_a_good_head_is_measured_where_the_place_is_proven(rng):
    tracker, way = track(), around(STEP * np.arange(110))
    drive(tracker, say(film(way), way + rng.normal(0.0, 2.0, (110, 2))))
    assert tracker.head.known
    assert 2.0 < np.sqrt(tracker.head.variance) < 0.25 * np.hypot(*np.ptp(LOOP, axis=0))


def test_where_the_map_ends_a_good_head_is_followed_and_nothing_claimed(rng):
    positions = np.concatenate([WAY, BESIDE])
    percepts = say([*DRIVE, *LEFT], positions + rng.normal(0.0, 1.0, positions.shape))
    tracker, alone = track(), track()
    tracker.expect_head(2.0)
    led = drive(tracker, percepts)[-10:]
    lost = drive(alone, [*DRIVE, *LEFT])[-10:]
    assert {each.status for each in led} == {Status.APR_ONLY}
    errors = [np.hypot(*(np.array([each.position for each in one]) - BESIDE[-10:]).T).mean() for one in (led, lost)]
    assert errors[0] < 0.7 * errors[1]
    assert not any(each.verdict.accepted and each.status is Status.LOCALIZED for each in led)


def test_off_the_map_the_head_moves_the_belief_the_less_the_farther_from_the_map_it_points():
    moved = []
    for metres in (20.0, 200.0):
        tracker = track()
        tracker.expect_head(2.0)
        before = drive(tracker, [*DRIVE, *LEFT])[-1]
        last = replace(LEFT[-1], stamp=LEFT[-1].stamp + NANOSECONDS // 4)
        outwards = np.array([0.6, 0.8])
        (after,) = drive(tracker, [replace(last, position=before.position + metres * outwards)])
        moved.append(float((after.position - before.position) @ outwards) / metres)
    assert 0.0 < 2.0 * moved[1] < moved[0]


def test_a_filter_that_is_to_ignore_the_head_does(without):
    said = drive(track(Fusion(apr=False)), say(DRIVE, WAY))
    assert [each.position.tolist() for each in said] == [each.position.tolist() for each in without]


def test_without_a_search_the_pose_head_is_followed_and_nothing_is_claimed():
    tracker = track(changed(System(), {"fusion.apr_variance": 4.0}).fusion)
    for second in range(1, 20):
        said = Percept(second * NANOSECONDS, DRIVE[0].descriptor, np.array([0.5, 0.0]))
        estimate = tracker.advance(said, Recognition())
    assert estimate.status is Status.APR_ONLY
    np.testing.assert_allclose(estimate.position, [0.5, 0.0], atol=0.1)
