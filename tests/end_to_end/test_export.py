"""`tmapr export` of real runs at difficult places, as GDAL and PROJ find them; and what it refuses."""

import csv
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely

from commandline import command
from geographic import CENTIMETRE, lines_of, metres_of, points_of, read_back
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.run import RunFolder
from tmapr.geodesy import CoordinateFrame
from tmapr.reports.atlas.source import read_map
from tmapr.reports.tracks.export import FORMATS, export_run

FRAMES, RADIUS, STRANGE = 36, 60.0, range(15, 21)
ORIGINS = {
    "campus": (127.3653, 36.3721),
    "antimeridian": (179.9999, -16.8),
    "near the pole": (12.0, 89.99),
    "across the pole": (-100.0, 89.9998),
}
GRIDS = {"UTM north": ("52N", 352_900.5, 4_026_400.5), "UTM south": ("19S", 346_000.5, 6_290_000.5)}
EXPERIMENT = '[data]\nlayout = "folder"\nroot = "{}"\nreference = "noon"\ntest = ["night"]\n'
SUFFIXES = [suffix for suffix in FORMATS if suffix != ".json"]


@dataclass(frozen=True)
class Made:
    """A run made by the commands, and its map's frame and table of estimates as they lie on disk."""

    folder: RunFolder
    frame: CoordinateFrame
    rows: list[dict[str, str]]

    @property
    def positions(self):
        return np.array([[float(row["x"]), float(row["y"])] for row in self.rows])


def columns_at(place):
    """Where each frame of a loop was taken, by PROJ: the header and the cells of the positions."""
    angles = np.linspace(0.0, 1.9 * np.pi, FRAMES)
    if place in GRIDS:
        zone, easting, northing = GRIDS[place]
        points = np.array([easting, northing]) + RADIUS * np.column_stack([np.sin(angles), np.cos(angles)])
        return "easting,northing,zone", [f"{east!r},{north!r},{zone}" for east, north in points.tolist()]
    if place not in ORIGINS:
        points = RADIUS * np.column_stack([np.sin(angles), np.cos(angles)])
        return "x,y", [f"{x!r},{y!r}" for x, y in points.tolist()]
    lon, lat = (np.full(FRAMES, degrees) for degrees in ORIGINS[place])
    lon, lat, _ = pyproj.Geod(ellps="WGS84").fwd(lon, lat, np.degrees(angles), np.full(FRAMES, RADIUS))
    return "lon,lat", [f"{each!r},{other!r}" for each, other in zip(lon.tolist(), lat.tolist(), strict=True)]


def take(name, row):
    """Counts of a patterned wall, another one in each row; at night with noise, and a while of another world."""
    rng = np.random.default_rng(row if name == "noon" or row not in STRANGE else 1000 + row)
    wall = cv2.resize(rng.uniform(size=(9, 12)), (160, 120), interpolation=cv2.INTER_CUBIC)
    noise = np.random.default_rng(5000 + row).normal(size=wall.shape) * (0.02 if name == "night" else 0.0)
    return (21_000 + 1_500 * (wall + noise)).astype(np.uint16)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """The images of both drives, taken once for all places."""
    root = tmp_path_factory.mktemp("images")
    for name in ("noon", "night"):
        for row in range(FRAMES):
            write_frame(root / name / f"{row:06d}.png", take(name, row))
    return root


def list_frames(root, place):
    header, cells = columns_at(place)
    for hour, name in enumerate(("noon", "night")):
        start = 1_679_572_800_123_456_789 + hour * 43_200 * 10**9
        rows = [f"{start + row * 10**9},{row:06d}.png,{cell}\n" for row, cell in enumerate(cells)]
        (root / name / "frames.csv").write_text(f"stamp,file,{header}\n{''.join(rows)}")


@pytest.fixture(scope="module")
def made(images, tmp_path_factory):
    """A run at a place, made by the commands; images are encoded for the first one alone."""
    runs = {}

    def make(place):
        if place in runs:
            return runs[place]
        home = tmp_path_factory.mktemp("home")
        shutil.copytree(images, home / "data")
        list_frames(home / "data", place)
        (home / "experiment.toml").write_text(EXPERIMENT.format(home / "data"))
        folder = RunFolder(home / "run")
        for first in list(runs.values())[:1]:
            shutil.copytree(first.folder.path / "percepts", home / "run/percepts")
        assert command("map", home / "experiment.toml", "--run", folder.path, "--quiet") == 0
        assert command("run", home / "experiment.toml", "--run", folder.path, "--quiet") == 0
        with folder.estimates("night").open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        runs[place] = Made(folder, read_map(folder.path).environment.frame, rows)
        return runs[place]

    return make


@pytest.mark.parametrize("place", [*ORIGINS, *GRIDS])
def test_gdal_and_proj_find_a_run_where_its_estimates_say(made, tmp_path, place):
    run = made(place)
    localized = np.array([row["status"] == "localized" for row in run.rows])
    assert 5 < localized.sum() < FRAMES
    for suffix, layer, kept in ((".geojson", None, ...), (".kml", None, ...), (".gpx", "track_points", localized)):
        out = tmp_path / f"night{suffix}"
        assert command("export", run.folder.path, "--out", out, "--quiet") == 0
        shapes, _ = read_back(out, layer)
        found = metres_of(points_of(shapes), run.frame)
        np.testing.assert_allclose(found, run.positions[kept], atol=CENTIMETRE, rtol=0)


@pytest.mark.parametrize("place", [*ORIGINS, *GRIDS])
def test_gdal_and_proj_find_a_map_where_it_was_recorded(made, tmp_path, place):
    run, (header, cells) = made(place), columns_at(place)
    truth = np.array([[float(number) for number in cell.split(",")[:2]] for cell in cells])
    truth = truth - run.frame.origin if header.startswith("easting") else metres_of(truth, run.frame)
    for suffix, layer in ((".geojson", None), (".kml", None), (".gpx", "route_points")):
        out = tmp_path / f"map{suffix}"
        assert command("export", run.folder.path, "--map", "--out", out, "--quiet") == 0
        found = metres_of(points_of(read_back(out, layer)[0]), run.frame)
        np.testing.assert_allclose(found, truth, atol=CENTIMETRE, rtol=0)


def test_lines_over_the_antimeridian_are_cut_there(made, tmp_path):
    for suffix in (".geojson", ".kml"):
        export_run(made("antimeridian").folder, tmp_path / f"night{suffix}")
        parts = lines_of(read_back(tmp_path / f"night{suffix}")[0])
        assert all(np.ptp(shapely.get_coordinates(part)[:, 0]) < 1 for part in parts)
        assert {np.sign(part.coords[0][0]) for part in parts} == {-1, 1}


def test_the_estimates_have_longitude_and_latitude(made):
    run = made("across the pole")
    told = np.array([[float(row["lon"]), float(row["lat"])] for row in run.rows])
    np.testing.assert_allclose(metres_of(told, run.frame), run.positions, atol=1e-6, rtol=0)
    assert np.ptp(told[:, 0]) > 180


def test_parquet_and_csv_hold_the_estimates_to_the_last_bit(made, tmp_path):
    run = made("campus")
    for suffix in (".csv", ".parquet"):
        assert command("export", run.folder.path, "--out", tmp_path / f"night{suffix}", "--quiet") == 0
    with (tmp_path / "night.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines, strict=True))
    table = pq.read_table(tmp_path / "night.parquet").to_pylist()
    for name in ("x", "y", "lon", "lat", "confidence", "status", "reason", "reference", "stamp_ns"):
        kept = [row[name] for row in run.rows]
        assert [row[name] for row in rows] == kept, name
        assert ["" if row[name] is None else str(row[name]) for row in table] == kept, name


def test_tum_is_the_trajectory_of_the_run(made, tmp_path):
    run = made("campus")
    assert command("export", run.folder.path, "--out", tmp_path / "night.tum", "--quiet") == 0
    assert (tmp_path / "night.tum").read_bytes() == run.folder.trajectory("night").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_map_that_lies_alone_is_exported_as_in_its_folder(made, tmp_path, suffix):
    run = made("campus")
    shutil.copy(run.folder.map, tmp_path / "alone.npz")
    for source, name in ((run.folder.path, "a"), (tmp_path / "alone.npz", "b")):
        assert command("export", source, "--map", "--out", tmp_path / f"{name}{suffix}", "--quiet") == 0
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_strict_parsers_read_what_is_exported(made, tmp_path):
    for suffix, parse in ((".json", json.loads), (".gpx", ElementTree.fromstring), (".kml", ElementTree.fromstring)):
        parse(export_run(made("across the pole").folder, tmp_path / f"out{suffix}").read_text())


def test_the_size_of_the_file_is_told(made, tmp_path, capsys):
    assert command("export", made("campus").folder.path, "--out", tmp_path / "night.csv") == 0
    assert re.fullmatch(rf"{re.escape(str(tmp_path / 'night.csv'))}: \d+\.\d kB\n", capsys.readouterr().out)


LOCAL = "needs longitude and latitude, and the positions of .* are in a local frame; map a recording with lon,lat or"


@pytest.mark.parametrize("more", [(), ("--map",)])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_local_frame_goes_where_metres_do(made, tmp_path, suffix, more, capsys):
    out = tmp_path / f"here{suffix}"
    metres = suffix in (".csv", ".parquet", ".tum")
    assert command("export", made("indoors").folder.path, "--out", out, *more) == (0 if metres else 2)
    assert out.exists() == metres
    told = capsys.readouterr().err
    assert re.search(f"{LOCAL}.* or write one of .csv, .parquet, .tum$", told) is not None or metres
    assert told.count("\n") == (0 if metres else 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{run}", "--out", "night.shp"), r"--out night\.shp: ends in no suffix .*\.geojson, .*\.onnx$"),
        (("{run}", "--out", "night"), r"--out night: ends in no suffix"),
        (("--out", "night.gpx"), r"--out night\.gpx: is made from a run; name its folder: tmapr export RUN --out"),
        (("{home}/experiment.toml", "--out", "night.gpx"), r"experiment\.toml: is an experiment, and \.gpx is"),
        (("{run}", "--out", "night.onnx"), r"run: is a folder, and \.onnx is made from .*; name .*/experiment\.toml$"),
        (("{run}", "--out", "night.gpx", "--int8"), r"--out night\.gpx: --int8 and --set are for \.onnx files$"),
        (("{run}", "--out", "night.gpx", "--set", "places.cell=20"), r"--int8 and --set are for \.onnx files$"),
        (("--out", "night.onnx", "--map"), r"--out night\.onnx: .* --sequence and --map are for runs$"),
        (("{run}", "--out", "night.csv", "--sequence", "dawn"), r"dawn: was not localized .*; there are night$"),
        (("{run}", "--out", "m.csv", "--map", "--sequence", "night"), r"night: was not mapped; there are noon$"),
        (("{run}/map.npz", "--out", "night.csv"), r"map\.npz: is a file; name the run folder, or give --map"),
        (("{home}/nowhere", "--out", "night.csv"), r"nowhere: no such run folder"),
        (("{home}/nowhere", "--out", "night.csv", "--map"), r"nowhere: no such run folder or map"),
        (("{home}/data", "--out", "night.csv"), r"data: holds no experiment\.toml; is it a run folder"),
        (("{run}", "--out", "{run}/estimates/night.csv"), r"night\.csv: is where the run keeps its own files"),
        (("{run}", "--out", "{run}/errors.json"), r"errors\.json: is where the run keeps its own files"),
        (("{run}", "--out", "{home}/folder.csv"), r"folder\.csv: is a folder; name the file to write$"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_refused_in_a_line(made, tmp_path, monkeypatch, capsys, arguments, message):
    run = made("campus").folder.path
    monkeypatch.chdir(tmp_path)
    (run.parent / "folder.csv").mkdir(exist_ok=True)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    given = [str(argument).format(run=run, home=run.parent) for argument in arguments]
    assert command("export", *given) == 2
    told = capsys.readouterr().err
    assert re.search(message, told.strip()), told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_map_without_a_run_has_no_drive(made, tmp_path, capsys):
    source = made("campus").folder
    (tmp_path / "mapped").mkdir()
    for path in (source.map, source.experiment):
        shutil.copy(path, tmp_path / "mapped")
    assert command("export", tmp_path / "mapped", "--map", "--out", tmp_path / "map.geojson", "--quiet") == 0
    assert command("export", tmp_path / "mapped", "--out", tmp_path / "night.geojson") == 2
    assert "holds no finished run; make one with `tmapr run EXPERIMENT`" in capsys.readouterr().err
    assert not Path(tmp_path / "night.geojson").exists()
