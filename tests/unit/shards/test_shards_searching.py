"""A search that reads only what it looks at finds what a search through everything finds."""

import numpy as np
import pytest

from sharded import TARGET
from tmapr.exceptions import InputError
from tmapr.shards import load_shards, searching, write_shards
from tmapr.shards.searching import ShardedMemory

# A sum of 32 products of float32 numbers below 1, in any order.
SINGLE = 1e-6


@pytest.fixture
def manifest(environment, store):
    return write_shards(environment, store, target=TARGET)


@pytest.fixture
def memory(manifest, store):
    return ShardedMemory(manifest, store.folder)


@pytest.fixture
def loaded(manifest, store, system):
    return load_shards(manifest, store.folder, system)


@pytest.fixture
def query(rng, environment):
    """Something like a reference, and unlike all of them."""
    given = environment.memory.descriptors[40] + 0.1 * rng.normal(size=environment.memory.descriptors.shape[1])
    return given / np.linalg.norm(given)


@pytest.mark.parametrize("places", [[0], [3, 4, 5], [0, 7, 11], list(range(12)), []])
def test_a_gated_search_finds_what_the_whole_memory_has_there(memory, loaded, query, places):
    found = memory.search(query, np.array(places, dtype=np.int64), 5)
    cosines = loaded.memory.similarities(query, places)
    best = np.argsort(-cosines, kind="stable")[:5]
    np.testing.assert_array_equal(found.rows, loaded.memory.rows_of(places)[best])
    np.testing.assert_allclose(found.similarities, cosines[best], atol=SINGLE)
    np.testing.assert_array_equal(found.places, loaded.memory.places[found.rows])
    np.testing.assert_array_equal(found.positions, loaded.memory.positions[found.rows])


def test_scores_of_some_places_are_those_of_all(memory, loaded, query):
    features = memory.make_projector()(query[None])[0]
    everything = loaded.classifier().ridge.scores(features[None])[0]
    places = np.array([0, 2, 3, 9, len(everything) - 1])
    np.testing.assert_allclose(memory.score(features, places), everything[places], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("radius", [0.0, 10.0, 40.0, 1e4])
def test_the_reach_is_every_place_that_comes_so_near(memory, loaded, radius):
    grid, centre = loaded.classifier().grid, loaded.memory.positions[17]
    corners = grid.origin + grid.cells * grid.cell
    nearest = np.clip(centre, corners, corners + grid.cell)
    wanted = np.flatnonzero(np.hypot(*(nearest - centre).T) <= radius)
    np.testing.assert_array_equal(memory.find_reach(centre, radius), wanted)


def test_where_codes_name_everything_a_global_search_is_exact(memory, loaded, query):
    codes = memory.open_codes()
    found = memory.relocalize(query, codes, 10)
    cosines = loaded.memory.similarities(query)
    best = np.argsort(-cosines, kind="stable")[:10]
    np.testing.assert_allclose(found.similarities, cosines[best], atol=SINGLE)
    np.testing.assert_array_equal(found.rows, best)


def test_codes_name_the_rows_that_differ_in_the_fewest_bits(memory, loaded, query):
    descriptors = loaded.memory.descriptors
    mean = descriptors.mean(axis=0, dtype=float).astype(np.float32)
    bits = descriptors > mean
    apart = (bits != (query.astype(np.float16) > mean)).sum(axis=1)
    for count in (1, 7, 50, len(descriptors)):
        rows = memory.open_codes().nearest(query, count, cores=2)
        assert len(rows) == count
        assert np.all(np.diff(rows) > 0)
        assert apart[rows].max() <= np.sort(apart)[count - 1]


def test_the_number_of_cores_changes_nothing(memory, query):
    codes = memory.open_codes()
    for cores in (1, 3):
        np.testing.assert_array_equal(codes.nearest(query, 20, cores), codes.nearest(query, 20, 2))


def test_codes_of_another_map_are_refused(memory, manifest, store, environment):
    memory.open_codes()
    other = write_shards(environment, store, target=2 * TARGET)
    (path,) = (store.folder / "codes").iterdir()
    path.rename(path.with_name(f"{other.map}.npz"))
    with pytest.raises(InputError, match="are no codes of this map"):
        ShardedMemory(other, store.folder).open_codes()


def test_a_map_of_many_shards_needs_few_open_files(memory, query, monkeypatch, manifest, store, loaded):
    for limit in ("_ROWS_OPEN", "_COLUMNS_OPEN"):
        monkeypatch.setattr(searching, limit, 2)
    few = ShardedMemory(manifest, store.folder)
    places = np.arange(manifest.place_count)
    np.testing.assert_array_equal(few.search(query, places, 9).rows, memory.search(query, places, 9).rows)
