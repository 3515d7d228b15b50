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


@pytest.mark.parametrize("place", WHOLE)
def test_a_box_elsewhere_holds_the_extremes(place):
    degrees = degrees_at(place)
    (west, south), (east, north) = degrees.min(axis=0), degrees.max(axis=0)
    assert bound(degrees) == Box(west, south, east, north)
