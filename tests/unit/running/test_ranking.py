"""Recall@N and the ranking by cosine against a brute-force ranking of all references."""

import numpy as np
import pytest

from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.loops import RADIUS, opportunities
from tmapr.evaluation.recall import RANKS, recall_at
from tmapr.retrieval.memory import remember
from tmapr.running.progressive import Progress
from tmapr.running.ranking import rank_drive
from tmapr.types import Belief, Estimate, Fault, Reason, Status, Verdict


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


def rank(recording, memory):
    """As a run keeps it; nothing was searched for."""
    told = Belief(0, np.zeros(4), np.eye(4)), Verdict(Reason.NO_CANDIDATE), Status.LOST
    estimates = tuple(Estimate(told[0], percept, None, *told[1:]) for percept in recording.percepts)
    nothing = np.zeros(len(recording))
    return rank_drive(Progress(estimates, nothing, nothing, nothing, ((),) * len(recording)), memory)


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
    opportunity = opportunities(recording.truth[known], memory.positions)
    kept = rank(recording, memory)
    np.testing.assert_array_equal(kept.cosine, np.where(usable[:, None], order[:, :10], -1))
    found = recall_at(kept.cosine, recording, memory.positions, opportunity)
    assert found == pytest.approx(expected)
    assert 0 < found["1"] < found["5"] < found["10"] < usable[possible].mean()
    assert 0 < possible.sum() < known.sum() < 120
    assert recall_at(kept.searched, recording, memory.positions, opportunity) == dict.fromkeys(["1", "5", "10"], 0.0)


def test_the_first_n_count_and_not_the_next(world):
    recording, _ = world
    far, count = np.full((1, 2), 9e5), len(recording)
    sixth = np.full((count, 10), -1)
    sixth[:, :5], sixth[:, 5] = 0, 1 + np.arange(count)
    everywhere = np.ones(recording.known.sum(), dtype=bool)
    found = recall_at(sixth, recording, np.vstack([far, recording.truth]), everywhere)
    assert found == {"1": 0.0, "5": 0.0, "10": 1.0}


def test_no_reference_is_not_the_last_one(world):
    recording, _ = world
    first = np.flatnonzero(recording.known)[0]
    nothing, only = np.full((len(recording), 10), -1), recording.truth[[first]]
    here = np.arange(recording.known.sum()) == 0
    assert recall_at(nothing, recording, only, here) == {"1": 0.0, "5": 0.0, "10": 0.0}


def test_without_an_opportunity_there_is_no_recall(world):
    recording, memory = world
    nowhere = np.zeros(recording.known.sum(), dtype=bool)
    assert recall_at(rank(recording, memory).cosine, recording, memory.positions, nowhere) is None


def test_fewer_than_ten_references_are_all_ranked(world, rng):
    recording, _ = world
    looks = unit(rng.normal(size=(3, 24)))
    memory = remember(looks, rng.normal(size=(3, 2)), np.zeros(3, int), np.arange(3), frames=np.arange(3), probes=8)
    expected = np.argsort(-(memory.descriptors @ recording.percepts[0].descriptor))
    assert rank(recording, memory).cosine[0].tolist() == [*expected.tolist(), *[-1] * 7]
