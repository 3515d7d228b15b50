"""A robot in a map of which only the region around it is open, against the whole map and against the truth."""

from dataclasses import replace

import numpy as np
import pytest

from made_up import record_percepts
from sharded import TARGET
from tmapr.exceptions import InputError
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.shards import load_shards, write_shards
from tmapr.shards.regions import open_region
from tmapr.shards.roaming import Roamer, choose_centre
from tmapr.shards.searching import Matches, ShardedMemory
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.store import FolderStore
from tmapr.system import System, build, make_map
from tmapr.types import Fault, Status

REACH = 120.0


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """A block of 1.2 km in shards, and another drive around it."""
    mixture = Mixture(dimension=8)
    system = System(places=Places(cell=15.0, projection=Projection(dimension=128), mixture=mixture))
    world, corners = DescriptorField.from_seed(5, dimension=64), block_loop(400.0, 200.0)

    def record(seed, condition):
        rng = np.random.default_rng(seed)
        return record_percepts(world, f"{condition}-{seed}", drive(corners, 8.0, rng), CONDITIONS[condition], rng)

    folder = tmp_path_factory.mktemp("town")
    manifest = write_shards(make_map(system, record(1, "noon")), FolderStore(folder), target=TARGET)
    return system, manifest, folder, record(2, "noon")


@pytest.fixture(scope="module")
def memory(town):
    _, manifest, folder, _ = town
    return ShardedMemory(manifest, folder)


def test_a_region_scores_its_places_as_the_whole_map_does(town, memory):
    system, manifest, folder, drive = town
    whole = load_shards(manifest, folder, system).classifier()
    region = open_region(memory, system, drive.truth[100], REACH)
    assert 5 < len(region.places) < len(whole.grid) / 2
    seen = drive.percepts[100].descriptor
    ours, theirs = region.map.classifier().predict(seen), whole.predict(seen)
    np.testing.assert_allclose(ours.scores, theirs.scores[region.places], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.log_likelihoods, theirs.log_likelihoods[region.places], rtol=1e-12)
    assert ours.leverage == pytest.approx(theirs.leverage, rel=1e-12)


def test_a_region_has_the_references_within_its_radius_and_no_others(town, memory):
    system, manifest, folder, drive = town
    whole, centre = load_shards(manifest, folder, system).memory, drive.truth[100]
    region = open_region(memory, system, centre, REACH)
    held = np.isin(whole.places, region.places)
    np.testing.assert_array_equal(region.map.memory.descriptors, whole.descriptors[held])
    np.testing.assert_array_equal(region.map.memory.frames, whole.frames[held])
    near = np.hypot(*(whole.positions - centre).T) <= REACH
    assert held[near].all()
    assert np.hypot(*(whole.positions[held] - centre).T).max() < REACH + 15.0 * np.sqrt(2.0) + 1e-9


def test_where_the_map_is_not_there_is_no_region(town, memory):
    with pytest.raises(InputError, match="no reference is within 120 m"):
        open_region(memory, town[0], np.array([1e5, 1e5]), REACH)


def test_a_drive_is_localized_region_by_region_as_in_the_whole_map(town, memory):
    system, manifest, folder, drive = town
    roamer, regions = Roamer(memory, system, reach=REACH), []
    whole, errors, apart = build(system, load_shards(manifest, folder, system)), [], []
    for percept, truth in zip(drive.percepts[::3], drive.truth[::3], strict=True):
        ours, theirs = roamer.observe(percept), whole.observe(percept)
        if not regions or regions[-1] is not roamer.region:
            regions.append(roamer.region)
        if ours.status is Status.LOCALIZED:
            errors.append(np.hypot(*(ours.position - truth)))
            if theirs.status is Status.LOCALIZED:
                apart.append(np.hypot(*(ours.position - theirs.position)))
    assert len({id(region) for region in regions}) > 6
    assert len(errors) > 0.8 * len(drive.percepts[::3])
    assert np.median(errors) < 2.0
    assert max(errors) < 15.0
    assert np.median(apart) < 1.0


def test_told_where_it_is_it_asks_no_codes(town, memory):
    system, _, _, drive = town
    roamer = Roamer(memory, system, reach=REACH)
    first = drive.percepts[200]
    roamer.start_at(first.stamp - 10**8, drive.truth[200], 5.0)
    np.testing.assert_array_equal(roamer.region.centre, drive.truth[200])
    assert np.hypot(*(roamer.observe(first).position - drive.truth[200])) < 10.0


def test_a_frame_that_cannot_be_used_chooses_no_region(town, memory):
    system, _, _, drive = town
    roamer, seen = Roamer(memory, system, reach=REACH), drive.percepts[50]
    broken = replace(seen, stamp=seen.stamp - 10**8, descriptor=np.zeros_like(seen.descriptor), fault=Fault.FROZEN)
    assert roamer.observe(broken).status is not Status.LOCALIZED
    assert roamer.region is None
    roamer.observe(seen)
    assert np.hypot(*(roamer.region.centre - drive.truth[50])) < REACH


def test_the_region_is_that_of_most_matches_and_not_of_the_best_twin():
    positions = np.array([[900.0, 0.0], [0.0, 0.0], [10.0, 0.0], [20.0, 0.0]])
    found = Matches(np.arange(4), np.array([0.9, 0.8, 0.8, 0.8]), np.arange(4), positions)
    assert choose_centre(found, REACH)[0] < 100.0
