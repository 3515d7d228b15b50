"""A stranger with a folder of images and a bag: a map, a run, a page, a film and a GeoJSON.

By at most six commands without the edit of a file, and by a program of at most 15 lines; from the wheel, in a folder
with nothing else in it.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys

import cv2
import pytest

import tmapr
from bags import GPS, THERMAL, fix, image, written

COMMANDS = {
    "the bag is named first": """
        tmapr init noon night.mcap --name street
        tmapr map street.toml
        tmapr run street.toml
        tmapr report runs/street
        tmapr film runs/street
        tmapr export runs/street --out night.geojson
        """,
    "the bag comes later": """
        tmapr init noon
        tmapr map noon.toml
        tmapr run runs/noon --source night.mcap
        tmapr report runs/night
        tmapr film runs/night
        tmapr export runs/night --out night.geojson
        """,
}
PROGRAM = """
import tmapr

localizer = tmapr.make_map("noon", "runs/street")
for frame in tmapr.open_sequence("night.mcap"):
    estimate = localizer.step(frame)
    print(estimate.status, estimate.position, estimate.lon_lat, estimate.covariance)
run = tmapr.run("runs/street", "night.mcap", "runs/night")
print(run.evaluate().test["night"].fused.median, run.describe())
print(run.report(), run.film(), run.export("night.geojson"))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """What the stranger has: images with a list of where they were taken, and a bag with images and fixes."""
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copytree(tmapr.locate_sample() / "noon", folder / "noon")
    night = tmapr.locate_sample() / "night"
    entries = []
    with (night / "frames.csv").open() as table:
        for row in csv.DictReader(table):
            stamp, counts = int(row["stamp"]), cv2.imread(str(night / row["file"]), cv2.IMREAD_UNCHANGED)
            entries.append((THERMAL, stamp, image(counts, "mono8")))
            entries.append((GPS, stamp, fix(float(row["lon"]), float(row["lat"]))))
    bag = written(folder / "bag", "mcap", entries)
    shutil.copy(next(bag.glob("*.mcap")), folder / "night.mcap")
    shutil.rmtree(bag)
    return folder


@pytest.fixture
def desk(recorded, tmp_path):
    """A folder of the stranger's own with the recordings."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    return tmp_path


def read_positions(file):
    shown = json.loads(file.read_text())["features"]
    return [feature["geometry"]["coordinates"] for feature in shown if feature["geometry"]["type"] == "Point"]


def assert_whole(desk, run):
    """The five things that the stranger came for."""
    assert (run / "map.npz").exists()
    assert (run / "estimates/night.csv").exists()
    assert "<svg" in (run / "report/index.html").read_text()
    assert (run / "report/night.webm").read_bytes()[:4] == b"\x1a\x45\xdf\xa3"
    assert len(read_positions(desk / "night.geojson")) == len(tmapr.open_sequence(desk / "night.mcap"))


def run(program, desk):
    """As in a shell of the stranger's, which knows nothing of our source tree."""
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(program, cwd=desk, env=outside, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("script", COMMANDS.values(), ids=COMMANDS)
def test_six_commands_lead_from_recordings_to_all_that_is_made_of_them(script, desk, installed):
    lines = [line.split() for line in script.strip().splitlines()]
    assert len(lines) <= 6
    for _, *words in lines:
        done = run([installed / "bin/tmapr", *words], desk)
        assert done.returncode == 0, (words, done.stderr)
    assert_whole(desk, desk / re.search("report (.*)", script)[1])


def test_a_program_of_fifteen_lines_does_the_same_and_goes_through_twice(desk, installed):
    (desk / "program.py").write_text(PROGRAM)
    assert len(PROGRAM.strip().splitlines()) <= 15
    told = []
    for _ in range(2):
        done = run([installed / "bin/python", "program.py"], desk)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    assert told[0] == told[1]
    assert told[0].count("localized") > 20
    assert_whole(desk, desk / "runs/night")


def check_types(program, desk, installed):
    (desk / "program.py").write_text(program)
    (desk / "mypy.ini").write_text("[mypy]\n")  # not ours, which an enclosing folder might have
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed / "bin/python"]
    return run([*mypy, "program.py"], desk)


def test_the_program_passes_strict_type_checks_against_the_wheel(desk, installed):
    checked = check_types(PROGRAM, desk, installed)
    assert checked.returncode == 0, checked.stdout
    wrong = check_types(PROGRAM.replace('"night.mcap", "runs/night")', '"night.mcap", 7)'), desk, installed)
    assert "arg-type" in wrong.stdout, "types that anything fits would pass everything"
