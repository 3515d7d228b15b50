"""Medians, deviations and best entries against NumPy's, with ties, infinities and unused entries."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tmapr.device.ranking import find_best
from tmapr.device.standardising import find_middle, mark_best, measure_spread
from tmapr.retrieval.search import _center_and_deviation
from tmapr.types import PlaceScores

CPU = torch.device("cpu")
numbers = st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3)), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(numbers, st.integers(0, 5))
def test_the_spread_is_that_of_the_entries_in_use(values, unused):
    expected = _center_and_deviation(np.array(values))
    wide = torch.tensor([values + [7.0] * unused], dtype=torch.float64)
    used = torch.arange(wide.shape[1]) < len(values)
    found = measure_spread(wide, find_middle(len(values), CPU), used)
    np.testing.assert_array_equal([found.center.item(), found.deviation.item()], expected)


@settings(max_examples=60, deadline=None)
@given(numbers, st.integers(0, 5), st.integers(1, 8))
def test_the_best_are_those_of_a_stable_sort(values, unused, count):
    wide = torch.tensor(values + [1e9] * unused, dtype=torch.float64)
    found = mark_best(wide, count, torch.arange(len(wide)) < len(values))
    assert np.flatnonzero(found).tolist() == sorted(PlaceScores(np.array(values), 0.0).best(count))


@pytest.mark.parametrize("length", [3, 512, 1300])
def test_the_first_of_a_long_row_are_those_of_a_stable_sort(length, rng):
    values = rng.integers(-20, 20, size=(2, length)).astype(float)
    values[0, rng.random(length) < 0.3] = -np.inf
    best, where = find_best(torch.as_tensor(values), 12)
    order = np.argsort(-values, axis=1, kind="stable")[:, :12]
    found = where.numpy()[:, : order.shape[1]]
    np.testing.assert_array_equal(found, order)
    np.testing.assert_array_equal(best[:, : order.shape[1]], np.take_along_axis(values, order, axis=1))
