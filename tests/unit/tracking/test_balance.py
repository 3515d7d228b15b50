"""Lessons of places that were not visited."""

import numpy as np
import pytest

from tmapr.retrieval.memory import remember
from tmapr.tracking.balance import Balance

DIM, COUNT, EACH = 6, 10, 3
"""Places, and references in each."""


@pytest.fixture
def memory(rng):
    rows = COUNT * EACH
    descriptors = rng.normal(size=(rows, DIM))
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    positions = np.column_stack([np.arange(rows) * 5.0, np.zeros(rows)])
    order = np.arange(rows)
    return remember(descriptors, positions, order // EACH, order, frames=order, probes=8)


def visit(balance, place, times=1, difference=None):
    for _ in range(times):
        balance.note(place, np.zeros(DIM) if difference is None else difference)


def test_a_condition_that_is_hardly_known_is_not_imagined(memory):
    balance = Balance(memory)
    visit(balance, 0, times=4)
    assert len(balance.pick(2)) == 0


def test_places_that_were_not_visited_come_first(memory):
    balance = Balance(memory)
    for place in range(5):
        visit(balance, place)
    picked = [memory.places[balance.pick(1)[0]] for _ in range(5)]
    assert sorted(picked) == [5, 6, 7, 8, 9]


def test_no_place_gets_more_than_the_others(memory):
    balance = Balance(memory)
    visit(balance, 0, times=5)
    counts = np.zeros(COUNT, dtype=int)
    for _ in range(45):
        visit(balance, 0)
        np.add.at(counts, memory.places[balance.pick(2)], 1)
    assert counts[0] == 0
    assert counts[1:].tolist() == [10] * (COUNT - 1)


def test_every_reference_of_a_place_has_its_turn(memory):
    balance = Balance(memory)
    visit(balance, 0, times=5)
    rows = set()
    for _ in range(200):
        visit(balance, 0)
        rows.update(balance.pick(2).tolist())
    assert len(rows) == (COUNT - 1) * EACH


def test_a_reference_is_imagined_with_the_mean_difference_and_at_length_one(memory, rng):
    balance, differences = Balance(memory), 0.3 * rng.normal(size=(20, DIM))
    for difference in differences:
        visit(balance, 1, difference=difference)
    moved = memory.descriptors[4] + differences.mean(axis=0)
    np.testing.assert_allclose(balance.imagine(memory.descriptors[4].astype(float)), moved / np.linalg.norm(moved))


def test_a_place_is_known_from_its_first_lesson_on(memory):
    balance = Balance(memory)
    visit(balance, 2)
    before = balance.lessons
    visit(balance, 3)
    assert [balance.knows(2, before), balance.knows(3, before), balance.knows(3, balance.lessons)] == [
        True,
        False,
        True,
    ]
    assert sorted(set(memory.places[balance.known].tolist())) == [2, 3]


def test_the_balance_survives_a_restart(memory, rng):
    first, second = Balance(memory), Balance(memory)
    for place in rng.integers(0, COUNT, 30).tolist():
        visit(first, place, difference=rng.normal(size=DIM))
        first.pick(2)
    second.restore(first.arrays())
    np.testing.assert_array_equal(second.imagine(np.ones(DIM)), first.imagine(np.ones(DIM)))
    np.testing.assert_array_equal(second.pick(5), first.pick(5))


def test_the_balance_of_another_map_is_refused(memory):
    arrays = Balance(memory).arrays() | {"heard": np.zeros(3, dtype=np.int64)}
    with pytest.raises(ValueError, match="3 places were learned from, 10 are mapped"):
        Balance(memory).restore(arrays)


def test_a_reference_of_which_nothing_would_be_left_stays_as_it_is(memory):
    balance, reference = Balance(memory), memory.descriptors[0].astype(float)
    visit(balance, 0, difference=-reference)
    np.testing.assert_array_equal(balance.imagine(reference), reference)


def test_a_balance_that_begins_anew_knows_no_place_and_no_condition(memory, rng):
    balance = Balance(memory)
    for place in range(8):
        visit(balance, place, difference=rng.normal(size=DIM))
    before = balance.lessons
    balance.begin_anew()
    assert not balance.known.any()
    assert len(balance.pick(2)) == 0
    np.testing.assert_allclose(balance.imagine(memory.descriptors[0].astype(float)), memory.descriptors[0], atol=1e-6)
    visit(balance, 2)
    assert not balance.knows(2, before)
    assert balance.knows(2, balance.lessons)
