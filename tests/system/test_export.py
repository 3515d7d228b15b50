"""`tmapr export` of real runs, as PROJ finds them; and what it refuses. More places: test_track_files.py."""

import csv
import json
import re
import shutil
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pyproj
import pytest

from commandline import command
from geographic import CENTIMETRE, metres_of, points_of
from tmapr.artifacts.run import RunFolder
from tmapr.geodesy import CoordinateFrame
from tmapr.reports.atlas.source import read_map
from tmapr.reports.tracks.export import FORMATS, export_run

SUFFIXES = [suffix for suffix in FORMATS if suffix != ".json"]
GRID = pyproj.Proj("+proj=utm +zone=52 +ellps=WGS84")


@dataclass(frozen=True)
class Made:
    """A run made by the commands, and its map's frame and table of estimates as they lie on disk."""

    folder: RunFolder
    frame: CoordinateFrame
    rows: list[dict[str, str]]

    @property
    def positions(self):
        return np.array([[float(row["x"]), float(row["y"])] for row in self.rows])


def rewrite(path, header, convert):
    """Positions in other coordinates, by PROJ."""
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    cells = [convert(*GRID(float(row["lon"]), float(row["lat"]))) for row in rows]
    lines = [f"{row['stamp']},{row['file']},{cell}\n" for row, cell in zip(rows, cells, strict=True)]
    path.write_text(f"stamp,file,{header}\n{''.join(lines)}")


KINDS = {
    "degrees": None,
    "grid": ("easting,northing,zone", lambda east, north: f"{east!r},{north!r},52N"),
    "indoors": ("x,y", lambda east, north: f"{east - 352000!r},{north - 4026000!r}"),
}


@pytest.fixture(scope="module")
def made(street, tmp_path_factory):
    """The street in coordinates of some kind; images are encoded once for all."""
    runs = {}

    def make(kind):
        if kind in runs:
            return runs[kind]
        home = shutil.copytree(street, tmp_path_factory.mktemp("home") / "street", symlinks=True)
        folder = RunFolder(home / "runs/street")
        if KINDS[kind]:
            for name in ("noon", "night"):
                rewrite(home / "data" / name / "frames.csv", *KINDS[kind])
            for word in ("map", "run"):
                assert command(word, home / "street.toml", "--run", folder.path, "--quiet") == 0
        with folder.estimates("night").open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        runs[kind] = Made(folder, read_map(folder.path).environment.frame, rows)
        return runs[kind]

    return make


@pytest.mark.parametrize("kind", ["degrees", "grid"])
def test_proj_finds_a_run_where_its_estimates_say(made, tmp_path, kind):
    run = made(kind)
    assert run.frame.kind == {"degrees": "enu", "grid": "utm"}[kind]
    localized = np.array([row["status"] == "localized" for row in run.rows])
    assert 5 < localized.sum() < len(localized)
    for suffix, kept in ((".geojson", ...), (".gpx", localized)):
        out = tmp_path / f"night{suffix}"
        assert command("export", run.folder.path, "--out", out, "--quiet") == 0
        found = metres_of(points_of(out), run.frame)
        np.testing.assert_allclose(found, run.positions[kept], atol=CENTIMETRE, rtol=0)


@pytest.mark.parametrize("kind", ["degrees", "grid"])
def test_proj_finds_a_map_where_it_was_recorded(made, street, tmp_path, kind):
    run = made(kind)
    with (street / "data/noon/frames.csv").open(newline="") as lines:
        truth = [[float(row["lon"]), float(row["lat"])] for row in csv.DictReader(lines)]
    for suffix in (".geojson", ".gpx"):
        out = tmp_path / f"map{suffix}"
        assert command("export", run.folder.path, "--map", "--out", out, "--quiet") == 0
        found = metres_of(points_of(out), run.frame)
        np.testing.assert_allclose(found, metres_of(truth, run.frame), atol=CENTIMETRE, rtol=0)


def test_the_estimates_have_longitude_and_latitude(made):
    run = made("degrees")
    told = np.array([[float(row["lon"]), float(row["lat"])] for row in run.rows])
    np.testing.assert_allclose(metres_of(told, run.frame), run.positions, atol=1e-6, rtol=0)


def test_parquet_and_csv_hold_the_estimates_to_the_last_bit_and_tum_is_the_trajectory(made, tmp_path):
    run = made("degrees")
    for suffix in (".csv", ".parquet", ".tum"):
        assert command("export", run.folder.path, "--out", tmp_path / f"night{suffix}", "--quiet") == 0
    with (tmp_path / "night.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines, strict=True))
    table = pq.read_table(tmp_path / "night.parquet").to_pylist()
    for name in ("x", "y", "confidence", "status", "reason", "reference", "stamp_ns"):
        kept = [row[name] for row in run.rows]
        assert [row[name] for row in rows] == kept, name
        assert ["" if row[name] is None else str(row[name]) for row in table] == kept, name
    for name in ("lon", "lat"):
        # Computed from the metres anew: a last bit may differ, which is a nanometre.
        kept = [float(row[name]) for row in run.rows]
        assert [row[name] for row in table] == [float(row[name]) for row in rows] == pytest.approx(kept, abs=1e-13)
    assert (tmp_path / "night.tum").read_bytes() == run.folder.trajectory("night").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_map_that_lies_alone_is_exported_as_in_its_folder(made, tmp_path, suffix):
    run = made("degrees")
    shutil.copy(run.folder.map, tmp_path / "alone.npz")
    for source, name in ((run.folder.path, "a"), (tmp_path / "alone.npz", "b")):
        assert command("export", source, "--map", "--out", tmp_path / f"{name}{suffix}", "--quiet") == 0
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_strict_parsers_read_what_is_exported(made, tmp_path):
    for suffix, parse in ((".json", json.loads), (".gpx", ElementTree.fromstring)):
        parse(export_run(made("degrees").folder, tmp_path / f"out{suffix}").read_text())


@pytest.mark.parametrize("more", [(), ("--map",)])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_local_frame_goes_where_metres_do(made, tmp_path, suffix, more, capsys):
    out = tmp_path / f"here{suffix}"
    metres = suffix in (".csv", ".parquet", ".tum")
    assert command("export", made("indoors").folder.path, "--out", out, *more) == (0 if metres else 2)
    assert out.exists() == metres
    told = capsys.readouterr().err
    assert metres or (".csv" in told and "lon,lat" in told)
    assert told.count("\n") == (0 if metres else 1)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("{run}", "--out", "night.shp"), r"night\.shp.*\.geojson"),
        (("{run}", "--out", "night.kml"), r"night\.kml.*\.geojson.*\.gpx.*\.csv.*\.parquet.*\.tum"),
        (("{run}", "--out", "night"), r"--out night"),
        (("--out", "night.gpx"), r"night\.gpx.*tmapr export RUN"),
        (("{home}/street.toml", "--out", "night.gpx"), r"street\.toml.*\.gpx"),
        (("{run}", "--out", "night.onnx"), r"\.onnx.*experiment\.toml"),
        (("{run}", "--out", "night.gpx", "--int8"), r"--int8"),
        (("{run}", "--out", "night.gpx", "--set", "places.cell=20"), r"--set"),
        (("--out", "night.onnx", "--map"), r"--map"),
        (("{run}", "--out", "night.csv", "--sequence", "dawn"), r"dawn.*night"),
        (("{run}", "--out", "m.csv", "--map", "--sequence", "night"), r"night.*noon"),
        (("{run}/map.npz", "--out", "night.csv"), r"map\.npz.*--map"),
        (("{home}/nowhere", "--out", "night.csv"), r"nowhere"),
        (("{home}/nowhere", "--out", "night.csv", "--map"), r"nowhere"),
        (("{home}/data", "--out", "night.csv"), r"data.*experiment\.toml"),
        (("{run}", "--out", "{run}/estimates/night.csv"), r"night\.csv"),
        (("{run}", "--out", "{run}/errors.json"), r"errors\.json"),
        (("{run}", "--out", "{home}/folder.csv"), r"folder\.csv.*folder"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_a_line(made, tmp_path, monkeypatch, capsys, arguments, named):
    run = made("degrees").folder.path
    home = run.parents[1]
    monkeypatch.chdir(tmp_path)
    (home / "folder.csv").mkdir(exist_ok=True)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    given = [str(argument).format(run=run, home=home) for argument in arguments]
    assert command("export", *given) == 2
    told = capsys.readouterr().err
    assert re.search(named, told), told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_map_without_a_run_has_no_drive(made, tmp_path, capsys):
    source = made("degrees").folder
    (tmp_path / "mapped").mkdir()
    for path in (source.map, source.experiment):
        shutil.copy(path, tmp_path / "mapped")
    assert command("export", tmp_path / "mapped", "--map", "--out", tmp_path / "map.geojson", "--quiet") == 0
    assert command("export", tmp_path / "mapped", "--out", tmp_path / "night.geojson") == 2
    assert "tmapr run" in capsys.readouterr().err
    assert not (tmp_path / "night.geojson").exists()
