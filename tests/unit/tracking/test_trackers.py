"""What every tracker promises, on maps and frames that nobody would expect."""

import numpy as np
import pytest

from tmapr.fusion.capf import Fusion
from tmapr.retrieval.memory import remember
from tmapr.retrieval.search import Retrieval
from tmapr.tracking import PaperTracker, RouteTracker, Tracker, Tracking, make_tracker, tracker_layout
from tmapr.types import NANOSECONDS, Percept, Reason


def mapped(positions, looks, seconds=1.0, sequences=None):
    """M₀ of a drive with a reference every so many seconds, each a place of its own."""
    count = np.arange(len(positions))
    names = None if sequences is None else np.array(sequences)
    stamps = (count * seconds * NANOSECONDS).astype(np.int64)
    return remember(looks, np.array(positions, float), count, stamps, frames=count, sequences=names, probes=256)


@pytest.mark.parametrize(("method", "tracker"), [("route", RouteTracker), ("paper", PaperTracker)])
def test_the_settings_name_the_method(method, tracker):
    memory = mapped(np.zeros((3, 2)), np.eye(3, 2))
    made = make_tracker(Tracking(method=method), Fusion(), memory)
    assert isinstance(made, tracker)
    assert isinstance(made, Tracker)


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


@methods
def test_frames_that_came_late_are_answered_and_faulty_ones_passed_over(method):
    memory = WORLDS["two references"]
    tracker, search = make_tracker(Tracking(method=method), Fusion(), memory), Retrieval(mode="global").search
    first = Percept(NANOSECONDS, memory.descriptors[0].astype(float))
    assert tracker.answer_late(first) is None
    estimate = tracker.advance(first, search(memory, first.descriptor, None, list, compare=method == "route"))
    for stamp, reason in ((NANOSECONDS, Reason.REPEATED_STAMP), (0, Reason.OLDER_STAMP), (2 * NANOSECONDS, None)):
        late = tracker.answer_late(Percept(stamp, first.descriptor))
        assert (late.verdict.reason if late else None) is reason
        assert late is None or late.position.tolist() == estimate.position.tolist()
    passed = tracker.pass_over(Percept(2 * NANOSECONDS, first.descriptor))
    assert passed.verdict.reason is Reason.FAULTY_FRAME
    assert passed.belief.semi_axis > estimate.belief.semi_axis


@methods
def test_what_a_tracker_saves_is_what_its_layout_names(method):
    memory = WORLDS["nothing is like anything"]
    tracker, search = make_tracker(Tracking(method=method), Fusion(), memory), Retrieval(mode="global").search
    for percept in frames(memory, 12):
        tracker.advance(percept, search(memory, percept.descriptor, None, list, compare=method == "route"))
    layout = tracker_layout(method)
    assert set(tracker.arrays()) <= set(layout)
    assert {name for name, array in layout.items() if not array.optional} <= set(tracker.arrays())
