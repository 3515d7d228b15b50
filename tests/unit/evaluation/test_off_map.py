"""A drive that leaves the map: what is counted as invented, and how far until it is known."""

import numpy as np
import pytest

from tmapr.evaluation.off_map import find_detours

ROAD = np.stack([np.arange(0.0, 200.0), np.zeros(200)], axis=1)
NEVER = np.zeros(200, dtype=bool)


def away(*stretches):
    """The road, with a parallel one 30 m beside it for some frames."""
    truth = ROAD.copy()
    for start, stop in stretches:
        truth[start:stop, 1] = 30.0
    return truth


def rows(*spans):
    mask = NEVER.copy()
    for start, stop in spans:
        mask[start:stop] = True
    return mask


def judged(truth, *, localized, accepted=NEVER, estimated=None):
    return find_detours(
        truth, truth if estimated is None else estimated, localized=localized, accepted=accepted, mapped=ROAD
    )


def test_a_drive_on_the_map_has_no_detour():
    assert judged(ROAD, localized=~NEVER, accepted=~NEVER) is None


def test_what_is_within_the_radius_or_short_is_no_detour():
    beside = ROAD + np.array([0.0, 9.9])
    assert judged(beside, localized=~NEVER) is None
    assert judged(away((50, 60)), localized=~NEVER) is None


def test_accepts_count_off_the_map_alone():
    found = judged(away((50, 120)), localized=NEVER, accepted=rows((40, 53), (118, 130)))
    assert (found.count, found.frames, found.false_accepts) == (1, 70, 5)
    assert found.metres == pytest.approx(69.0)


def test_metres_are_counted_from_where_the_map_ends_and_begins_again():
    found = judged(away((50, 120)), localized=rows((0, 58), (131, 200)))
    assert found.left_after == pytest.approx(8.0)
    assert found.back_after == pytest.approx(11.0)


def test_being_sure_and_wrong_is_not_being_back():
    truth = away((50, 120))
    estimated = truth.copy()
    estimated[120:140] += 50.0
    found = judged(truth, localized=rows((0, 50), (120, 200)), estimated=estimated)
    assert found.back_after == pytest.approx(20.0)


def test_of_several_detours_the_worst_is_told():
    truth = away((20, 60), (120, 160))
    found = judged(truth, localized=rows((0, 23), (62, 130), (175, 200)))
    assert (found.count, found.left_after, found.back_after) == (2, pytest.approx(10.0), pytest.approx(15.0))


def test_never_is_none():
    found = judged(away((50, 120)), localized=~NEVER)
    assert found.left_after is None
    assert judged(away((50, 120)), localized=NEVER).back_after is None
    # Back before the second detour began, and not after it: not always.
    twice = judged(away((20, 60), (120, 160)), localized=rows((0, 20), (61, 120)))
    assert (twice.left_after, twice.back_after) == (0.0, None)


def test_a_drive_that_ends_off_the_map_is_never_back():
    assert judged(away((150, 200)), localized=NEVER).back_after is None
