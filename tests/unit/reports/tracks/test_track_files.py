"""Files of tracks as GDAL, PROJ, pyarrow and strict parsers read them."""

import csv
import io
import json
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from geographic import (
    CENTIMETRE,
    PLACES,
    START,
    drive,
    layers_of,
    lines_of,
    loop,
    metres_of,
    points_of,
    read_back,
    traverse,
)
from tmapr.exceptions import InputError
from tmapr.geodesy import LOCAL_FRAME
from tmapr.reports.tracks.export import FORMATS
from tmapr.reports.tracks.track import spell_name, track_references
from tmapr.retrieval.memory import remember

CAMPUS = PLACES["campus"]
GPX, KML = "{http://www.topografix.com/GPX/1/1}", "{http://www.opengis.net/kml/2.2}"
HOSTILE = "<b>&amp;\"'\x00\x1b]]>\ud800\ufffe=cmd(),\n\u2028 Straße"
MIXED = ["localized"] * 10 + ["lost"] * 5 + ["localized"] * 15 + ["predicting"] * 10


def render(suffix, *tracks):
    return b"".join(FORMATS[suffix].render(list(tracks)))


def written(tmp_path, suffix, *tracks):
    path = tmp_path / f"track{suffix}"
    path.write_bytes(render(suffix, *tracks))
    return path


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True))


def check_places(points, frame, truth=None):
    np.testing.assert_allclose(metres_of(points, frame), loop() if truth is None else truth, atol=CENTIMETRE, rtol=0)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", [drive, traverse])
def test_gdal_and_proj_find_geojson_where_it_was(tmp_path, place, make):
    shapes, fields = read_back(written(tmp_path, ".geojson", make(PLACES[place])))
    check_places(points_of(shapes), PLACES[place])
    ends = shapely.get_coordinates(lines_of(shapes))
    check_places(ends[np.abs(ends[:, 0]) < 180], PLACES[place])
    kinds = {drive: ["drive", "frame"], traverse: ["traverse", "reference"]}[make]
    assert fields["kind"].tolist() == [kinds[0]] + [kinds[1]] * len(loop())


@pytest.mark.parametrize("place", PLACES)
def test_gdal_and_proj_find_gpx_where_it_was(tmp_path, place):
    path = written(tmp_path, ".gpx", drive(PLACES[place]))
    shapes, _ = read_back(path, "track_points")
    check_places(points_of(shapes), PLACES[place])
    ends = shapely.get_coordinates(lines_of(read_back(path, "tracks")[0]))
    check_places(ends, PLACES[place])


@pytest.mark.parametrize("place", PLACES)
def test_gdal_and_proj_find_the_route_of_a_map_where_it_was(tmp_path, place):
    shapes, fields = read_back(written(tmp_path, ".gpx", traverse(PLACES[place])), "route_points")
    check_places(points_of(shapes), PLACES[place])
    assert fields["name"].tolist() == [str(row) for row in range(len(loop()))]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", [drive, traverse])
def test_gdal_and_proj_find_kml_where_it_was(tmp_path, place, make):
    path = written(tmp_path, ".kml", make(PLACES[place]))
    assert layers_of(path) == [make(CAMPUS).name]
    shapes, _ = read_back(path)
    check_places(points_of(shapes), PLACES[place])
    ends = shapely.get_coordinates(lines_of(shapes))
    check_places(ends[np.abs(ends[:, 0]) < 180], PLACES[place])


def test_times_are_read_back_to_the_nanosecond_as_text_and_to_the_millisecond_by_gdal(tmp_path):
    track = drive(CAMPUS)
    assert track.times[0] == "2023-03-23T12:00:00.123456789Z"
    assert [int(time) for time in np.array([t[:-1] for t in track.times], "datetime64[ns]").astype(int)] == (
        track.stamps.tolist()
    )
    gpx = read_back(written(tmp_path, ".gpx", track), "track_points")[1]["time"]
    kml = read_back(written(tmp_path, ".kml", track))[1]["timestamp"]
    for found in (gpx[0], kml[-len(track.stamps)]):
        assert str(found).replace("/", "-").replace(" ", "T").startswith("2023-03-23T12:00:00.123")


def test_what_is_known_of_a_frame_is_in_its_point():
    document = json.loads(render(".geojson", drive(CAMPUS)))
    line, *points = document["features"]
    assert (document["type"], line["geometry"]["type"]) == ("FeatureCollection", "LineString")
    assert line["properties"]["axes"] == {"kind": "enu", "zone": None, "origin": list(CAMPUS.origin)}
    assert points[0]["properties"] == {
        "kind": "frame",
        "time": "2023-03-23T12:00:00.123456789Z",
        "stamp_ns": START,
        "sequence": "night",
        "x": loop()[0, 0],
        "y": loop()[0, 1],
        "heading": -3.0,
        "status": "localized",
        "reason": "accepted",
        "confidence": 0.1,
        "reference": 0,
        "reference_sequence": "noon",
    }
    third = points[2]["properties"]
    assert [third[name] for name in ("heading", "reference", "reference_sequence")] == [None] * 3


def test_a_position_that_is_not_on_earth_has_no_geometry_and_no_line_goes_there():
    positions = loop()
    positions[7] = [7e6, 0.0]
    line, *points = json.loads(render(".geojson", drive(CAMPUS, positions)))["features"]
    assert [row for row, point in enumerate(points) if point["geometry"] is None] == [7]
    assert len(line["geometry"]["coordinates"]) == len(loop()) - 1
    assert len(ElementTree.fromstring(render(".gpx", drive(CAMPUS, positions))).findall(f".//{GPX}trkpt")) == 39
    assert rows_of(render(".csv", drive(CAMPUS, positions)))[7]["lon"] == ""


def test_a_gpx_track_has_the_localized_frames_and_a_segment_for_each_stretch_of_them(tmp_path):
    track = drive(CAMPUS, statuses=MIXED)
    shapes, fields = read_back(written(tmp_path, ".gpx", track), "track_points")
    meant = np.array(MIXED) == "localized"
    check_places(points_of(shapes), CAMPUS, loop()[meant])
    assert fields["track_seg_id"].tolist() == [0] * 10 + [1] * 15


def test_a_late_frame_has_a_point_and_no_part_in_a_line():
    stamps = START + np.arange(40) * 10**9
    stamps[5] = stamps[3]
    track = drive(CAMPUS, stamps=stamps)
    line, *points = json.loads(render(".geojson", track))["features"]
    assert (len(line["geometry"]["coordinates"]), len(points)) == (39, 40)
    assert render(".tum", track).count(b"\n") == 39
    assert render(".gpx", track).count(b"<trkpt") == 39


@pytest.mark.parametrize("make", [drive, traverse])
@pytest.mark.parametrize("frame", [CAMPUS, PLACES["UTM south"], LOCAL_FRAME], ids=["plane", "grid", "local"])
def test_parquet_holds_what_csv_holds_to_the_last_bit(make, frame):
    tracks = [make(frame), make(frame, loop() * np.pi, name="dusk")]
    table = pq.read_table(pa.BufferReader(render(".parquet", *tracks)))
    rows = rows_of(render(".csv", *tracks))
    assert table.schema.names == list(rows[0])
    assert table.schema.field("time").type == pa.timestamp("ns", "UTC")
    texts = {"sequence", "status", "reason", "reference_sequence"} & set(rows[0])
    assert {field.name for field in table.schema if pa.types.is_dictionary(field.type)} == texts
    for name in table.schema.names:
        kind, cells = table.schema.field(name).type, [row[name] for row in rows]
        if name == "time":
            found = [f"{time}Z" for time in table[name].to_numpy().astype("datetime64[ns]").astype(str).tolist()]
        elif kind == pa.float64():
            found = ["" if value is None else repr(value) for value in table[name].to_pylist()]
        else:
            found = ["" if value is None else str(value) for value in table[name].to_pylist()]
        assert found == cells, name


@pytest.fixture
def hostile():
    """A map, as somebody may hand it over, of a traverse with an impossible name."""
    looks = np.eye(2)[np.arange(40) % 2]
    stamps = START + np.arange(40)
    names = np.full(40, HOSTILE)
    memory = remember(looks, loop(), np.arange(40) // 3, stamps, frames=np.arange(40), sequences=names, probes=8)
    return track_references(memory, CAMPUS)


def test_a_hostile_name_stays_text_in_every_format(tmp_path, hostile):
    (track,) = hostile
    assert track.name == spell_name(HOSTILE) != HOSTILE
    assert {row["sequence"] for row in rows_of(render(".csv", track))} == {track.name}
    assert {*pq.read_table(pa.BufferReader(render(".parquet", track)))["sequence"].to_pylist()} == {track.name}
    document = json.loads(render(".geojson", track))
    assert {feature["properties"]["sequence"] for feature in document["features"]} == {track.name}
    assert ElementTree.fromstring(render(".gpx", track)).find(f".//{GPX}name").text == track.name
    assert ElementTree.fromstring(render(".kml", track)).find(f".//{KML}Folder/{KML}name").text == track.name
    assert {*read_back(written(tmp_path, ".geojson", track))[1]["sequence"]} == {track.name}


@pytest.mark.parametrize(
    ("suffix", "tracks", "named"),
    [
        (".gpx", [drive(CAMPUS, statuses=["lost"] * 40)], r"night.*\.geojson"),
        (".tum", [traverse(LOCAL_FRAME), traverse(LOCAL_FRAME, name="dusk")], "TUM.*--sequence"),
    ],
)
def test_a_track_of_nothing_and_two_in_a_file_for_one_are_refused_with_a_way_out(suffix, tracks, named):
    with pytest.raises(InputError, match=named):
        render(suffix, *tracks)
