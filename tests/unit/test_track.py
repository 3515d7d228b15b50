"""What is carried from frame to frame: how it moves, and that it survives being written and read."""

import numpy as np
import pytest

from made_up import car_fusion, paper_tracking
from tmapr.config import changed
from tmapr.fusion.capf import Fusion
from tmapr.retrieval.memory import remember
from tmapr.retrieval.search import Retrieval
from tmapr.system import System
from tmapr.track import PaperTracker, RouteTracker, Track, make_tracker
from tmapr.tracking import History, Sighting, Tracking
from tmapr.types import NANOSECONDS, Candidate, Percept, Recognition, Status

SIGHTING = Sighting(5, np.array([1.0, 2.0]), None)
TRACK = Track(history=History(dissent=SIGHTING, dissenters=2))


def test_dissent_survives():
    history = Track.from_arrays(TRACK.arrays()).history
    assert history.dissenters == 2
    assert history.dissent is not None
    np.testing.assert_array_equal(history.dissent.position, SIGHTING.position)


def mapped(positions, looks, seconds=1.0, sequences=None):
    """M₀ of a drive with a reference every so many seconds, each a place of its own."""
    count = np.arange(len(positions))
    names = None if sequences is None else np.array(sequences)
    stamps = (count * seconds * NANOSECONDS).astype(np.int64)
    return remember(looks, np.array(positions, float), count, stamps, frames=count, sequences=names, probes=256)


FUSION = car_fusion(noise="acceleration", max_semi_axis=10.0)
SECONDS = (0.0, 1.0, 2.0)


def tracked():
    """A tracker that has followed a camera east at 8 m/s for two seconds."""
    memory = mapped(np.zeros((3, 2)), np.eye(3, 2))
    tracker = PaperTracker(paper_tracking(max_innovation=500.0, max_jump=500.0), FUSION, memory)
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
    belief = tracker.track.belief
    assert belief is not None
    assert belief.mean[2] == pytest.approx(8.0, abs=1.0)


def test_nothing_is_said_of_how_surprising_such_a_match_was():
    tracker = tracked()
    assert tracker.advance(percept(27.0), seen(-100.0)).nis is None
    assert tracker.advance(percept(27.1), seen(-100.0)).nis is not None


@pytest.mark.parametrize(("method", "tracker"), [("route", RouteTracker), ("paper", PaperTracker)])
def test_the_settings_name_the_method(method, tracker):
    memory = mapped(np.zeros((3, 2)), np.eye(3, 2))
    assert isinstance(make_tracker(Tracking(method=method), Fusion(), memory), tracker)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


RNG = np.random.default_rng(8)
ALONG = np.column_stack([np.arange(12.0), np.zeros(12)])
WORLDS = {
    "one reference": mapped([[5.0, 5.0]], np.eye(1, 4)),
    "one reference in each of two traverses": mapped([[0.0, 0.0], [3.0, 0.0]], np.eye(2, 4), sequences=["a", "b"]),
    "two references": mapped([[0.0, 0.0], [1.0, 0.0]], np.eye(2, 4)),
    "all at one spot": mapped(np.full((6, 2), 3.0), unit(RNG.normal(size=(6, 4)))),
    "all look the same": mapped(ALONG, np.tile(np.eye(1, 4), (12, 1))),
    "nothing is like anything": mapped(ALONG[:4], np.eye(4)),
    "opposites": mapped(ALONG, np.array([[(-1.0) ** row, 0, 0, 0] for row in range(12)])),
    "one stamp for all": mapped(ALONG, unit(RNG.normal(size=(12, 4))), seconds=0.0),
    "a stop in the middle": mapped(np.repeat(ALONG, [1] * 5 + [30] + [1] * 6, axis=0), unit(RNG.normal(size=(41, 4)))),
    "kilometres apart": mapped(1e5 * ALONG, unit(RNG.normal(size=(12, 4)))),
    "a millimetre apart": mapped(1e-3 * ALONG, unit(RNG.normal(size=(12, 4)))),
}
worlds = pytest.mark.parametrize("memory", WORLDS.values(), ids=WORLDS.keys())
methods = pytest.mark.parametrize("method", ["route", "paper"])


def frames(memory, count):
    """Frames that look like anything, some after a day, some with a pose far away, some standing."""
    rng, stamp = np.random.default_rng(9), 0
    for number in range(count):
        stamp += int(rng.choice([1, 10**8, 10**9, 86_400 * 10**9]))
        look = memory.descriptors[rng.integers(len(memory))].astype(float) if number % 2 else rng.normal(size=4)
        yield Percept(stamp, unit(look), rng.choice([0.0, 1e7]) * rng.normal(size=2) if number % 3 else None)


@methods
@worlds
def test_no_map_and_no_frame_breaks_a_tracker(memory, method):
    tracker = make_tracker(Tracking(method=method), Fusion(), memory)
    search = Retrieval(mode="global").search
    for number, percept in enumerate(frames(memory, 40)):
        found = search(memory, percept.descriptor, None, list, compare=method == "route")
        tracker.score_label(percept, found, memory.positions[0])
        estimate = tracker.pass_over(percept) if number % 7 == 3 else tracker.advance(percept, found)
        assert np.isfinite(estimate.belief.mean).all()
        assert np.linalg.eigvalsh(estimate.belief.covariance).min() > 0
        if estimate.route:
            assert 0 <= estimate.route.p_place <= 1 + 1e-9
            assert 0 <= estimate.route.p_off_map <= 1 + 1e-9


@methods
@worlds
def test_a_start_anywhere_is_answered(memory, method):
    tracker = make_tracker(Tracking(method=method), Fusion(), memory)
    tracker.start_at(0, np.array([1e6, -1e6]), 1e-3)
    percept = Percept(NANOSECONDS, memory.descriptors[0].astype(float))
    found = Retrieval(mode="global").search(memory, percept.descriptor, None, list, compare=method == "route")
    assert np.isfinite(tracker.advance(percept, found).covariance).all()


def test_without_a_search_the_pose_head_is_followed_and_nothing_is_claimed():
    tracker = make_tracker(Tracking(), changed(System(), {"fusion.apr_variance": 4.0}).fusion, WORLDS["two references"])
    for second in range(1, 20):
        said = Percept(second * NANOSECONDS, np.eye(1, 4)[0], np.array([0.5, 0.0]))
        estimate = tracker.advance(said, Recognition())
    assert estimate.status is Status.APR_ONLY
    np.testing.assert_allclose(estimate.position, [0.5, 0.0], atol=0.1)
