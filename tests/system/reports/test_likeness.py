"""What looks alike in maps of which that is known."""

import numpy as np
import pytest

from surveyed import copied, record, see, straight, survey
from tmapr.reports.atlas.likeness import ALIKE, compare_stations
from tmapr.reports.atlas.stations import lay_stations
from tmapr.retrieval.memory import remember

HERE, THERE = (60.0, 130.0), (260.0, 330.0)


def street(back=False):
    positions = straight()
    return record("noon", positions, copied(positions, HERE, THERE, back))


def metres_of(atlas, span):
    return atlas.stations.positions[list(span), 0]


@pytest.mark.parametrize("back", [False, True])
def test_a_stretch_that_is_a_copy_is_one_twin(back):
    atlas = survey(street(back))
    (twin,) = atlas.twins
    assert twin.forth is not back
    # A stretch is compared with a place to either side, so that its ends are found within one.
    assert metres_of(atlas, twin.first) == pytest.approx(HERE, abs=atlas.stations.tolerance)
    assert metres_of(atlas, twin.second) == pytest.approx(THERE, abs=atlas.stations.tolerance)
    assert twin.metres == pytest.approx(70.0, abs=20.0)
    assert twin.likeness > ALIKE


@pytest.mark.parametrize("back", [False, True])
def test_the_two_stations_of_a_pair_see_the_same(back):
    atlas = survey(street(back))
    (twin,) = atlas.twins
    there = [metres_of(atlas, pair)[1] for pair in twin.pairs]
    here = np.array([metres_of(atlas, pair)[0] for pair in twin.pairs])
    expected = THERE[0] + (HERE[1] - here if back else here - HERE[0])
    assert there == pytest.approx(expected, abs=2 * atlas.stations.step)


def test_only_the_copied_stretches_are_marked():
    atlas = survey(street())
    x = atlas.stations.positions[:, 0]
    inside = [(x >= low + 10) & (x < high - 10) for low, high in (HERE, THERE)]
    near = [(x >= low - 10) & (x < high + 10) for low, high in (HERE, THERE)]
    assert atlas.twin[inside[0] | inside[1]].all()
    assert not atlas.twin[~(near[0] | near[1])].any()


def test_a_street_without_copies_has_no_twins():
    positions = straight()
    assert survey(record("noon", positions, positions[:, 0])).twins == ()


def loop(laps):
    """A square of a hundred metres a side, and the metres since its corner."""
    along = np.arange(0.0, 400.0 * laps, 2.0)
    corners = np.array([[0, 0], [100, 0], [100, 100], [0, 100], [0, 0]], dtype=float)
    round_ = along % 400.0
    return np.column_stack([np.interp(round_, np.arange(5) * 100.0, axis) for axis in corners.T]), round_


def test_a_loop_that_was_driven_twice_is_one_place_and_no_twin():
    positions, metres = loop(laps=2)
    atlas = survey(record("noon", positions, metres))
    assert atlas.twins == ()
    # Where it begins and ends, in a corner, nobody knows the direction before and after.
    assert atlas.repeats.along.sum() >= len(atlas.stations) - 2
    assert atlas.coverage.distinct == pytest.approx(400.0, abs=10.0)
    assert atlas.coverage.driven == pytest.approx(800.0, abs=10.0)


def test_two_traverses_of_one_street_are_no_twins_and_their_copies_are():
    positions = straight()
    beside = straight(at=(0.0, 3.0))
    seen = copied(positions, HERE, THERE)
    atlas = survey(record("noon", positions, seen), record("dusk", beside, seen, start=2 * 10**18))
    runs = {
        tuple(sorted((atlas.stations.runs[twin.first[0]], atlas.stations.runs[twin.second[0]]))) for twin in atlas.twins
    }
    # Here and there of each traverse, and of one with the other in both orders.
    assert len(atlas.twins) == 4
    assert runs == {(0, 0), (0, 1), (1, 1)}
    assert atlas.repeats.along.all()
    assert not atlas.repeats.against.any()


def test_the_way_back_is_the_same_place():
    positions = np.vstack([straight(200.0), straight(200.0, at=(0.0, 3.0))[::-1]])
    atlas = survey(record("noon", positions, np.arange(len(positions)) * 2.0))
    assert atlas.repeats.against.mean() > 0.9
    assert not atlas.repeats.along.any()


def test_likeness_equals_a_plain_recomputation(rng):
    positions = np.vstack([straight(120.0), straight(90.0, at=(0.0, 70.0)), straight(60.0, at=(200.0, 30.0))])
    drives = np.repeat(["a", "b", "c"], [60, 45, 30])
    views = see(copied(positions, (10.0, 50.0), (70.0, 110.0))) + 0.05 * rng.normal(size=(135, 48))
    views /= np.linalg.norm(views, axis=1)[:, None]
    frames = np.arange(135)
    memory = remember(views, positions, frames // 9, frames * 10**9, frames=frames, sequences=drives, probes=9)
    stations = lay_stations(memory)
    found = compare_stations(memory, stations)
    value, partner = recompute(memory, stations)
    np.testing.assert_array_equal(found.known, np.isfinite(value))
    np.testing.assert_allclose(found.value[found.known], value[found.known], atol=1e-5)
    np.testing.assert_array_equal(found.partner[found.known], partner[found.known])


def recompute(memory, stations):
    """The formula of the module, one pair of stations after the other."""
    views = memory.descriptors[stations.rows].astype(float)
    cosines = views @ views.T
    away = np.hypot(*(stations.positions[:, None] - stations.positions).transpose(2, 0, 1))
    elsewhere = away > 2 * stations.tolerance
    background, spread = np.median(cosines[elsewhere]), np.std(cosines[elsewhere])
    reach, count = stations.reach, len(stations)

    def around(at):
        return [
            other
            for other in range(at - reach, at + reach + 1)
            if 0 <= other < count and stations.runs[other] == stations.runs[at]
        ]

    def neighbours(at):
        own = around(at)
        return np.mean([cosines[here, there] for here, there in zip(own[1:], own[:-1], strict=True)])

    scale = [max(neighbours(at) - background, spread) for at in range(count)]
    value, partner = np.full(count, -np.inf), np.zeros(count, dtype=int)
    for here in range(count):
        for there in range(count):
            for sign in (1, -1):
                offsets = [at - here for at in around(here) if there + sign * (at - here) in around(there)]
                pairs = [(here + offset, there + sign * offset) for offset in offsets]
                if len(pairs) <= reach or not all(elsewhere[pair] for pair in pairs):
                    continue
                likeness = (np.mean([cosines[pair] for pair in pairs]) - background) / (
                    (scale[here] + scale[there]) / 2
                )
                if likeness > value[here]:
                    value[here], partner[here] = likeness, there
    return value, partner


def test_blocks_make_no_difference(monkeypatch, rng):
    positions, frames = straight(), np.arange(200)
    # Noise, so that of two look-alikes one is the better.
    views = see(copied(positions, HERE, THERE)) + 0.02 * rng.normal(size=(200, 48))
    views /= np.linalg.norm(views, axis=1)[:, None]
    memory = remember(views, positions, frames // 9, frames * 10**9, frames=frames, probes=9)
    stations = lay_stations(memory)
    whole = compare_stations(memory, stations)
    monkeypatch.setattr("tmapr.reports.atlas.likeness._BLOCK", 7)
    parts = compare_stations(memory, stations)
    np.testing.assert_array_equal(whole.partner, parts.partner)
    np.testing.assert_allclose(whole.value, parts.value, atol=1e-5)
    assert set(zip(whole.pairs.first, whole.pairs.second, strict=True)) == set(
        zip(parts.pairs.first, parts.pairs.second, strict=True)
    )


def test_a_single_reference_looks_like_nothing():
    atlas = survey(record("noon", np.zeros((1, 2)), [0.0]))
    assert len(atlas.stations) == 1
    assert not atlas.likeness.known.any()
    assert atlas.twins == ()
