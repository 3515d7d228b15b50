"""Recall@N against a brute-force ranking of all references."""

import numpy as np
import pytest

from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.loops import RADIUS, opportunities
from tmapr.retrieval.memory import remember
from tmapr.running.ranking import RANKS, rank_by_similarity, recall_at
from tmapr.types import Fault


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def world(rng):
    """References along a street, and noisier views of some of its places, of some others, and of nothing."""
    places = np.column_stack([np.linspace(0, 900, 300), np.zeros(300)])
    looks = unit(rng.normal(size=(300, 24)))
    rows = rng.integers(0, 300, size=120)
    truth = places[rows] + rng.normal(size=(120, 2)) * 3
    truth[100:] += [0.0, 500.0]
    truth[::17] = np.nan
    seen = unit(looks[rows] + 0.28 * rng.normal(size=(120, 24)))
    faults = [Fault.FROZEN.value if row % 11 == 5 else "" for row in range(120)]
    recording = Recording.from_arrays("street", np.arange(120) * 10**8, seen, truth=truth, faults=faults)
    memory = remember(looks, places, np.arange(300) // 5, np.arange(300) * 10**8, frames=np.arange(300), probes=8)
    return recording, memory


def test_recall_is_that_of_all_references_sorted(world):
    recording, memory = world
    known = recording.known
    descriptors = np.array([percept.descriptor for percept in recording.percepts])
    order = np.argsort(-(descriptors @ memory.descriptors.T), axis=1)
    distances = np.linalg.norm(recording.truth[:, None] - memory.positions, axis=2)
    ranked = np.take_along_axis(distances, order, axis=1)
    usable = np.array([percept.fault is None for percept in recording.percepts])
    possible = known & (distances <= RADIUS).any(axis=1)
    expected = {str(n): ((ranked[:, :n] <= RADIUS).any(axis=1) & usable)[possible].mean() for n in RANKS}
    found = recall_at(rank_by_similarity(memory), recording, opportunities(recording.truth[known], memory.positions))
    assert found == pytest.approx(expected)
    assert 0 < found["1"] < found["5"] < found["10"] < usable[possible].mean()
    assert 0 < possible.sum() < known.sum() < 120


def test_the_first_n_count_and_not_the_next(world):
    recording, _ = world
    right = {percept.stamp: truth for percept, truth in zip(recording.percepts, recording.truth, strict=True)}

    def sixth(percept):
        return np.array([[9e5, 9e5]] * 5 + [right[percept.stamp]])

    usable = Recording.from_arrays(
        "street",
        recording.stamps,
        np.array([percept.descriptor for percept in recording.percepts]) + 1e-3,
        truth=recording.truth,
    )
    everywhere = np.ones(recording.known.sum(), dtype=bool)
    assert recall_at(lambda: sixth, usable, everywhere) == {"1": 0.0, "5": 0.0, "10": 1.0}


def test_a_search_that_finds_nothing_misses_every_opportunity(world):
    recording, _ = world
    everywhere = np.ones(recording.known.sum(), dtype=bool)
    assert recall_at(lambda: lambda _: np.zeros((0, 2)), recording, everywhere) == dict.fromkeys(["1", "5", "10"], 0.0)


def test_without_an_opportunity_there_is_no_recall(world):
    recording, memory = world
    assert recall_at(rank_by_similarity(memory), recording, np.zeros(recording.known.sum(), dtype=bool)) is None


def test_fewer_than_ten_references_are_all_ranked(world, rng):
    recording, _ = world
    looks = unit(rng.normal(size=(3, 24)))
    memory = remember(looks, rng.normal(size=(3, 2)), np.zeros(3, int), np.arange(3), frames=np.arange(3), probes=8)
    percept = recording.percepts[0]
    expected = memory.positions[np.argsort(-(memory.descriptors @ percept.descriptor))]
    np.testing.assert_array_equal(rank_by_similarity(memory)()(percept), expected)
