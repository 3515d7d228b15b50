"""The paper's tracker: what it carries from frame to frame, how that moves, and that it survives being written."""

import numpy as np
import pytest

from made_up import car_fusion, paper_tracking
from tmapr.retrieval.memory import remember
from tmapr.tracking import PaperTracker
from tmapr.types import NANOSECONDS, Candidate, Percept, Recognition

FUSION = car_fusion(noise="acceleration", max_semi_axis=10.0)
SECONDS = (0.0, 1.0, 2.0)


def begin():
    rows = np.arange(3)
    memory = remember(np.eye(3, 2), np.zeros((3, 2)), rows, rows * NANOSECONDS, frames=rows, probes=256)
    return PaperTracker(paper_tracking(max_innovation=500.0, max_jump=500.0), FUSION, memory)


def tracked():
    """A tracker that has followed a camera east at 8 m/s for two seconds."""
    tracker = begin()
    tracker.start_at(-1, np.zeros(2), 1.0)
    for seconds in SECONDS:
        tracker.advance(percept(seconds), seen(8.0 * seconds))
    return tracker


def percept(seconds):
    return Percept(round(seconds * NANOSECONDS), np.array([1.0, 0.0]), None)


def seen(east):
    return Recognition((Candidate(0, np.array([east, 0.0]), 0, 0.9, 0.0, 1.0, 1.0),))


@pytest.mark.parametrize(("gap", "restarts"), [(9.0, False), (25.0, True)])
def test_a_match_after_being_lost_says_where_but_not_how_fast(gap, restarts):
    tracker = tracked()
    belief = tracker.advance(percept(SECONDS[-1] + gap), seen(-100.0)).belief
    if restarts:
        np.testing.assert_array_equal(belief.mean[2:], 0.0)
        np.testing.assert_allclose(np.diag(belief.covariance)[2:], FUSION.initial_speed**2)
        assert belief.position == pytest.approx([-100.0, 0.0], abs=0.1)
    else:
        assert belief.mean[2] < 0.0


def test_a_slow_camera_still_learns_how_fast_it_moves():
    # Between two frames the belief of an unknown velocity spreads farther than what counts as lost.
    tracker = tracked()
    belief = tracker.belief
    assert belief is not None
    assert belief.mean[2] == pytest.approx(8.0, abs=1.0)


def test_nothing_is_said_of_how_surprising_such_a_match_was():
    tracker = tracked()
    assert tracker.advance(percept(27.0), seen(-100.0)).nis is None
    assert tracker.advance(percept(27.1), seen(-100.0)).nis is not None


def test_a_dissent_survives_being_written():
    tracker, again = tracked(), begin()
    for seconds in (2.1, 2.2):
        tracker.advance(percept(seconds), seen(5000.0))
    again.restore({name: array.copy() for name, array in tracker.arrays().items()})
    assert tracker.arrays().keys() == again.arrays().keys() >= {"dissent.position", "accepted.position"}
    for name, array in tracker.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
