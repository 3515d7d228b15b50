"""M₀ keeps the reference traverse sorted by place, answers with plain cosines and never changes."""

import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from made_up import record_percepts
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.retrieval.memory import Memory, remember
from tmapr.retrieval.search import Retrieval
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, System, make_map

REFS, DIM, PLACES, PROBES = 60, 16, 9, 24
EMPTY_PLACE = 4
# A sum of 16 products of float32 numbers below 1: 16 roundings of 6e-8 at most.
SINGLE = 1e-6


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.fixture
def traverse(rng):
    """A drive in its own order; one place was never entered by a usable frame."""
    places = rng.integers(PLACES - 1, size=REFS)
    places[places == EMPTY_PLACE] = PLACES - 1
    return {
        "descriptors": unit(rng.normal(size=(REFS, DIM))),
        "positions": rng.normal(size=(REFS, 2)),
        "places": places,
        "stamps": 10 * np.arange(REFS),
        "frames": np.sort(rng.choice(10 * REFS, REFS, replace=False)),
    }


@pytest.fixture
def memory(traverse):
    return remember(**traverse, probes=PROBES)


@pytest.fixture
def query(rng):
    return unit(rng.normal(size=DIM))


def test_every_row_leads_back_to_its_frame(memory, traverse):
    original = np.searchsorted(traverse["frames"], memory.frames)
    assert sorted(original) == list(range(REFS))
    assert np.all(np.diff(memory.places) >= 0)
    np.testing.assert_array_equal(memory.positions, traverse["positions"][original])
    np.testing.assert_array_equal(memory.places, traverse["places"][original])
    np.testing.assert_array_equal(memory.stamps, traverse["stamps"][original])
    np.testing.assert_array_equal(memory.descriptors, traverse["descriptors"][original].astype(np.float32))


def test_the_rows_of_a_place_are_contiguous_and_complete(memory):
    for place in range(PLACES):
        np.testing.assert_array_equal(memory.rows_of([place]), np.flatnonzero(memory.places == place))
        assert np.all(np.diff(memory.frames[memory.rows_of([place])]) > 0)


def test_the_rows_of_several_places_follow_the_order_asked_for(memory):
    apart = [memory.rows_of([place]) for place in (7, 0, 3)]
    np.testing.assert_array_equal(memory.rows_of([7, 0, 3]), np.concatenate(apart))


@pytest.mark.parametrize("places", [[], [EMPTY_PLACE], [PLACES], [1000, PLACES + 1]])
def test_places_without_references_have_no_rows(places, memory, query):
    assert len(memory.rows_of(places)) == 0
    assert len(memory.similarities(query, places)) == 0


def test_similarities_are_the_cosines_with_all_references(memory, traverse, query):
    cosines = traverse["descriptors"] @ query
    original = np.searchsorted(traverse["frames"], memory.frames)
    np.testing.assert_allclose(memory.similarities(query), cosines[original], rtol=0, atol=SINGLE)


@pytest.mark.parametrize("places", [[0], [8, 2, 5], [3, EMPTY_PLACE, 1], [2, PLACES, 1]])
def test_similarities_with_some_places_are_those_of_their_rows(places, memory, traverse, query):
    original = np.searchsorted(traverse["frames"], memory.frames[memory.rows_of(places)])
    cosines = traverse["descriptors"][original] @ query
    np.testing.assert_allclose(memory.similarities(query, places), cosines, rtol=0, atol=SINGLE)


def test_the_background_is_the_cosine_with_the_probes(memory, query):
    np.testing.assert_allclose(memory.background(query), memory.similarities(query)[memory.probes], rtol=0, atol=SINGLE)


def test_probes_are_spread_evenly_along_the_drive(memory, traverse):
    order = np.searchsorted(traverse["frames"], memory.frames[memory.probes])
    assert (order[0], order[-1]) == (0, REFS - 1)
    assert set(np.diff(order)) <= {REFS // PROBES, REFS // PROBES + 1}


ARRAYS = ("descriptors", "positions", "places", "frames", "stamps", "sequences", "headings")
ARRAYS += ("order", "offsets", "probes", "probe_descriptors")


@pytest.mark.parametrize("name", ARRAYS)
def test_no_array_can_be_written(name, memory, maps):
    for each in (memory, maps[1].memory):
        with pytest.raises(ValueError, match="read-only"):
            getattr(each, name)[:1] = 0


def test_the_traverse_it_was_made_from_may_change(traverse, query):
    memory = remember(**traverse, probes=PROBES)
    before = memory.similarities(query)
    traverse["descriptors"][:] = 0.0
    np.testing.assert_array_equal(memory.similarities(query), before)


def test_its_arrays_make_it_again(memory, query):
    again = Memory.from_arrays(memory.arrays(), PROBES)
    np.testing.assert_array_equal(again.offsets, memory.offsets)
    np.testing.assert_array_equal(again.probes, memory.probes)
    np.testing.assert_array_equal(again.similarities(query), memory.similarities(query))


def test_a_memory_without_references_answers_nothing(query):
    nothing = np.zeros(0, dtype=np.int64)
    memory = remember(np.zeros((0, DIM)), np.zeros((0, 2)), nothing, nothing, frames=nothing, probes=PROBES)
    assert len(memory) == len(memory.similarities(query)) == len(memory.rows_of([0])) == 0


@pytest.fixture
def both(traverse, rng):
    """Two traverses that share most of their frames' numbers; the second was driven first."""
    split = np.repeat(["there", "back"], [REFS // 2, REFS - REFS // 2])
    frames = np.concatenate([np.arange(REFS // 2), 3 + np.arange(REFS - REFS // 2)])
    stamps = np.where(split == "there", 10**9, 0) + frames
    return remember(**traverse | {"frames": frames, "stamps": stamps}, sequences=split, probes=PROBES)


def test_each_traverse_can_be_gone_along_on_its_own(both):
    drives = both.drives()
    assert [set(both.sequences[rows].tolist()) for rows in drives] == [{"back"}, {"there"}]
    assert all((np.diff(both.frames[rows]) == 1).all() for rows in drives)
    np.testing.assert_array_equal(np.concatenate(drives), both.order)
    assert sorted(both.order) == list(range(REFS))


def test_a_reference_is_found_by_its_frame_and_place_among_those_of_the_same_number(both):
    assert [both.find(int(both.frames[row]), both.positions[row]) for row in range(REFS)] == list(range(REFS))


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """A map as it was made, and as it was read back."""
    rng = np.random.default_rng(3)
    way = drive(block_loop(60.0, 30.0), 8.0, rng)
    reference = record_percepts(DescriptorField.from_seed(3, dimension=DIM), "noon", way, CONDITIONS["noon"], rng)
    places = Places(projection=Projection(dimension=32), mixture=Mixture(dimension=4))
    system = System(places=places, retrieval=Retrieval(probes=PROBES))
    made = make_map(system, reference)
    path = tmp_path_factory.mktemp("run") / "map.npz"
    made.save(path)
    return made, Map.load(path, system)


def test_a_loaded_map_leaves_the_descriptors_on_disk(maps):
    assert isinstance(maps[1].memory.descriptors, np.memmap)


def test_a_loaded_memory_equals_the_one_made(maps):
    made, loaded = (environment.memory.arrays() for environment in maps)
    assert made.keys() == loaded.keys()
    for name in made:
        np.testing.assert_array_equal(loaded[name], made[name])
    assert maps[1].digest == maps[0].digest


def test_only_usable_frames_become_references(maps):
    # The recording's shutter freezes for twenty frames in its middle.
    frames = np.sort(maps[0].memory.frames)
    missing = np.setdiff1d(np.arange(frames[-1] + 1), frames)
    assert len(missing) == 20
    assert np.ptp(missing) == 19
