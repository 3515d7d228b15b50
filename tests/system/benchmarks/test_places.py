"""Thinned maps, and frames put into the middle of a drive: what the benchmarks of real places do to recordings."""

from dataclasses import replace

import numpy as np
import pytest

from elsewhere import insert
from place_sets import cut_pooling
from thinning import thin
from tmapr.artifacts.percepts import Recording
from tmapr.types import NANOSECONDS


def drive(rng, frames=60, stands=(20, 30)):
    """A straight drive of 0.7 m a frame that stands for a while; the picture moves by a hundredth a frame."""
    steps = np.full(frames, 0.7)
    steps[0] = 0.0
    steps[stands[0] : stands[1]] = 0.0
    truth = np.column_stack([np.cumsum(steps), np.zeros(frames)])
    descriptors = rng.normal(size=(frames, 12))
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    stamps = np.arange(frames) * NANOSECONDS // 5
    shifts = np.r_[np.nan, np.full(frames - 1, 0.01)]
    return Recording.from_arrays("day", stamps, descriptors, truth=truth, shifts=shifts)


@pytest.mark.parametrize("spacing", [2.0, 5.0])
def test_a_thinned_drive_has_a_frame_near_every_multiple_of_the_spacing(spacing, rng):
    whole = drive(rng)
    found = thin(whole, spacing).truth[:, 0]
    marks = np.arange(0.0, whole.truth[-1, 0], spacing)
    assert len(found) == pytest.approx(len(marks), abs=1)
    assert np.abs(found[: len(marks)] - marks[: len(found)]).max() <= 0.35 + 1e-9


def test_between_kept_frames_the_picture_moves_as_far_as_between_all(rng):
    whole = drive(rng)
    thinned = thin(whole, 2.0)
    rows = [int(np.argmax(whole.stamps == percept.stamp)) for percept in thinned.percepts]
    assert thinned.percepts[0].shift is None
    moved = [percept.shift for percept in thinned.percepts[1:]]
    np.testing.assert_allclose(moved, 0.01 * np.diff(rows))


def test_a_drive_without_all_positions_is_not_thinned(rng):
    whole = drive(rng)
    with pytest.raises(ValueError, match="1 frames have no position"):
        thin(replace(whole, known=np.arange(len(whole)) != 3), 2.0)


def test_frames_from_elsewhere_come_in_the_drive_s_own_time_step(rng):
    whole, other = drive(rng), drive(rng)
    percepts = insert(whole, other.percepts[:7], at=30)
    assert {int(step) for step in np.diff([percept.stamp for percept in percepts])} == {NANOSECONDS // 5}
    assert [percept.shift for percept in (percepts[30], percepts[37])] == [None, None]
    np.testing.assert_array_equal(percepts[33].descriptor, other.percepts[3].descriptor)
    np.testing.assert_array_equal(percepts[37].descriptor, whole.percepts[30].descriptor)


def test_a_cut_descriptor_is_the_first_part_at_unit_length(rng):
    whole = drive(rng)
    for percept, cut in zip(whole.percepts, cut_pooling(whole, 5).percepts, strict=True):
        np.testing.assert_allclose(cut.descriptor * np.linalg.norm(percept.descriptor[:5]), percept.descriptor[:5])
        assert np.linalg.norm(cut.descriptor) == pytest.approx(1.0)
