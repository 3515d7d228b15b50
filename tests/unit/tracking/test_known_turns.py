"""Through the whole chain: known turns leave a mapped drive alone, doubt a jump, and lead on where the map ends."""

from dataclasses import replace

import numpy as np
import pytest

from routes import SPEED, look, ring
from tmapr.fusion.capf import Fusion
from tmapr.retrieval.memory import remember
from tmapr.track import RouteTracker
from tmapr.tracking import Tracking
from tmapr.types import NANOSECONDS, Comparison, Odometry, Percept, Recognition, Status

WAY = ring(150)
MAPPED = look(WAY, np.random.default_rng(1))
LAP = float(np.hypot(*(WAY - np.roll(WAY, 1, axis=0)).T).sum())
INSIDE = float(np.hypot(*WAY[0])) - 1.0
"""Radius of the drives, a metre inside the mapped way."""
RADIUS = 10.0
BELIEVED = 40.0
"""Metres for which a place is doubted that way and turns contradict."""
RATE = 4
YAW_RATE = SPEED / INSIDE
GAIN = 0.8


def place_at(metres):
    turn = np.asarray(metres) / INSIDE
    return INSIDE * np.column_stack([np.cos(turn), np.sin(turn)])


def remembered():
    count = len(WAY)
    stamps = np.arange(count) * round(NANOSECONDS * LAP / count / SPEED)
    headings = np.arctan2(*WAY.T[::-1]) + np.pi / 2
    rows = np.arange(count)
    return remember(MAPPED, WAY, rows // 8, stamps, frames=rows, headings=headings, turn_gain=GAIN, probes=256)


MEMORY = remembered()


def track():
    return RouteTracker(Tracking(radius=RADIUS), Fusion(), MEMORY)


def film(positions, times=None, motion=None):
    times = np.arange(len(positions)) / RATE if times is None else times
    stamps = np.round(1e12 + times * NANOSECONDS).astype(int).tolist()
    seen = look(positions, np.random.default_rng(2))
    return [Percept(stamp, view, motion=motion) for stamp, view in zip(stamps, seen, strict=True)]


def compare(descriptor):
    cosines = MAPPED @ descriptor
    centre = np.median(cosines)
    return Comparison((cosines - centre) / (1.4826 * np.median(np.abs(cosines - centre))), np.zeros(len(MAPPED)))


def advance(tracker, percepts):
    return [tracker.advance(each, Recognition(comparison=compare(each.descriptor))) for each in percepts]


def p_places(estimates):
    return np.array([estimate.route.p_place for estimate in estimates])


METRES = SPEED / RATE * np.arange(100)
JUMP = 45
ELSEWHERE = METRES + np.where(np.arange(100) >= JUMP, np.pi * INSIDE, 0.0)
"""Half around the ring, within one frame."""
TURNING = Odometry(yaw_rate=YAW_RATE)
DRIVING = Odometry(SPEED, YAW_RATE)


@pytest.mark.parametrize(("plain", "told"), [(None, TURNING), (Odometry(SPEED), DRIVING)])
def test_right_turns_change_nothing_on_the_mapped_way(plain, told):
    expected, found = (p_places(advance(track(), film(place_at(METRES), motion=each))) for each in (plain, told))
    np.testing.assert_array_equal(found, expected)


def jump(tracker, motion=DRIVING):
    """The metres after a jump at which the belief alone is sure of the new place, and at which it is localized."""
    sure, localized = [], []
    for percept, metres in zip(film(place_at(ELSEWHERE), motion=motion), METRES - METRES[JUMP], strict=True):
        (estimate,) = advance(tracker, [percept])
        row, probability = tracker.placer.filter.find_peak(RADIUS)
        there = np.hypot(*(WAY[row] - place_at([metres + METRES[JUMP] + np.pi * INSIDE])[0])) < RADIUS
        if metres >= 0 and there and probability >= 0.95:
            sure.append(metres)
            if estimate.status is Status.LOCALIZED:
                localized.append(metres)
    return sure[0], localized[0]


def test_after_a_jump_the_place_is_doubted_for_forty_metres():
    sure, localized = jump(track())
    # The metres up to the first sure view count, and what is left of the last one: a view is some ten metres long.
    assert localized - sure == pytest.approx(BELIEVED, abs=10.0)


def test_a_place_that_was_believed_after_a_jump_is_not_doubted_again():
    tracker, believed = track(), False
    for percept, metres in zip(film(place_at(ELSEWHERE), motion=DRIVING), METRES - METRES[JUMP], strict=True):
        (estimate,) = advance(tracker, [percept])
        believed |= metres > BELIEVED and estimate.status is Status.LOCALIZED
        assert not (believed and tracker.placer.reckoning.doubted)
    assert believed


def test_after_a_gap_in_which_anything_may_have_been_driven_nothing_is_doubted():
    times = np.arange(len(METRES)) / RATE + np.where(np.arange(len(METRES)) >= JUMP, 30.0, 0.0)
    tracker = track()
    for percept in film(place_at(ELSEWHERE), times, TURNING):
        (estimate,) = advance(tracker, [percept])
        assert estimate.route.p_place == tracker.placer.filter.find_peak(RADIUS)[1]
        assert tracker.placer.reckoning.doubted == 0.0
    assert estimate.status is Status.LOCALIZED


@pytest.mark.parametrize("metres", [METRES, ELSEWHERE], ids=["mapped", "jump"])
def test_a_shift_of_the_picture_does_what_the_yaw_rate_does_that_it_stands_for(metres):
    percepts = film(place_at(metres), motion=TURNING)
    shift = YAW_RATE / RATE / GAIN
    shifted = [replace(each, motion=None, shift=shift if n else None) for n, each in enumerate(percepts)]
    turned, seen = track(), track()
    expected, found = p_places(advance(turned, percepts)), p_places(advance(seen, shifted))
    np.testing.assert_array_equal(found, expected)
    # Stamps are whole nanoseconds, and the first frame's turn is 0 or unknown before there is any place.
    np.testing.assert_allclose(seen.placer.reckoning.numbers(), turned.placer.reckoning.numbers(), rtol=1e-6)


def test_where_a_gyroscope_turns_the_picture_s_shift_is_not_asked():
    percepts = film(place_at(METRES), motion=TURNING)
    turned, both = track(), track()
    advance(turned, percepts)
    advance(both, [replace(each, shift=-0.3) for each in percepts])
    same_arrays(both.arrays(), turned.arrays())


def same_arrays(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize("at", [3, JUMP + 21, JUMP + 26])
def test_saved_in_the_middle_it_goes_on_bit_for_bit(at):
    percepts = film(place_at(ELSEWHERE), motion=DRIVING)
    whole, first, second = track(), track(), track()
    expected = advance(whole, percepts)
    advance(first, percepts[:at])
    assert (first.placer.reckoning.doubted > 0.0) == (at > JUMP)
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    for found, wanted in zip(advance(second, percepts[at:]), expected[at:], strict=True):
        assert (found.status, found.verdict, found.nis) == (wanted.status, wanted.verdict, wanted.nis)
        assert found.route.p_place == wanted.route.p_place
        np.testing.assert_array_equal(found.belief.mean, wanted.belief.mean)
        np.testing.assert_array_equal(found.belief.covariance, wanted.belief.covariance)
    same_arrays(second.arrays(), whole.arrays())


LEAVING = 50
VIEW = 10.0
"""Metres that a view of the ring lasts at most: the estimate waits for the next one."""
STRAIGHT = 60


def leave():
    """Around a part of the ring and straight on into a street that looks like nothing mapped."""
    on, corner = place_at(METRES[:LEAVING]), METRES[LEAVING - 1] / INSIDE
    ahead = SPEED / RATE * np.arange(1, STRAIGHT + 1)
    off = on[-1] + np.outer(ahead, [-np.sin(corner), np.cos(corner)])
    percepts = film(np.concatenate([on, off + 1e4]))  # views of somewhere else: those near the ring look like it
    motions = [Odometry(SPEED, YAW_RATE if n < LEAVING else 0.0) for n in range(len(percepts))]
    way = np.concatenate([on, off])
    return way, [replace(each, motion=motion) for each, motion in zip(percepts, motions, strict=True)]


def test_off_the_map_the_estimate_follows_way_and_turns_and_is_never_localized():
    way, percepts = leave()
    tracker, followed = track(), 0
    for spot, percept in zip(way, percepts, strict=True):
        (estimate,) = advance(tracker, [percept])
        if estimate.route.p_off_map > 0.5:
            followed += 1
            assert np.hypot(*(estimate.position - spot)) < 2.5 * tracker.placer.reckoning.spread + VIEW
            assert estimate.status is not Status.LOCALIZED
    assert followed > STRAIGHT // 2
