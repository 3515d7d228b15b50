"""What is done to a drive is that and nothing else."""

import numpy as np
import pytest

from tmapr.artifacts.percepts import Recording
from tmapr.studies.disturbances import DISTURBANCES, FAR, SHOWN, STOP, Scene, pick_rows, thin_recording
from tmapr.types import NANOSECONDS, Fault

FRAMES, START, END = 60, 20, 40
STEP = NANOSECONDS // 5


def make_drive(rng, name="night"):
    """A straight drive of 0.7 m a frame that stands in frames 5 to 9; the picture moves by a hundredth a frame."""
    steps = np.full(FRAMES, 0.7)
    steps[[0, *range(5, 10)]] = 0.0
    truth = np.column_stack([np.cumsum(steps), np.zeros(FRAMES)])
    descriptors = rng.normal(size=(FRAMES, 12))
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    shifts = np.r_[np.nan, np.full(FRAMES - 1, 0.01)]
    return Recording.from_arrays(name, np.arange(FRAMES) * STEP, descriptors, truth=truth, shifts=shifts)


@pytest.fixture
def scene(rng):
    return Scene(make_drive(rng), make_drive(rng).truth, make_drive(rng, "other"), START, END, 3)


def meet(scene, name):
    return DISTURBANCES[name](scene)


def look(percepts):
    return np.array([percept.descriptor for percept in percepts])


@pytest.mark.parametrize("name", DISTURBANCES)
def test_every_disturbance_leaves_a_drive_that_can_be_judged(scene, name):
    met, since = meet(scene, name)
    assert len(met) == len(met.truth) == len(met.known) == len(met.stamps)
    assert 0 <= since < len(met)


@pytest.mark.parametrize("name", [name for name in DISTURBANCES if name.startswith("pose head")])
def test_a_pose_head_changes_nothing_else(scene, name):
    met, _ = meet(scene, name)
    np.testing.assert_array_equal(look(met.percepts), look(scene.drive.percepts))
    assert all(percept.position is not None for percept in met.percepts)


def test_a_teleport_skips_the_stretch_in_no_time_and_lost_frames_take_theirs(scene):
    kept = np.r_[0:START, END:FRAMES]
    for name, step in ("teleport", STEP), ("no frames", (END - START + 1) * STEP):
        met, since = meet(scene, name)
        np.testing.assert_array_equal(met.truth, scene.drive.truth[kept])
        assert since == START
        assert met.stamps[since] - met.stamps[since - 1] == step
        assert met.percepts[since].shift is None


def test_reversing_goes_back_over_the_stretch_and_on(scene):
    met, since = meet(scene, "reversing")
    truth = scene.drive.truth
    np.testing.assert_array_equal(met.truth[END - 1 : since], truth[END - 1 : START : -1])
    np.testing.assert_array_equal(met.truth[since:], truth[START:])
    assert met.percepts[END].shift == pytest.approx(-0.01)


def test_a_stop_lasts_a_minute_and_shows_one_picture(scene):
    met, since = meet(scene, "stop")
    assert len(met) == FRAMES + 5 * STOP
    assert since == START + 5 * STOP
    assert {percept.shift for percept in met.percepts[START + 1 : since]} == {0.0}


def test_frames_of_another_place_come_in_the_drive_s_own_time_step_and_stand_far_away(scene):
    met, since = meet(scene, "frames of another place")
    assert set(np.diff(met.stamps)) == {STEP}
    assert since == START + SHOWN
    np.testing.assert_array_equal(met.truth[START:since], np.full((SHOWN, 2), FAR))
    np.testing.assert_array_equal(look(met.percepts[START:since]), look(scene.other.percepts[:SHOWN]))
    assert [met.percepts[row].shift for row in (START, since)] == [None, None]
    np.testing.assert_array_equal(look(met.percepts[since:]), look(scene.drive.percepts[START:]))


@pytest.mark.parametrize("name", ["descriptors of noise", "descriptors of another place"])
def test_only_the_stretch_shows_something_else(scene, name):
    met, since = meet(scene, name)
    same = (look(met.percepts) == look(scene.drive.percepts)).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~same), np.arange(START, END))
    assert since == END


def test_a_frozen_camera_is_a_fault_and_a_clock_that_is_set_moves_all_later_stamps(scene):
    frozen, _ = meet(scene, "frozen")
    assert [percept.fault for percept in frozen.percepts].count(Fault.FROZEN) == END - START - 1
    late, _ = meet(scene, "clock back")
    moved = (late.stamps - scene.drive.stamps) // NANOSECONDS
    np.testing.assert_array_equal(moved, np.where(np.arange(FRAMES) < START, 0, -3600))


def test_between_picked_frames_the_picture_moves_as_far_as_between_all(scene):
    thirds = pick_rows(scene.drive, range(0, FRAMES, 3))
    assert thirds.percepts[0].shift is None
    np.testing.assert_allclose([percept.shift for percept in thirds.percepts[1:]], 0.03)


@pytest.mark.parametrize("spacing", [2.0, 5.0])
def test_a_thinned_map_has_a_frame_near_every_multiple_of_the_spacing(scene, spacing):
    found = thin_recording(scene.drive, spacing).truth[:, 0]
    marks = np.arange(0.0, scene.drive.truth[-1, 0], spacing)
    assert np.abs(found - marks).max() <= 0.35 + 1e-9
