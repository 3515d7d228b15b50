"""Through the whole chain: known turns leave a mapped drive alone, doubt a jump, and lead on where the map ends."""

from dataclasses import replace

import numpy as np
import pytest

from descriptor_field import DescriptorField
from routes import INSIDE, LOOP, RATE, SPEED, STEP, around, film, follow, remember_drives
from tmapr.fusion.capf import Fusion
from tmapr.tracking import RouteModel, RouteTracker, Tracking
from tmapr.types import NANOSECONDS, Odometry, Reason, Status

GAIN = 0.8
MEMORY = remember_drives(LOOP, turn_gain=GAIN)
RADIUS = MEMORY.reference.place
FOLLOWED = RouteModel(believed=4.0)
BELIEVED = FOLLOWED.believed * RADIUS
"""Metres for which a place is doubted that way and turns contradict, sooner than they may err as far as the jump."""
YAW_RATE = SPEED / INSIDE
TURNING, DRIVING = Odometry(yaw_rate=YAW_RATE), Odometry(SPEED, YAW_RATE)
METRES = STEP * np.arange(80)
JUMP = 40
ELSEWHERE = METRES + np.where(np.arange(80) >= JUMP, np.pi * INSIDE, 0.0)
"""Half around the ring, within one frame."""


def track():
    return RouteTracker(Tracking(), Fusion(), MEMORY)


def shoot(metres, motion=None, **looks):
    return jitter(film(around(metres), **looks), motion)


def jitter(percepts, motion):
    """With odometry that is never twice the same: one that sticks is none."""
    if motion is None:
        return percepts
    rng = np.random.default_rng(4)
    factors = 1.0 + 1e-6 * rng.normal(size=len(percepts))
    told = [
        Odometry(*(None if each is None else each * factor for each in (motion.speed, motion.yaw_rate)))
        for factor in factors.tolist()
    ]
    return [replace(each, motion=one) for each, one in zip(percepts, told, strict=True)]


def advance(tracker, percepts):
    return follow(tracker, MEMORY, percepts)


def p_places(estimates):
    return np.array([estimate.route.p_place for estimate in estimates])


def statuses(estimates):
    return [estimate.status for estimate in estimates]


@pytest.mark.parametrize(("plain", "told"), [(None, TURNING), (Odometry(SPEED), DRIVING)])
def test_right_turns_change_nothing_on_the_mapped_way(plain, told):
    expected, found = (advance(track(), shoot(METRES[:60], each)) for each in (plain, told))
    np.testing.assert_array_equal(p_places(found), p_places(expected))
    assert statuses(found)[20:] == statuses(expected)[20:] == [Status.LOCALIZED] * 40


@pytest.fixture(scope="module")
def jumped():
    """What was estimated after a jump, and whether it was doubted."""
    tracker, found = RouteTracker(Tracking(model=FOLLOWED), Fusion(), MEMORY), []
    for percept in shoot(ELSEWHERE, DRIVING):
        found += [(advance(tracker, [percept])[0], bool(tracker.arrays()["judged"][0]))]
    return found[JUMP:]


def test_after_a_jump_the_place_is_doubted_for_forty_metres_and_then_believed(jumped):
    metres, way = STEP * np.arange(len(jumped)), around(ELSEWHERE[JUMP:])
    right = np.array([np.hypot(*(each.position - spot)) for (each, _), spot in zip(jumped, way, strict=True)]) < RADIUS
    localized = np.array([each.status is Status.LOCALIZED for each, _ in jumped])
    doubted = np.array([doubt for _, doubt in jumped])
    begun = metres[doubted][0]
    assert metres[doubted][-1] - begun == pytest.approx(BELIEVED, abs=10.0)
    assert not localized[doubted].any()
    assert {each.verdict.reason for each, doubt in jumped if doubt} == {Reason.FAR_FROM_BELIEF}
    after = metres > metres[doubted][-1]
    assert after.sum() > 3
    assert (localized & right)[after].all()


def test_a_contradicted_place_is_not_localized_before_it_is_doubted(jumped):
    """For no frame, however little was driven since dead reckoning was asked last."""
    before = [each for each, doubt in jumped[: [doubt for _, doubt in jumped].index(True)]]
    there = around(ELSEWHERE[JUMP:])
    claimed = [
        each.status for each, spot in zip(before, there, strict=False) if np.hypot(*(each.position - spot)) < 5.0
    ]
    assert Status.LOCALIZED not in claimed


def test_with_nothing_to_be_believed_a_jump_is_not_doubted():
    tracker = RouteTracker(Tracking(model=RouteModel(believed=0.0)), Fusion(), MEMORY)
    for percept in shoot(ELSEWHERE, DRIVING):
        (estimate,) = advance(tracker, [percept])
        assert not tracker.arrays()["judged"][0]
    assert estimate.status is Status.LOCALIZED


def test_a_shift_of_the_picture_does_what_the_yaw_rate_does_that_it_stands_for():
    percepts = shoot(METRES[:50], TURNING)
    shifted = [
        replace(each, motion=None, shift=each.motion.yaw_rate / RATE / GAIN if number else None)
        for number, each in enumerate(percepts)
    ]
    turned, seen = track(), track()
    np.testing.assert_array_equal(p_places(advance(seen, shifted)), p_places(advance(turned, percepts)))
    # The first frame's turn is unknown by the picture, and is of before the first place.
    for name in ("reckoned", "turned"):
        np.testing.assert_allclose(seen.arrays()[name], turned.arrays()[name], rtol=1e-6, err_msg=name)


def test_where_a_gyroscope_turns_the_picture_s_shift_is_not_asked():
    percepts = shoot(METRES[:30], TURNING)
    turned, both = track(), track()
    advance(turned, percepts)
    advance(both, [replace(each, shift=-0.3) for each in percepts])
    for name, array in turned.arrays().items():
        np.testing.assert_array_equal(both.arrays()[name], array, err_msg=name)


@pytest.mark.parametrize("at", [3, JUMP + 16, JUMP + 22])
def test_saved_in_the_middle_of_a_doubt_it_goes_on_bit_for_bit(at):
    percepts = shoot(ELSEWHERE[: at + 12], DRIVING)
    whole, resumed = track(), track()
    advance(whole, percepts[:at])
    assert bool(whole.arrays()["judged"][0]) == (at > JUMP)
    resumed.restore({name: array.copy() for name, array in whole.arrays().items()})
    for found, wanted in zip(advance(resumed, percepts[at:]), advance(whole, percepts[at:]), strict=True):
        assert (found.status, found.verdict) == (wanted.status, wanted.verdict)
        np.testing.assert_array_equal(found.belief.mean, wanted.belief.mean)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(resumed.arrays()[name], array, err_msg=name)


LEAVING, STRAIGHT = 40, 40


def test_off_the_map_the_estimate_follows_way_and_turns_and_claims_nothing():
    on, corner = around(METRES[:LEAVING]), METRES[LEAVING - 1] / INSIDE
    off = on[-1] + np.outer(STEP * np.arange(1, STRAIGHT + 1), [-np.sin(corner), np.cos(corner)])
    strange = film(
        off, field=DescriptorField.from_seed(107, dimension=48), start=10**12 + LEAVING * NANOSECONDS // RATE
    )
    percepts = jitter(film(on), DRIVING) + jitter(strange, Odometry(SPEED, 1e-9))
    tracker = track()
    advance(tracker, percepts[: LEAVING + STRAIGHT // 2])
    for spot, percept in zip(off[STRAIGHT // 2 :], percepts[LEAVING + STRAIGHT // 2 :], strict=True):
        (estimate,) = advance(tracker, [percept])
        assert np.hypot(*(estimate.position - spot)) < 1.5 * RADIUS
        assert estimate.status is not Status.LOCALIZED


def test_straight_on_into_a_street_that_looks_like_the_one_around_the_corner_is_no_longer_localized_at_once():
    ahead = STEP * np.arange(1, 41)
    corner = np.concatenate([np.column_stack([ahead, 0 * ahead]), np.column_stack([0 * ahead + ahead[-1], ahead])])
    memory = remember_drives(corner, turn_gain=GAIN)
    tracker, radius = RouteTracker(Tracking(), Fusion(), memory), memory.reference.place
    seen = follow(tracker, memory, jitter(film(corner), Odometry(SPEED, 1e-9)))
    beyond = np.array([each.position[1] for each in seen])
    localized = np.array([each.status is Status.LOCALIZED for each in seen])
    assert localized[20:40].all()
    assert not localized[(beyond > radius / 4 + 2 * STEP) & (beyond < 3 * radius)].any()
