"""The highest of many numbers, against a whole sort."""

import numpy as np
import pytest

from tmapr.retrieval.ranking import find_highest, sort_highest


@pytest.mark.parametrize("size", [1, 9, 10, 11, 1279, 1280, 1408, 5000])
def test_they_are_those_that_a_sort_puts_last(size, rng):
    values = rng.normal(size=size)
    found = find_highest(values, 10)
    assert sorted(values[found]) == sorted(values)[-10:]
    assert len(set(found.tolist())) == len(found)


def test_equal_numbers_are_counted_one_by_one(rng):
    values = np.round(rng.normal(size=4000), 1)
    assert sorted(values[find_highest(values, 10)]) == sorted(values)[-10:]


def test_numbers_behind_the_last_whole_block_count(rng):
    values = rng.normal(size=1500)
    values[-1] = 9.0
    assert 1499 in find_highest(values, 10)


@pytest.mark.parametrize("count", [1, 9, 10, 500, 501])
def test_they_are_sorted_as_in_a_whole_sort_that_keeps_equal_ones_in_order(count, rng):
    values = np.round(rng.normal(size=500), 1)
    np.testing.assert_array_equal(sort_highest(values, count), np.argsort(-values, kind="stable")[:count])
