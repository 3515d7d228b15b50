"""Tracks at places of the Earth, and where PROJ finds what was written of them."""

import json
from xml.etree import ElementTree

import numpy as np
import pyproj

from tmapr.artifacts.trajectory import Column
from tmapr.data.coordinates import tangent_plane, utm_grid
from tmapr.reports.tracks.track import Track
from tmapr.types import NANOSECONDS, Status

START = 1_679_572_800_123_456_789
PLACES = {
    "campus": tangent_plane(127.3653, 36.3721),
    "south": tangent_plane(-70.6, -33.5),
    "greenwich": tangent_plane(0.0001, 51.4779),
    "antimeridian": tangent_plane(179.9999, -16.8),
    "UTM north": utm_grid("52N", 352_900.0, 4_026_400.0),
    "UTM south": utm_grid("19S", 346_000.0, 6_290_000.0),
}
CENTIMETRE = 0.01


def loop(count=40, size=100.0):
    """Once around the origin."""
    angles = np.linspace(0.3, 2 * np.pi + 0.3, count)
    return size * np.column_stack([np.cos(angles), np.sin(angles)])


def known(values):
    return Column(np.asarray(values), np.ones(len(values), dtype=bool))


def drive(frame, positions=None, name="night", statuses=None, stamps=None):
    """A drive all that is known of which is here; its third frame has neither heading nor reference."""
    positions = loop() if positions is None else positions
    count = len(positions)
    statuses = (Status.LOCALIZED.value,) * count if statuses is None else tuple(statuses)
    there = np.arange(count) != 2
    columns = {
        "heading": Column(np.where(there, np.linspace(-3, 3, count), np.nan), there),
        "status": known(statuses),
        "reason": known(["accepted"] * count),
        "confidence": known(np.linspace(0.1, 1 / 3, count)),
        "reference": Column(np.where(there, np.arange(count), np.iinfo(np.int64).min), there),
        "reference_sequence": Column(np.where(there, "noon", ""), there),
    }
    stamps = START + np.arange(count) * (NANOSECONDS // 3) if stamps is None else np.asarray(stamps)
    return Track(name, frame, stamps, positions, frame.to_degrees(positions), statuses, columns)


def traverse(frame, positions=None, name="noon"):
    """A mapped one."""
    positions = loop() if positions is None else positions
    count = len(positions)
    columns = {
        "heading": known(np.linspace(-3, 3, count)),
        "place": known(np.arange(count) // 3),
        "frame": known(np.arange(count)),
    }
    stamps = START + np.arange(count) * NANOSECONDS
    return Track(name, frame, stamps, positions, frame.to_degrees(positions), ("mapped",) * count, columns)


def points_of(path):
    """Longitude and latitude of the points in a GeoJSON or GPX file, in its order."""
    if path.suffix == ".gpx":
        elements = ElementTree.parse(path).getroot().iter()
        return [(float(each.get("lon")), float(each.get("lat"))) for each in elements if each.get("lon")]
    shapes = [feature["geometry"] for feature in json.loads(path.read_text())["features"]]
    return [shape["coordinates"] for shape in shapes if shape["type"] == "Point"]


def metres_of(degrees, frame):
    """What PROJ makes of longitudes and latitudes in a frame."""
    lon, lat = np.asarray(degrees).T
    if frame.kind == "utm":
        number, south = int(frame.zone[:-1]), "+south" if frame.zone[-1] == "S" else ""
        grid = pyproj.Proj(f"+proj=utm +zone={number} {south} +ellps=WGS84")
        return np.column_stack(grid(lon, lat)) - np.array(frame.origin)
    lon_0, lat_0 = frame.origin
    topocentric = pyproj.Transformer.from_pipeline(
        "+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad +step +proj=cart +ellps=WGS84"
        f" +step +proj=topocentric +ellps=WGS84 +lon_0={lon_0} +lat_0={lat_0} +h_0=0"
    )
    return np.column_stack(topocentric.transform(lon, lat, np.zeros(len(lon)))[:2])
