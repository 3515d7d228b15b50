"""What looks like nothing mapped, and what only looks worse."""

import numpy as np
import pytest

from tmapr.tracking.novelty import Novelty

VIEW = 0.1
"""In 1 − cosine; two that have nothing in common are 0.4 apart."""
UNKNOWN = np.nan


def unit(row):
    return row / np.linalg.norm(row)


class Drive:
    """Frames that go over into one another, each as familiar as usual, give or take."""

    def __init__(self, rng):
        self.rng, self.novelty = rng, Novelty(VIEW)
        self.look = unit(rng.normal(size=64))

    def see(self, familiar, look):
        strange = self.novelty.judge(np.array(familiar), look)
        if not strange:
            self.novelty.learn(np.array(familiar))
        return strange

    def drive_on(self, frames, level=(0.7, 0.8, 2.0), spread=0.03):
        """The share of strange ones."""
        found = []
        for _ in range(frames):
            self.look = unit(self.look + 0.02 * self.rng.normal(size=64))
            found.append(self.see(np.array(level) + spread * self.rng.normal(size=3), self.look))
        return np.mean(found)

    def show_elsewhere(self, frames, level=(0.4, 0.4, 0.3)):
        looks = [unit(self.rng.normal(size=64)) for _ in range(frames)]
        return np.mean([self.see(np.array(level) + 0.03 * self.rng.normal(size=3), look) for look in looks])


@pytest.fixture
def drive(rng):
    begun = Drive(rng)
    assert begun.drive_on(100) == 0
    return begun


def test_frames_from_elsewhere_are_strange_and_the_drive_goes_on_at_once(drive):
    assert drive.show_elsewhere(30) == 1
    assert drive.drive_on(100) == 0


def test_without_local_matches_the_others_decide(rng):
    drive = Drive(rng)
    drive.drive_on(60, level=(0.7, 0.8, UNKNOWN))
    assert drive.show_elsewhere(30, level=(0.4, 0.4, UNKNOWN)) == 1
    assert drive.show_elsewhere(1, level=(0.7, 0.8, UNKNOWN)) == 0


def test_what_still_has_its_local_matches_is_no_stranger(drive):
    assert drive.show_elsewhere(1, level=(0.55, 0.75, 2.0)) == 0
    assert drive.show_elsewhere(1, level=(0.55, 0.75, 0.3)) == 1


def test_what_follows_on_the_frame_before_is_the_drives_however_it_looks(drive):
    levels = [(0.7 - 0.003 * step, 0.8 - 0.003 * step, 2.0 - 0.02 * step) for step in range(100)]
    assert not any(drive.drive_on(1, level=level) for level in levels)
    assert drive.drive_on(5, level=(0.2, 0.2, 0.0)) == 0, (
        "a cloud, at once: the pictures still go over into one another"
    )


def test_at_the_beginning_of_a_drive_nothing_is_strange(rng):
    drive = Drive(rng)
    drive.drive_on(9)
    assert drive.show_elsewhere(1) == 0


def test_the_drives_last_frame_is_compared_with_even_after_many_strange_ones(drive):
    before = drive.look
    drive.show_elsewhere(40)
    assert not drive.see((0.2, 0.2, 0.0), unit(before + 0.01))


def test_somebody_may_keep_a_hand_before_the_lens_for_hours(drive):
    hand = unit(drive.rng.normal(size=64))
    assert all(drive.see((0.4, 0.4, 0.3), hand) for _ in range(2000))
    assert drive.drive_on(50) == 0


def test_after_many_strange_views_the_condition_is_another_one(drive):
    assert drive.show_elsewhere(60) == 1
    assert drive.show_elsewhere(100) < 0.1


def test_strange_views_of_several_times_do_not_add_up(drive):
    for _ in range(3):
        assert drive.show_elsewhere(40) == 1
        assert drive.drive_on(20) == 0


def test_a_saved_state_goes_on_as_it_would_have(drive):
    drive.show_elsewhere(5)
    again = Novelty(VIEW)
    again.restore(drive.novelty.arrays())
    for _ in range(80):
        familiar, look = drive.rng.uniform(0, 1, 3), unit(drive.rng.normal(size=64))
        assert again.judge(familiar, look) == drive.novelty.judge(familiar, look)
    for name, array in drive.novelty.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
