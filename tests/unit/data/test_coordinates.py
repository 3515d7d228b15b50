"""Coordinates against geodesy that is written otherwise, and against PROJ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from read_back import degrees_of
from tmapr.data.coordinates import (
    ENU,
    UTM,
    from_degrees,
    from_utm,
    tangent_plane,
    to_degrees,
    utm_grid,
)
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame

CAMPUS = (127.3653, 36.3721)
HOMES = [CAMPUS, (0.0, 0.0), (-70.6, -33.5), (179.99, 51.9), (18.9, 69.6), (10.0, 89.99), (-100.0, 90.0), (33.0, -90.0)]
FAR = 50_000.0


def topocentric(home):
    """PROJ's way from degrees to East, North and up."""
    return pytest.importorskip("pyproj").Transformer.from_pipeline(
        "+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad +step +proj=cart +ellps=WGS84"
        f" +step +proj=topocentric +ellps=WGS84 +lon_0={home[0]} +lat_0={home[1]} +h_0=0"
    )


def spread(rng):
    return rng.uniform(-FAR, FAR, (200, 2))


@pytest.mark.parametrize("home", HOMES)
def test_degrees_become_the_metres_of_an_independent_formula(rng, home):
    truth = spread(rng)
    lon, lat = degrees_of(truth, home).T
    np.testing.assert_allclose(from_degrees(lon, lat, tangent_plane(*home)), truth, atol=1e-6, rtol=0)


@budget(derandomize=True)
@given(lon=st.floats(-180, 180), lat=st.floats(-90, 90), east=st.floats(-FAR, FAR), north=st.floats(-FAR, FAR))
def test_there_and_back_is_the_identity_everywhere(lon, lat, east, north):
    frame = tangent_plane(lon, lat)
    (found,) = to_degrees(np.array([[east, north]]), frame)
    assert -180 <= found[0] < 180
    np.testing.assert_allclose(from_degrees(found[:1], found[1:], frame), [[east, north]], atol=1e-6, rtol=0)


@pytest.mark.parametrize("home", HOMES)
def test_proj_finds_the_degrees_of_positions_where_they_are(rng, home):
    truth = spread(rng)
    lon, lat = to_degrees(truth, tangent_plane(*home)).T
    east, north, _ = topocentric(home).transform(lon, lat, np.zeros_like(lon))
    np.testing.assert_allclose(np.stack([east, north], axis=1), truth, atol=1e-6, rtol=0)


@pytest.mark.parametrize("home", HOMES)
def test_proj_says_the_same(rng, home):
    lon, lat = degrees_of(spread(rng), home).T
    east, north, _ = topocentric(home).transform(lon, lat, np.zeros_like(lon))
    found = from_degrees(lon, lat, tangent_plane(*home))
    np.testing.assert_allclose(found, np.stack([east, north], axis=1), atol=1e-6, rtol=0)


@pytest.mark.parametrize("zone", ["1N", "31N", "52N", "60N", "1S", "19S", "60S"])
def test_proj_finds_the_degrees_of_a_utm_grid_where_they_are(rng, zone):
    pyproj = pytest.importorskip("pyproj")
    south = zone.endswith("S")
    northing = rng.uniform(1_100_000, 10_000_000, 500) if south else rng.uniform(0, 9_330_000, 500)
    points = np.column_stack([rng.uniform(166_000, 834_000, 500), northing])
    crs = 32_700 + int(zone[:-1]) if south else 32_600 + int(zone[:-1])
    lon, lat = pyproj.Transformer.from_crs(crs, 4326, always_xy=True).transform(*points.T)
    found = to_degrees(points - [500_000.0, 1_000_000.0], utm_grid(zone, 500_000.0, 1_000_000.0))
    _, _, apart = pyproj.Geod(ellps="WGS84").inv(lon, lat, *found.T)
    assert np.max(apart) < 1e-5
    assert (found[:, 0] >= -180).all()
    assert (found[:, 0] < 180).all()


@pytest.mark.parametrize("frame", [tangent_plane(*CAMPUS), utm_grid("52N", 352_900.0, 4_026_400.0)])
def test_a_position_that_is_unknown_or_not_on_earth_has_no_degrees(frame):
    found = to_degrees(np.array([[np.nan, 0.0], [7e6, 0.0], [-1e8, 1e8], [0.0, 0.0]]), frame)
    assert np.isnan(found).all(axis=1).tolist() == [True, True, True, False]
    assert frame.find_lon_lat(np.array([7e6, 0.0])) is None


def test_positions_in_a_local_frame_have_no_degrees():
    assert CoordinateFrame().to_degrees(np.zeros((1, 2))) is None
    with pytest.raises(InputError, match=r"^positions in a local frame have no longitude and latitude$"):
        to_degrees(np.zeros((1, 2)), CoordinateFrame())


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (tangent_plane(*CAMPUS), True),
        (utm_grid("52N", 0.0, 0.0), True),
        (utm_grid("07S", 0.0, 0.0), True),
        (utm_grid("61N", 0.0, 0.0), False),
        (utm_grid("0N", 0.0, 0.0), False),
        (CoordinateFrame(UTM, None, (0.0, 0.0)), False),
        (CoordinateFrame(ENU, None, (10.0,)), False),
        (CoordinateFrame(ENU, None, (10.0, 91.0)), False),
        (CoordinateFrame(ENU, None, (np.nan, 0.0)), False),
        (CoordinateFrame(), False),
    ],
)
def test_only_a_plane_or_a_grid_somewhere_is_on_earth(frame, told):
    assert frame.on_earth == told


def test_utm_loses_the_whole_metres_of_its_origin():
    frame = utm_grid("52N", 346_522.9, 4_023_630.1)
    assert frame == CoordinateFrame(UTM, "52N", (346_522.0, 4_023_630.0))
    found = from_utm(np.array([346_522.9]), np.array([4_023_628.1]), "52N", frame)
    np.testing.assert_allclose(found, [[0.9, -1.9]], atol=1e-9)


@pytest.mark.parametrize("frame", [CoordinateFrame(), utm_grid("52N", 0.0, 0.0)])
def test_degrees_are_refused_in_another_kind_of_frame(frame):
    with pytest.raises(InputError, match="longitude and latitude cannot be placed in"):
        from_degrees(np.zeros(1), np.zeros(1), frame)


@pytest.mark.parametrize("frame", [CoordinateFrame(), tangent_plane(*CAMPUS), utm_grid("51N", 0.0, 0.0)])
def test_utm_is_refused_in_another_kind_of_frame_or_zone(frame):
    with pytest.raises(InputError, match="UTM 52N coordinates cannot be placed in"):
        from_utm(np.zeros(1), np.zeros(1), "52N", frame)
