"""Lines are cut at the antimeridian and boxes are drawn around poles as RFC 7946 asks, with PROJ's geodesics beside."""

from itertools import pairwise

import numpy as np
import pyproj
import pytest

from geographic import PLACES, loop
from tmapr.reports.tracks.lines import Box, bound, cut_line, round_degrees

GEOD = pyproj.Geod(ellps="WGS84")
CROSSING = ["antimeridian", "UTM at the antimeridian", "across the pole", "at the south pole"]
WHOLE = sorted(set(PLACES) - set(CROSSING))


def degrees_at(place):
    return PLACES[place].to_degrees(loop())


@pytest.mark.parametrize("place", WHOLE)
def test_a_line_that_crosses_nothing_stays_whole(place):
    (line,) = cut_line(degrees_at(place))
    np.testing.assert_allclose(line, degrees_at(place), atol=1e-9)


@pytest.mark.parametrize("place", CROSSING)
def test_no_part_of_a_line_crosses_the_antimeridian_and_none_of_it_is_lost(place):
    parts = cut_line(degrees_at(place))
    assert len(parts) > 1
    assert all(np.abs(np.diff(part[:, 0])).max() <= 180 for part in parts)
    inner = np.concatenate([part[np.abs(part[:, 0]) < 180] for part in parts])
    np.testing.assert_array_equal(inner, round_degrees(degrees_at(place)))


@pytest.mark.parametrize("place", CROSSING)
def test_parts_meet_at_the_antimeridian_from_both_sides(place):
    parts = cut_line(degrees_at(place))
    for before, after in pairwise(parts):
        assert before[-1, 0] == -after[0, 0]
        assert abs(before[-1, 0]) == 180
        assert before[-1, 1] == after[0, 1]
        assert np.sign(before[-1, 0]) == np.sign(before[-2, 0])


@pytest.mark.parametrize("place", CROSSING)
def test_a_line_meets_the_antimeridian_on_the_shortest_way(place):
    parts = cut_line(degrees_at(place))
    for before, after in pairwise(parts):
        (lon, lat), cut, (to_lon, to_lat) = before[-2], before[-1], after[1]
        _, _, whole = GEOD.inv(lon, lat, to_lon, to_lat)
        _, _, (first, second) = GEOD.inv([lon, cut[0]], [lat, cut[1]], [cut[0], to_lon], [cut[1], to_lat])
        assert first + second == pytest.approx(whole, abs=1e-3)


def test_a_standing_camera_draws_no_line():
    assert cut_line(np.tile([10.0, 50.0], (5, 1))) == []
    assert cut_line(np.array([[10.0, 50.0]])) == []


@pytest.mark.parametrize("last", [180 - 1e-12, -180.0])
def test_a_line_that_ends_on_the_antimeridian_ends_there_once(last):
    (line,) = cut_line(np.array([[179.9, 10.0], [last, 10.0]]))
    np.testing.assert_array_equal(line, [[179.9, 10.0], [180.0, 10.0]])


def test_longitudes_stay_below_180_when_they_are_rounded():
    np.testing.assert_array_equal(round_degrees(np.array([[180 - 1e-12, 1e-12]])), [[-180.0, 0.0]])


@pytest.mark.parametrize("place", WHOLE)
def test_a_box_elsewhere_holds_the_extremes(place):
    degrees = degrees_at(place)
    (west, south), (east, north) = degrees.min(axis=0), degrees.max(axis=0)
    assert bound(degrees) == Box(west, south, east, north)


@pytest.mark.parametrize("place", CROSSING[:2])
def test_a_box_over_the_antimeridian_begins_in_the_east(place):
    degrees, box = degrees_at(place), bound(degrees_at(place))
    assert box.west == degrees[degrees[:, 0] > 0, 0].min()
    assert box.east == degrees[degrees[:, 0] < 0, 0].max()
    assert box.west > box.east


@pytest.mark.parametrize(
    ("place", "south", "north"), [("across the pole", None, 90.0), ("at the south pole", -90.0, None)]
)
def test_a_box_around_a_pole_reaches_it_and_goes_all_around(place, south, north):
    lat = degrees_at(place)[:, 1]
    wanted = Box(-180.0, lat.min() if south is None else south, 180.0, lat.max() if north is None else north)
    assert bound(degrees_at(place)) == wanted


def test_a_straight_way_over_the_pole_is_around_it():
    way = np.column_stack([np.zeros(5), np.linspace(-44.2, 155.8, 5)])
    assert bound(PLACES["across the pole"].to_degrees(way)).north == 90.0


def test_a_box_beside_the_pole_does_not_reach_it():
    assert bound(PLACES["near the pole"].to_degrees(loop())).north < 90.0


def test_the_box_of_a_point_is_the_point():
    assert bound(np.array([[-180.0, 3.0]])) == Box(-180.0, 3.0, -180.0, 3.0)
