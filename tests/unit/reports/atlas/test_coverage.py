"""Spacing, gaps, places and frames that were left out, against what was laid out."""

import numpy as np
import pytest

from surveyed import record, straight, survey, write_run
from tmapr.artifacts.run import RunFolder
from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.source import read_map
from tmapr.reports.atlas.stations import lay_stations


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What is compiled is loaded before a test is timed."""
    survey(record("noon", straight(20.0), straight(20.0)[:, 0]))


def without(positions, low, high):
    return positions[(positions[:, 0] <= low) | (positions[:, 0] >= high)]


def surveyed_with_gap():
    positions = without(straight(200.0), 50.0, 100.0)
    return survey(record("noon", positions, positions[:, 0]))


def test_spacing_is_that_of_the_steps():
    positions = straight(100.0, 2.0)
    coverage = survey(record("noon", positions, positions[:, 0])).coverage
    assert (coverage.median, coverage.p95, coverage.longest) == pytest.approx((2.0, 2.0, 2.0))
    assert (coverage.driven, coverage.distinct) == pytest.approx((98.0, 98.0))
    assert coverage.gaps == ()


def test_a_gap_is_named_by_the_references_around_it():
    atlas = surveyed_with_gap()
    (gap,) = atlas.coverage.gaps
    assert gap.metres == pytest.approx(50.0)
    assert atlas.memory.positions[[gap.start, gap.stop], 0].tolist() == [50.0, 100.0]
    assert atlas.coverage.driven == pytest.approx(198.0 - 50.0)
    assert np.unique(atlas.stations.runs).tolist() == [0, 1]


def test_a_gap_that_another_traverse_fills_is_none():
    whole = straight(160.0)
    holed = without(whole, 60.0, 100.0)
    beside = record("dusk", straight(160.0, at=(0.0, 2.0)), whole[:, 0], start=2 * 10**18)
    atlas = survey(record("noon", holed, holed[:, 0]), beside)
    assert atlas.coverage.gaps == ()


@pytest.mark.parametrize(("metres", "gaps"), [(19.0, 0), (21.0, 1)])
def test_a_step_is_a_gap_where_its_middle_is_farther_from_references_than_an_estimate_may_be(metres, gaps):
    positions = np.vstack([straight(100.0), straight(100.0, at=(98.0 + metres, 0.0))])
    assert len(survey(record("noon", positions, positions[:, 0])).coverage.gaps) == gaps


def test_a_camera_that_stood_left_one_station(rng):
    moving = straight(100.0)
    stood = np.repeat(moving[20:21], 60, axis=0) + 0.03 * rng.normal(size=(60, 2))
    positions = np.vstack([moving[:21], stood, moving[21:]])
    atlas = survey(record("noon", positions, positions[:, 0]))
    assert len(atlas.stations) == len(lay_stations(survey(record("noon", moving, moving[:, 0])).memory))
    assert atlas.coverage.standing == pytest.approx(60, abs=2)
    assert atlas.coverage.driven < 120.0


def test_references_are_counted_by_place():
    atlas = survey(record("noon", straight(100.0), straight(100.0)[:, 0]))
    _, counts = np.unique(atlas.memory.places, return_counts=True)
    found = atlas.places
    assert (found.places, found.most, found.lonely) == (len(counts), counts.max(), (counts == 1).sum())
    assert found.median == np.median(counts)
    assert found.cell == atlas.grid.cell


def damaged(count=50):
    positions = straight(2.0 * count)
    truth = positions.copy()
    truth[7] = np.nan
    faults = [""] * count
    faults[20], faults[21] = "frozen", "empty"
    return record("noon", truth, positions[:, 0], faults=faults)


def test_frames_that_are_no_references_are_told_with_their_reasons(tmp_path):
    folder = write_run(RunFolder(tmp_path / "run"), damaged())
    found = Atlas.of(read_map(folder.path)).left_out
    assert {(each.reason, each.frames) for each in found} == {
        ("no position", (7,)),
        ("frozen", (20,)),
        ("empty", (21,)),
    }


def test_without_percepts_the_missing_numbers_are_told():
    (found,) = survey(damaged()).left_out
    assert (found.count, found.frames) == (3, (7, 20, 21))
    assert "no position, or no usable image" in found.reason
