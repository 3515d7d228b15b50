"""Files of tracks as PROJ, pyarrow and strict parsers read them."""

import csv
import io
import json
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geographic import (
    CENTIMETRE,
    PLACES,
    START,
    drive,
    loop,
    metres_of,
    points_of,
    traverse,
)
from tmapr.exceptions import InputError
from tmapr.geodesy import LOCAL_FRAME
from tmapr.reports.tracks.export import FORMATS
from tmapr.reports.tracks.track import spell_name, track_references
from tmapr.retrieval.memory import remember

CAMPUS = PLACES["campus"]
GPX = "{http://www.topografix.com/GPX/1/1}"
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
@pytest.mark.parametrize("suffix", [".geojson", ".gpx"])
def test_proj_finds_every_point_where_it_was(tmp_path, suffix, place, make):
    check_places(points_of(written(tmp_path, suffix, make(PLACES[place]))), PLACES[place])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", [drive, traverse])
def test_a_line_goes_through_all_points_and_the_box_holds_them(place, make):
    document = json.loads(render(".geojson", make(PLACES[place])))
    line, *points = document["features"]
    assert line["geometry"]["type"] == "LineString"
    assert line["geometry"]["coordinates"] == [point["geometry"]["coordinates"] for point in points]
    kinds = {drive: ["drive", "frame"], traverse: ["traverse", "reference"]}[make]
    assert [line["properties"]["kind"], points[0]["properties"]["kind"]] == kinds
    corners = np.array(line["geometry"]["coordinates"])
    assert document["bbox"] == [*corners.min(axis=0), *corners.max(axis=0)]


def test_a_standing_camera_draws_no_line():
    features = json.loads(render(".geojson", drive(CAMPUS, np.zeros((5, 2)))))["features"]
    assert [feature["geometry"]["type"] for feature in features] == ["Point"] * 5


def test_the_points_of_a_route_are_named_by_their_frames():
    names = ElementTree.fromstring(render(".gpx", traverse(CAMPUS))).findall(f".//{GPX}rtept/{GPX}name")
    assert [name.text for name in names] == [str(row) for row in range(len(loop()))]


def test_times_are_told_to_the_nanosecond():
    track = drive(CAMPUS)
    assert track.times[0] == "2023-03-23T12:00:00.123456789Z"
    assert [int(time) for time in np.array([t[:-1] for t in track.times], "datetime64[ns]").astype(int)] == (
        track.stamps.tolist()
    )
    found = ElementTree.fromstring(render(".gpx", track)).findall(f".//{GPX}trkpt/{GPX}time")
    assert [time.text for time in found] == track.times


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
    path = written(tmp_path, ".gpx", track)
    check_places(points_of(path), CAMPUS, loop()[np.array(MIXED) == "localized"])
    segments = ElementTree.parse(path).getroot().findall(f".//{GPX}trkseg")
    assert [len(segment) for segment in segments] == [10, 15]


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


def test_a_hostile_name_stays_text_in_every_format(hostile):
    (track,) = hostile
    assert track.name == spell_name(HOSTILE) != HOSTILE
    assert {row["sequence"] for row in rows_of(render(".csv", track))} == {track.name}
    assert {*pq.read_table(pa.BufferReader(render(".parquet", track)))["sequence"].to_pylist()} == {track.name}
    document = json.loads(render(".geojson", track))
    assert {feature["properties"]["sequence"] for feature in document["features"]} == {track.name}
    assert ElementTree.fromstring(render(".gpx", track)).find(f".//{GPX}name").text == track.name


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
