"""From views to a place: neither a stop, nor the frame rate, nor the clock, nor a restart changes what is believed."""

from dataclasses import replace

import numpy as np
import pytest

from routes import SPEED, lay, look, ring
from tmapr.tracking.place import Placer
from tmapr.types import NANOSECONDS, Comparison, Odometry, Percept

WAY = ring(150)
ROUTE = lay(WAY)
MAPPED = look(WAY, np.random.default_rng(1))
RADIUS = 10.0
LAP = float(np.hypot(*(WAY - np.roll(WAY, 1, axis=0)).T).sum())


def place_at(metres):
    """Where a drive is that keeps a metre inside the mapped way."""
    turn = 2 * np.pi * np.asarray(metres) / LAP
    inside = np.hypot(*WAY[0]) - 1.0
    return inside * np.column_stack([np.cos(turn), np.sin(turn)])


def compare(descriptor):
    cosines = MAPPED @ descriptor
    centre = np.median(cosines)
    return Comparison((cosines - centre) / (1.4826 * np.median(np.abs(cosines - centre))), np.zeros(len(MAPPED)))


def film(rate, seconds=40.0, clock=1.0, motion=None):
    """Frames of a drive at the mapped speed; its clock may be wrong by a factor."""
    times = np.arange(0.0, seconds, 1 / rate)
    seen = look(place_at(SPEED * times), np.random.default_rng(2))
    stamps = np.round(1e12 + clock * times * NANOSECONDS).astype(int).tolist()
    return [Percept(stamp, view, motion=motion) for stamp, view in zip(stamps, seen, strict=True)]


def follow(placer, percepts):
    """What is believed after each frame."""
    placings = []
    for percept, before in zip(percepts, [percepts[0], *percepts], strict=False):
        placer.note_motion(percept.motion, (percept.stamp - before.stamp) / NANOSECONDS)
        placings.append(placer.observe(percept, compare(percept.descriptor), percept.position))
    return placings


def each_second(placings, rate):
    return np.array([placing.p_place for placing in placings[::rate]])


def same_arrays(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def take_belief(placer):
    """All but the metres since the last view, which nobody measures there."""
    return {name: array.copy() for name, array in placer.arrays().items() if name != "metres"}


def test_a_drive_is_followed():
    placings = follow(Placer(ROUTE, RADIUS), film(4))[40:]
    there = place_at(SPEED * np.arange(40, 160) / 4)
    assert min(placing.p_place for placing in placings) > 0.95
    assert np.hypot(*(np.array([placing.position for placing in placings]) - there).T).max() < 4.0


def test_a_stop_changes_nothing():
    placer, percepts = Placer(ROUTE, RADIUS), film(4, seconds=12.0)
    before = follow(placer, percepts)[-1]
    belief = take_belief(placer)
    stopped = [replace(percepts[-1], stamp=percepts[-1].stamp + n * NANOSECONDS // 10) for n in range(1, 201)]
    placings = follow(placer, stopped)
    assert {placing.p_place for placing in placings} == {before.p_place}
    assert {placing.p_off_map for placing in placings} == {before.p_off_map}
    assert {(placing.share, placing.new_view) for placing in placings} == {(0.0, False)}
    same_arrays(belief, take_belief(placer))


def test_one_frame_a_second_and_ten_come_to_the_same():
    slow, fast = (each_second(follow(Placer(ROUTE, RADIUS), film(rate)), rate) for rate in (1, 10))
    # Lost or certain at the same spots; how certain before that differs by which views were taken.
    assert np.median(np.abs(slow - fast)) < 0.02
    assert np.abs(slow - fast)[8:].max() < 0.1


@pytest.mark.parametrize("clock", [0.25, 4.0])
def test_a_clock_that_is_wrong_by_a_factor_hardly_matters(clock):
    right, wrong = (follow(Placer(ROUTE, RADIUS), film(4, clock=each)) for each in (1.0, clock))
    assert np.median(np.abs(each_second(right, 4) - each_second(wrong, 4))) < 0.02
    assert [placing.peak for placing in right[60:]] == pytest.approx([placing.peak for placing in wrong[60:]], abs=2)
    assert min(placing.p_place for placing in wrong[60:]) > 0.9


def test_with_odometry_the_clock_does_not_matter_at_all():
    right, wrong = (
        follow(Placer(ROUTE, RADIUS), film(4, clock=each, motion=Odometry(speed=SPEED / each))) for each in (1.0, 0.25)
    )
    np.testing.assert_allclose(each_second(right, 4), each_second(wrong, 4), atol=1e-6)


@pytest.mark.parametrize("at", [0, 1, 33, 80])
def test_a_placer_goes_on_where_another_stopped(at):
    percepts = [replace(each, position=place_at(n * SPEED / 4)[0]) for n, each in enumerate(film(4, seconds=25.0))]
    whole, first, second = (Placer(ROUTE, RADIUS) for _ in range(3))
    for placer in (whole, first):
        placer.head.expect(3.0)
        placer.learn(percepts[10], compare(percepts[10].descriptor), WAY[10])
    placings = follow(whole, percepts)
    if at:
        follow(first, percepts[:at])
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    begun = percepts[at - 1] if at else percepts[0]
    for percept, expected in zip(percepts[at:], placings[at:], strict=True):
        second.note_motion(percept.motion, (percept.stamp - begun.stamp) / NANOSECONDS)
        found, begun = second.observe(percept, compare(percept.descriptor), percept.position), percept
        assert (found.p_place, found.p_off_map, found.peak) == (expected.p_place, expected.p_off_map, expected.peak)
        np.testing.assert_array_equal(found.position, expected.position)
    same_arrays(second.arrays(), whole.arrays())


def test_arrays_of_another_map_are_refused():
    with pytest.raises(ValueError, match="on has the shape"):
        Placer(lay(ring(90)), RADIUS).restore(Placer(ROUTE, RADIUS).arrays())
