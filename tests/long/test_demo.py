"""The demonstration, as somebody has it who installed the wheel: beside what the wheel asks for, and without torch."""

import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

from repository import ROOT

OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def tmapr(installed, *arguments, cwd, **variables):
    program = [installed / "bin/tmapr", *map(str, arguments)]
    return subprocess.run(program, cwd=cwd, env=OUTSIDE | variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def demo(installed, tmp_path_factory):
    """A folder in which the quick demonstration was run, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = tmapr(installed, "demo", "--quick", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel):
    package = ROOT / "src"
    files = {
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == {name for name in files if not name.endswith(".pyc")}
    assert wheel.stat().st_size < 16e6


def test_the_demo_is_better_than_its_pose_head_and_never_wrong_where_it_says_that_it_knows(demo):
    errors = json.loads((demo[0] / "runs/demo/errors.json").read_text())["test"]["night"]
    assert errors["fused"]["rmse"] < errors["apr"]["rmse"]
    assert errors["fused"]["median"] < min(errors["apr"]["median"], errors["retrieval"]["median"])
    assert errors["jumps"]["fused"] < errors["jumps"]["apr"] / 4
    assert errors["decisions"]["wrong"] == errors["decisions"]["off_localized"] == 0
    assert errors["decisions"]["localized"] > 0.8
    assert errors["off_map"]["metres"] > 100


@pytest.mark.xfail(strict=True, reason="81.7 m for 79.2 m: off the map, two fifths of the drive, both guess")
def test_the_demo_is_nearer_than_its_first_candidates_over_the_whole_drive(demo):
    errors = json.loads((demo[0] / "runs/demo/errors.json").read_text())["test"]["night"]
    assert errors["fused"]["rmse"] < errors["retrieval"]["rmse"]


def test_the_demo_says_each_command_what_it_found_and_how_to_look_at_it(demo):
    verbs = re.findall(r"^\$ tmapr (\w+)", demo[1], re.MULTILINE)
    assert verbs == ["simulate", "check", "map", "run", "evaluate", "report"]
    found, spent, look = demo[1].splitlines()[-3:]
    assert re.match(r"On night, it is localized, .* of those on the map\. There the position is off by", found)
    assert re.fullmatch(r"\d+ CPU seconds, \d+ by the clock\.", spent)
    assert look.startswith("Look at it: runs/demo/report/index.html in a browser, or `tmapr report runs/demo --open`;")
    assert "night" in (demo[0] / "runs/demo/report/index.html").read_text()


def test_the_demo_run_again_repeats_nothing_and_gives_the_same_numbers(demo, installed):
    folder, _ = demo
    encoded = (folder / "runs/demo/percepts/night.npz").stat().st_ino
    first = (folder / "runs/demo/estimates/night.csv").read_bytes()
    # A browser that opens nothing, and ends well.
    again = tmapr(installed, "demo", "--quick", "--open", cwd=folder, BROWSER="true")
    assert again.returncode == 0, again.stderr
    assert (folder / "runs/demo/estimates/night.csv").read_bytes() == first
    assert (folder / "runs/demo/percepts/night.npz").stat().st_ino == encoded


@pytest.mark.parametrize(
    "words",
    [
        "demo --train",
        "train runs/demo/demo.toml",
        "compare runs/demo/demo.toml",
        "export",
        "weights train head.safetensors",
        "bench --encoder vit-b14",
        "map runs/demo/demo.toml --run runs/other --set perception.size=[112,112] --set perception.encoder=default",
    ],
)
def test_without_torch_nothing_starts_that_cannot_end(demo, installed, words):
    before = sorted(demo[0].rglob("*"))
    done = tmapr(installed, *words.split(), cwd=demo[0])
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"tmapr: .*pip install 'tmapr\[(train|export)\]'.*\n", done.stderr), done.stderr
    assert sorted(demo[0].rglob("*")) == before


def test_the_demo_that_trains_goes_the_whole_way_and_not_twice(tmp_path):
    program = [sys.executable, "-m", "tmapr", "demo", "--train", "--quick"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    verbs = re.findall(r"^\$ tmapr (\w+)", done.stdout, re.MULTILINE)
    assert verbs == ["simulate", "check", "train", "map", "run", "evaluate", "report"]
    assert "10 epochs" in done.stdout
    again = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "already trained" in again.stdout
