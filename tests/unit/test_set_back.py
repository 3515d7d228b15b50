"""A clock that is set back: a drive goes on by its own clock, and a frame that moved nothing is not localized."""

from dataclasses import replace

import numpy as np
import pytest

from made_up import paper_tracking
from routes import record, ring
from tmapr.clock import Timeline, list_late, place_all
from tmapr.config import changed
from tmapr.exceptions import StateError
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.system import System, build, make_map
from tmapr.types import NANOSECONDS, Fault, Reason, Status

SYSTEM = System(places=Places(use=(), projection=Projection(dimension=32)))
PAPER = changed(SYSTEM, {"tracking": paper_tracking()})
SET, END = 12, 20
BACK = [2, 20, 3600]


@pytest.fixture(scope="module")
def mapped():
    return make_map(SYSTEM, record("mapped", ring(60), 1))


@pytest.fixture(scope="module")
def percepts():
    """Around the same block, a quarter of a second from frame to frame."""
    return record("driven", ring(60), 2).percepts[:END]


def set_back(percepts, seconds):
    """The same frames, by a clock that somebody sets back in the middle."""
    shift = [0 if row < SET else seconds * NANOSECONDS for row in range(len(percepts))]
    return [replace(each, stamp=each.stamp - back) for each, back in zip(percepts, shift, strict=True)]


def follow(localizer, percepts):
    return [localizer.observe(each) for each in percepts]


def tell(estimates):
    return [(each.position.tobytes(), each.status, each.verdict) for each in estimates]


@pytest.mark.parametrize("seconds", BACK)
def test_a_clock_that_is_set_back_costs_two_frames_and_nothing_else(mapped, percepts, seconds):
    told = follow(build(SYSTEM, mapped), set_back(percepts, seconds))
    undisturbed = follow(build(SYSTEM, mapped), percepts[:SET] + percepts[SET + 2 :])
    assert tell(told[:SET] + told[SET + 2 :]) == tell(undisturbed)
    assert told[-1].status is Status.LOCALIZED


@pytest.mark.parametrize("seconds", BACK)
@pytest.mark.parametrize("system", [SYSTEM, PAPER], ids=["route", "paper"])
def test_the_two_frames_are_not_localized(system, mapped, percepts, seconds):
    localizer = build(system, mapped)
    told = follow(localizer, set_back(percepts[: SET + 2], seconds))[SET:]
    assert [each.verdict.reason for each in told] == [Reason.OLDER_STAMP] * 2
    assert Status.LOCALIZED not in [each.status for each in told]


def test_an_estimate_has_the_stamp_of_its_frame(mapped, percepts):
    given = set_back(percepts, 20)
    assert [each.percept for each in follow(build(SYSTEM, mapped), given)] == given


@pytest.mark.parametrize("at", [SET, SET + 1, SET + 2, SET + 4])
def test_stopped_and_gone_on_while_the_clock_is_set_it_says_the_same(mapped, percepts, at):
    given = set_back(percepts, 20)
    whole, stopped, again = (build(SYSTEM, mapped) for _ in range(3))
    follow(stopped, given[:at])
    again.restore(stopped.arrays(), "route")
    assert tell(follow(again, given[at:])) == tell(follow(whole, given)[at:])


@pytest.mark.parametrize("spoil", [{"fault": Fault.FROZEN}, {"stamp": 0}])
def test_a_frame_that_places_nothing_is_not_localized_and_names_no_probability(mapped, percepts, spoil):
    localizer = build(SYSTEM, mapped)
    assert follow(localizer, percepts[:SET])[-1].status is Status.LOCALIZED
    told = localizer.observe(replace(percepts[SET], **spoil))
    assert (told.status, told.route) == (Status.PREDICTING, None)


@pytest.mark.parametrize(
    ("stamps", "placed", "late"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3], []),
        ([0, 1, 1, 2], [0, 1, 1, 2], [2]),
        ([0, 1, 5, 2, 6], [0, 1, 5, 5, 6], [3]),
        ([10, 11, 12, 2, 3, 4, 5], [10, 11, 12, 12, 12, 15, 16], [3, 4]),
    ],
)
def test_the_frames_of_a_recording_are_placed_by_the_same_rule(stamps, placed, late):
    given = np.array(stamps, dtype=np.int64)
    assert place_all(given).tolist() == placed
    assert np.flatnonzero(list_late(given)).tolist() == late


@pytest.mark.parametrize("count", [1, 2])
def test_a_saved_clock_that_is_cut_off_is_refused(count):
    with pytest.raises(StateError, match=f"clock.moments has {count} numbers"):
        Timeline.from_arrays({"moments": np.zeros(count, dtype=np.int64)})
