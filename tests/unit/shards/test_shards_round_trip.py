"""A map that went through shards is the map, but for the rounding of its descriptors."""

import numpy as np
import pytest

from sharded import TARGET
from tmapr.exceptions import InputError
from tmapr.shards import load_shards, pull, write_shards
from tmapr.store import FolderStore
from tmapr.system import Map, System


@pytest.fixture
def manifest(environment, store):
    return write_shards(environment, store, target=TARGET)


@pytest.fixture
def loaded(manifest, store, system):
    return load_shards(manifest, store.folder, system)


def test_every_array_is_what_it_was_but_for_the_rounding(environment, loaded):
    wanted = environment.contents()
    rounded = wanted.pop("memory.descriptors").astype(np.float16).astype(np.float32)
    found = loaded.contents()
    np.testing.assert_array_equal(found.pop("memory.descriptors"), rounded)
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
        assert found[name].dtype.kind == array.dtype.kind


def test_what_is_said_of_a_map_is_kept(environment, loaded):
    assert loaded.frame == environment.frame
    assert loaded.places == environment.places
    assert loaded.origin == environment.origin
    assert dict(loaded.made_from) == dict(environment.made_from)


def test_keypoints_are_those_of_each_reference(environment, loaded):
    for row in range(len(environment.memory)):
        np.testing.assert_array_equal(loaded.memory.keypoints[row].points, environment.memory.keypoints[row].points)
        np.testing.assert_array_equal(
            loaded.memory.keypoints[row].descriptors, environment.memory.keypoints[row].descriptors
        )


def test_descriptors_stay_on_disk_and_cannot_be_changed(loaded):
    assert isinstance(loaded.memory.descriptors, np.memmap)
    assert not loaded.memory.descriptors.flags.writeable


def test_a_map_has_several_shards_of_whole_consecutive_places(environment, manifest):
    assert len(manifest.shards) > 3
    places = environment.memory.places
    for shard in manifest.shards:
        some = (places >= shard.first_place) & (places <= shard.last_place)
        assert some.sum() == shard.references
        west, south, east, north = shard.box
        inside = environment.memory.positions[some]
        assert ((inside >= (west, south)) & (inside <= (east, north))).all()


def test_written_twice_all_bytes_are_the_same(environment, manifest, store, tmp_path):
    other = FolderStore(tmp_path / "other")
    assert write_shards(environment, other, target=TARGET) == manifest
    names = [path.relative_to(store.folder) for path in store.folder.rglob("*") if path.is_file()]
    assert sorted(names) == sorted(path.relative_to(other.folder) for path in other.folder.rglob("*") if path.is_file())
    assert all((store.folder / name).read_bytes() == (other.folder / name).read_bytes() for name in names)


def test_what_was_rounded_is_not_rounded_again(loaded, manifest, store):
    assert write_shards(loaded, store, target=TARGET) == manifest


def test_the_rounded_map_is_another_one_to_states(environment, loaded, manifest):
    assert loaded.digest == manifest.map != environment.digest


def test_keypoints_are_no_part_of_what_names_a_map(environment, manifest, store):
    from dataclasses import replace

    bare = write_shards(replace(environment, memory=replace(environment.memory, keypoints=None)), store, target=TARGET)
    assert bare.map == manifest.map
    assert bare.name != manifest.name


def test_a_loaded_map_saves_as_the_embedded_one(loaded, system, tmp_path):
    loaded.save(tmp_path / "map.npz")
    again = Map.load(tmp_path / "map.npz", system)
    assert again.digest == loaded.digest
    for name, array in loaded.contents().items():
        np.testing.assert_array_equal(again.contents()[name], array)


def test_a_map_of_other_places_is_refused(manifest, store):
    with pytest.raises(InputError, match="was mapped with places"):
        load_shards(manifest, store.folder, System())


def test_a_map_of_other_traverses_is_refused(manifest, store, system):
    with pytest.raises(InputError, match="was mapped from noon-1, noon-22"):
        load_shards(manifest, store.folder, system, ("dusk",))


def test_a_pulled_map_is_the_same(environment, manifest, store, system, tmp_path):
    assert pull(store, manifest.name, tmp_path / "home") == manifest
    found = load_shards(manifest, tmp_path / "home", system).contents()
    for name, array in load_shards(manifest, store.folder, system).contents().items():
        np.testing.assert_array_equal(found[name], array)
