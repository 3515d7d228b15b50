"""What twins are held against: copies that a made-up world knows, and rates within worlds."""

import numpy as np
import pytest

from surveyed import copied, record, straight, survey
from tmapr.simulation.blocks import Builder
from tmapr.simulation.world import Passage, World
from twins import Copies, TwinsRow, compare_rates, judge_twins


def world_of(*passages):
    """A world that is nothing but its streets along x."""
    streets = tuple(Passage(np.array([[start, 0.0], [stop, 0.0]]), look) for start, stop, look in passages)
    route = np.array([[0.0, 0.0], [400.0, 0.0]])
    return World(Builder().scene(), route, route, 6.0, 8.0, lambda builder, rng: None, passages=streets)


def found_twins():
    positions = straight()
    atlas = survey(record("noon", positions, copied(positions, (60.0, 130.0), (260.0, 330.0))))
    return atlas.stations, list(atlas.twins)


def test_a_twin_of_copies_is_right_and_finds_them():
    found = judge_twins(world_of((60, 130, 0), (130, 260, 1), (260, 330, 0)), *found_twins())
    # At its ends a twin may reach a step or two beyond.
    assert found.paired - 2 <= found.right
    assert found.found >= found.copied - 4 > 60


def test_a_twin_of_streets_that_are_no_copies_is_wrong():
    found = judge_twins(world_of((60, 130, 0), (260, 330, 2)), *found_twins())
    assert found == Copies(copied=0, paired=found.paired, right=0, found=0)
    assert found.paired > 25


def test_a_twin_of_another_part_of_a_copy_is_wrong():
    assert judge_twins(world_of((60, 130, 0), (240, 330, 0)), *found_twins()).right == 0


def row(frames, wrong):
    return TwinsRow(name="a", kind="city", stations=9, twins=1, marked=3, copies=None, frames=frames, wrong=wrong)


def test_the_ratio_of_one_world_is_that_of_its_rates():
    assert compare_rates([row((100, 50), (10, 15))]) == pytest.approx(3.0)


def test_worlds_of_which_one_is_dark_and_marked_are_not_mixed():
    # Within either world marked frames are as often wrong as others; in both together five times as often.
    assert compare_rates([row((900, 100), (90, 10)), row((100, 900), (90, 810))]) == pytest.approx(1.0)


def test_a_world_without_marked_frames_says_nothing():
    assert compare_rates([row((100, 0), (10, 0))]) is None
