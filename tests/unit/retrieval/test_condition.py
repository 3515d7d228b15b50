"""What a drive's views share: against plain means, and what it does for a search."""

import numpy as np
import pytest

from tmapr.retrieval.condition import Condition, Shared
from tmapr.retrieval.memory import remember
from tmapr.retrieval.search import Retrieval
from tmapr.types import NANOSECONDS, Belief, Estimate, Percept, Reason, RouteBelief, Status, Verdict

SECOND = NANOSECONDS


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def make_memory(looks):
    count = len(looks)
    line = np.column_stack([np.arange(count) * 2.0, np.zeros(count)])
    return remember(looks, line, np.arange(count) // 4, np.arange(count) * SECOND, frames=np.arange(count), probes=32)


def estimate_of(descriptor, stamp, p_off_map=0.0, new_view=True):
    route = RouteBelief(1.0 - p_off_map, p_off_map, np.zeros(0, int), np.zeros(0), new_view)
    belief = Belief(stamp, np.zeros(4), np.eye(4))
    percept = Percept(stamp, descriptor)
    return Estimate(belief, percept, None, Verdict(Reason.ACCEPTED), Status.LOCALIZED, route=route)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.8])
def test_cosines_are_those_of_vectors_from_which_the_shared_part_was_taken(rng, weight):
    looks, view, mean = unit(rng.normal(size=(40, 16)) + 1), unit(rng.normal(size=16) + 2), rng.normal(size=16) * 0.2
    memory, shared = make_memory(looks), Shared(mean, weight)
    own, others = unit(view - weight * mean), unit(memory.descriptors - weight * memory.descriptors.mean(axis=0))
    np.testing.assert_allclose(memory.similarities(view, shared=shared), others @ own, atol=1e-6)
    np.testing.assert_allclose(memory.background(view, shared), (others @ own)[memory.probes], atol=1e-6)
    some = memory.rows_of([3, 1])
    np.testing.assert_allclose(memory.similarities(view, [3, 1], shared), (others @ own)[some], atol=1e-6)


def test_before_the_first_view_nothing_is_shared(rng):
    condition, view = Condition(), unit(rng.normal(size=8))
    assert condition.recall(0) is None
    condition.note(view, 0, 0.0)
    assert condition.recall(SECOND).weight == 0.0
    np.testing.assert_allclose(condition.recall(SECOND).exchange(view, np.ones(8)), view, rtol=1e-15)


def test_the_mean_is_that_of_the_views_so_far_weighed_by_how_far_they_show_the_map(rng):
    views, shares = unit(rng.normal(size=(60, 8))), rng.uniform(size=60)
    condition, weights = Condition(), []
    for number, (view, share) in enumerate(zip(views, shares, strict=True)):
        condition.note(view, number * SECOND, share)
        weights.append(condition.recall(number * SECOND).weight)
        shared = condition.recall(number * SECOND)
        np.testing.assert_allclose(shared.mean, np.average(views[: number + 1], axis=0, weights=shares[: number + 1]))
    assert (np.diff(weights) > 0).all()
    assert weights[-1] < 1


def test_what_was_handed_out_does_not_change_later(rng):
    condition = Condition()
    condition.note(unit(rng.normal(size=8)), 0, 1.0)
    early = condition.recall(1)
    kept = early.mean.copy()
    condition.note(unit(rng.normal(size=8)), 2, 1.0)
    np.testing.assert_array_equal(early.mean, kept)


def test_neither_a_stop_nor_a_way_off_the_map_moves_the_mean(rng):
    condition = Condition()
    for number, view in enumerate(unit(rng.normal(size=(20, 8)))):
        condition.follow(estimate_of(view, number * SECOND))
    before = condition.recall(20 * SECOND)
    for number in range(20, 500):
        condition.follow(estimate_of(np.eye(8)[0], number * SECOND, new_view=False))
        condition.follow(estimate_of(np.eye(8)[1], number * SECOND, p_off_map=1.0))
    after = condition.recall(500 * SECOND)
    np.testing.assert_array_equal(after.mean, before.mean)
    assert after.weight == before.weight


def test_older_views_fade_and_another_drive_begins_anew():
    condition = Condition()
    for number in range(2000):
        condition.note(np.eye(8)[int(number >= 1000)], number * SECOND, 1.0)
    mean = condition.recall(2000 * SECOND).mean
    assert mean[1] > 0.98
    assert condition.recall(2000 * SECOND + 2 * 3600 * SECOND) is None
    assert condition.recall(0) is None, "a drive does not go back in time"


def test_a_saved_condition_goes_on_as_it_would_have(rng):
    views = unit(rng.normal(size=(30, 8)))
    whole, cut = Condition(), Condition()
    for number, view in enumerate(views):
        whole.note(view, number, 1.0)
        cut.note(view, number, 1.0)
        again = Condition()
        again.restore(cut.arrays())
        cut = again
    np.testing.assert_array_equal(whole.recall(30).mean, cut.recall(30).mean)
    empty = Condition()
    empty.restore({})
    assert empty.recall(0) is None


def test_a_view_under_the_maps_condition_is_as_if_it_had_been_there(rng):
    own, night, day = rng.normal(size=(3, 200))
    seen, mapped = unit(own + 6 * night), unit(own + 6 * day)
    length = np.linalg.norm(own + 6 * night)
    moved = Shared(6 * night / length, 1.0).exchange(seen, 6 * day / length)
    assert moved @ mapped > 0.99 > 0.5 > seen @ mapped
    assert np.linalg.norm(moved) == pytest.approx(1.0)


def test_a_search_finds_places_that_the_condition_hides_from_the_plain_cosine(rng):
    """What makes a night a night also resembles one of the mapped places."""
    places = rng.normal(size=(60, 64))
    night = 2.5 * places[7] + 0.3 * rng.normal(size=64)
    looks = unit(places + 2 * rng.normal(size=64))
    views = unit(places + night + 0.3 * rng.normal(size=places.shape))
    memory, condition = make_memory(looks), Condition()
    search = Retrieval(mode="global").search
    found = {"plain": [], "centred": []}
    for number, view in enumerate(views):
        shared = condition.recall(number)
        for name, used in (("plain", None), ("centred", shared)):
            best = search(memory, view, None, list, shared=used).first
            found[name].append(best.reference == number)
            assert best.similarity == pytest.approx(float(memory.descriptors[best.reference] @ view), abs=1e-6)
        condition.note(view, number, 1.0)
    assert np.mean(found["centred"][20:]) > np.mean(found["plain"][20:]) + 0.2
