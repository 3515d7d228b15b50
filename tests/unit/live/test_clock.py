"""The drive's clock against a second one that nobody can set: how far each frame is from where it should be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmapr.clock import Timeline
from tmapr.types import LATEST, NANOSECONDS

PERIOD = NANOSECONDS // 10
EPOCH = 1_790_000_000 * NANOSECONDS


def drive(shifts, delays=None, arrives=True):
    """What a timeline makes of frames taken a tenth of a second apart by a clock that is `shifts` off."""
    timeline, placed = Timeline(), []
    for row, shift in enumerate(shifts):
        taken = row * PERIOD
        delay = 0 if delays is None else int(delays[row])
        placed.append(timeline.place(EPOCH + taken + int(shift), taken + delay if arrives else None))
    return timeline, np.array(placed, dtype=object) - EPOCH


def test_an_undisturbed_clock_is_the_cameras():
    timeline, placed = drive(np.zeros(100))
    assert placed.tolist() == [row * PERIOD for row in range(100)]
    assert timeline.steps == 0


@pytest.mark.parametrize("back", [0.35, 1, 60, 3600, 86_400 * 400])
@pytest.mark.parametrize("arrives", [True, False])
def test_a_clock_that_is_set_back_costs_two_frames(back, arrives):
    shifts = np.where(np.arange(100) < 50, 0, -back * NANOSECONDS)
    timeline, placed = drive(shifts, arrives=arrives)
    assert timeline.steps == 1
    assert max(placed[50:52]) <= placed[49]
    late = placed[52:] - np.array([row * PERIOD for row in range(52, 100)], dtype=object)
    assert np.abs(late).max() <= 0
    assert (np.diff(placed[52:]) == PERIOD).all()


def test_set_back_by_less_than_three_frames_it_is_a_late_frame_or_two():
    timeline, placed = drive(np.where(np.arange(100) < 50, 0, -0.15 * NANOSECONDS))
    assert timeline.steps == 0
    assert (np.diff(placed[51:]) > 0).all()


@pytest.mark.parametrize("forward", [1.5, 60, 3600, 86_400 * 30])
def test_a_clock_that_is_set_forward_is_seen_by_when_frames_come(forward):
    timeline, placed = drive(np.where(np.arange(100) < 50, 0, forward * NANOSECONDS))
    assert timeline.steps == 1
    assert placed.tolist() == [row * PERIOD for row in range(100)]


def test_recorded_frames_are_silent_for_as_long_as_they_say():
    timeline, placed = drive(np.where(np.arange(100) < 50, 0, 60 * NANOSECONDS), arrives=False)
    assert timeline.steps == 0
    assert placed[50] - placed[49] == 60 * NANOSECONDS + PERIOD


def test_forward_and_back_again():
    shifts = np.select([np.arange(90) < 30, np.arange(90) < 60], [0, 3600 * NANOSECONDS], 0)
    timeline, placed = drive(shifts)
    assert timeline.steps == 2
    assert placed[62:].tolist() == [row * PERIOD for row in range(62, 90)]


def test_a_silence_is_believed():
    timeline = Timeline()
    stamps = [EPOCH, EPOCH + PERIOD, EPOCH + 600 * NANOSECONDS]
    assert [timeline.place(each, each - EPOCH) for each in stamps] == stamps
    assert timeline.steps == 0


def test_late_frames_among_others_set_no_clock():
    timeline = Timeline()
    order = [0, 1, 2, 5, 3, 6, 4, 7, 9, 8, 10]
    placed = [timeline.place(EPOCH + row * PERIOD, position * PERIOD) for position, row in enumerate(order)]
    assert [each - EPOCH for each in placed] == [row * PERIOD for row in order]
    assert timeline.steps == 0


def test_duplicates_set_no_clock():
    timeline = Timeline()
    for row in range(5):
        for _ in range(10):
            assert timeline.place(EPOCH + row * PERIOD, row * PERIOD) == EPOCH + row * PERIOD
    assert timeline.steps == 0


def test_a_network_that_stalls_sets_no_clock():
    """Frames wait for up to five seconds and then come all at once: they are as old as their stamps say."""
    rng = np.random.default_rng(0)
    delays = np.zeros(500)
    for start in range(50, 450, 90):
        length = int(rng.integers(5, 50))
        delays[start : start + length] = (length - np.arange(length)) * PERIOD
    timeline, placed = drive(np.zeros(500), delays)
    assert timeline.steps == 0
    assert placed.tolist() == [row * PERIOD for row in range(500)]


def test_a_clock_that_runs_a_little_faster_is_not_set():
    drift = 2e-4 * np.arange(36_000) * PERIOD
    timeline, _ = drive(drift)
    assert timeline.steps == 0


@given(st.lists(st.tuples(st.integers(-LATEST, LATEST), st.integers(0, 10 * NANOSECONDS)), max_size=60), st.booleans())
def test_whatever_comes_it_never_goes_back(frames, arrives):
    timeline, now, last = Timeline(), 0, None
    for stamp, since in frames:
        now += since
        placed = timeline.place(stamp, now if arrives else None)
        assert -LATEST <= placed <= timeline.last <= LATEST
        assert last is None or timeline.last >= last
        last = timeline.last
