"""Matches are held against the drive's own, and against the best ones elsewhere: nothing absolute counts."""

import numpy as np
import pytest

from tmapr.tracking import level
from tmapr.tracking.level import Levels


def drive(levels, rng, views, right=5.0, wrong=3.0):
    """A drive that is sure of its place."""
    for _ in range(views):
        here, elsewhere = rng.normal(right, 0.5, 2), rng.normal(wrong, 0.5, 2)
        levels.weigh(here, elsewhere)
        levels.learn(here, elsewhere, certain=True, new=1.0)
    return levels


def test_nothing_is_said_before_a_level_is_known(rng):
    levels = Levels(2)
    assert levels.weigh(np.array([9.0, 9.0]), np.array([1.0, 1.0])) == 0.0
    assert drive(levels, rng, 2).weigh(np.array([0.0, 0.0]), np.array([3.0, 3.0])) == 0.0


def test_a_match_like_the_drive_s_own_speaks_for_the_map_and_one_like_those_elsewhere_against_it(rng):
    levels = drive(Levels(2), rng, 40)
    assert levels.weigh(np.array([5.0, 5.0]), np.array([3.0, 3.0])) == pytest.approx(level.BEST)
    assert levels.weigh(np.array([3.0, 3.0]), np.array([3.0, 3.0])) == pytest.approx(level.WORST)


def test_the_scale_of_a_condition_does_not_matter(rng):
    first, second = drive(Levels(2), np.random.default_rng(1), 40), Levels(2)
    again = np.random.default_rng(1)
    for _ in range(40):
        here, elsewhere = again.normal(5.0, 0.5, 2), again.normal(3.0, 0.5, 2)
        second.weigh(0.1 * here - 7.0, 0.1 * elsewhere - 7.0)
        second.learn(0.1 * here - 7.0, 0.1 * elsewhere - 7.0, certain=True, new=1.0)
    for value in (2.0, 3.5, 4.0, 4.5, 6.0):
        here, elsewhere = np.full(2, value), np.full(2, 3.0)
        shrunk = second.weigh(0.1 * here - 7.0, 0.1 * elsewhere - 7.0)
        assert shrunk == pytest.approx(first.weigh(here, elsewhere), abs=0.02)


def test_where_right_and_wrong_matches_are_alike_it_says_nothing(rng):
    levels = drive(Levels(2), rng, 60, right=3.0, wrong=3.0)
    assert levels.weigh(np.array([3.0, 3.0]), np.array([3.0, 3.0])) == pytest.approx(0.0, abs=0.2)


def test_means_and_variances_are_those_of_the_views(rng):
    levels, seen = Levels(1), rng.normal(4.0, 1.0, 50)
    for value in seen:
        levels.weigh(np.array([value]), np.array([0.0]))
        levels.learn(np.array([value]), np.array([0.0]), certain=True, new=1.0)
    first = np.concatenate([np.full(int(level.FIRST), seen[0]), seen])
    assert levels.means[0, 0] == pytest.approx(first.mean())
