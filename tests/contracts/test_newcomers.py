"""What newcomers stumbled over, as they meet it: one line that says what, where and the way out, and nothing half-done.

What a program is told by `step` is in test_program.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tmapr
from commandline import command
from tmapr.artifacts.images import write_frame
from walked import COUNT, write_walk

PACKAGE = Path(tmapr.__file__).parent
PROGRAM = "from tmapr.cli.main import run; run()"
WITHOUT_TORCH = f"import sys; sys.modules['torch'] = None; {PROGRAM}"


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(capsys):
    """Runs a command that must be refused; its one line."""

    def run(*arguments):
        assert command(*arguments) == 2
        said = capsys.readouterr().err
        assert said.startswith("tmapr: ")
        assert said.count("\n") == 1
        return said.removeprefix("tmapr: ").rstrip("\n")

    return run


def process(folder, *arguments, program=PROGRAM, site=PACKAGE.parent, prefix=(), **variables):
    return subprocess.run(
        [*prefix, sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "HOME": "/nonexistent"} | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_user_without_a_home_and_with_a_package_that_is_read_only_maps_and_writes_nothing_elsewhere(abroad, service):
    write_walk(abroad / "work")
    for path in (abroad / "work", *(abroad / "work").rglob("*")):
        path.chmod(0o777)
    done = process(abroad / "work", "check", "walk.toml", **service)
    assert (done.returncode, done.stderr) == (0, "")
    done = process(abroad / "work", "map", "walk.toml", "--run", "run", **service)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"run/map.npz: {COUNT} references in" in done.stdout
    assert not list((abroad / "site").rglob("__pycache__"))


def test_a_folder_that_may_not_be_written_is_named(abroad, service):
    write_walk(abroad / "work")
    (abroad / "work/locked").mkdir()
    for path in (abroad / "work", *(abroad / "work").rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = process(abroad / "work", "map", "walk.toml", "--run", "locked/run", **service)
    for path in (abroad / "work", *(abroad / "work").rglob("*")):
        path.chmod(0o777)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Permission denied" in done.stderr
    assert "locked" in done.stderr


def place_on_earth(home, name):
    rows = [f"{10**18 + row * 10**8},{row:02}.png,127.{row:05},36.3" for row in range(COUNT)]
    (home / f"data/{name}/frames.csv").write_text("\n".join(["stamp,file,lon,lat", *rows]) + "\n")


def test_metres_in_a_map_of_degrees_are_refused_by_check_and_run_alike(home, refused):
    place_on_earth(home, "noon")
    checked = refused("check", "walk.toml", "--quiet")
    assert command("map", "walk.toml", "--quiet") == 0
    assert refused("run", "walk.toml", "--quiet") == checked
    assert "night/frames.csv: has positions as x,y" in checked
    assert "give lon,lat here, or map with x,y" in checked


def test_degrees_in_a_map_of_metres_are_refused_by_check_and_run_alike(home, refused):
    place_on_earth(home, "night")
    checked = refused("check", "walk.toml", "--quiet")
    assert command("map", "walk.toml", "--quiet") == 0
    assert refused("run", "walk.toml", "--quiet") == checked
    assert "night/frames.csv: has positions as longitude and latitude" in checked


def test_a_demo_that_would_train_without_torch_says_so_before_anything_is_rendered(tmp_path):
    done = process(tmp_path, "demo", "--train", program=WITHOUT_TORCH)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tmapr: this needs torch; run: pip install 'tmapr[train]'\n"
    assert not list(tmp_path.iterdir())


def test_a_training_without_torch_says_so_before_anything_is_encoded(home):
    done = process(home, "train", "walk.toml", "--run", "run", program=WITHOUT_TORCH)
    assert (done.returncode, done.stderr) == (2, "tmapr: this needs torch; run: pip install 'tmapr[train]'\n")
    assert not (home / "run").exists()


@pytest.mark.parametrize("verb", ["check", "map"])
def test_a_root_that_is_not_there_is_named_with_the_path_that_was_looked_for(home, refused, verb):
    (home / "walk.toml").write_text('name = "walk"\ndata = { root = "elsewhere", reference = "noon" }\n')
    said = refused(verb, "walk.toml")
    assert f"{home}/elsewhere/noon" in said
    assert "data.root" in said
    assert not (home / "runs/walk").exists()


EXPERIMENTS = {
    "not there": (None, "no such experiment file; `tmapr init RECORDING` writes one"),
    "a folder": (Path.mkdir, "is a folder; name the experiment's TOML file"),
    "a fifo": (os.mkfifo, "is no"),
    "not UTF-8": (lambda path: path.write_bytes(b"\xff\xfe"), "is not UTF-8 text"),
    "not TOML": (lambda path: path.write_text("data = {"), "is not TOML"),
    "misspelt": (lambda path: path.write_text('naem = "x"'), "naem: unknown setting; did you mean 'name'?"),
    "nested": (lambda path: path.write_text(f"a = {'[' * 3000}{']' * 3000}"), "walk2.toml: "),
    "not a name": (lambda path: path.write_text('name = "a/b"'), "name: "),
}


@pytest.mark.parametrize(("write", "said"), EXPERIMENTS.values(), ids=EXPERIMENTS)
@pytest.mark.parametrize("verb", ["check", "map", "run"])
def test_an_experiment_that_cannot_be_read_is_named_with_what_is_wrong(home, refused, verb, write, said):
    if write:
        write(home / "walk2.toml")
    told = refused(verb, "walk2.toml")
    assert told.startswith("walk2.toml: ")
    assert said in told


FOLDERS = {
    "none": (lambda home: None, "there"),
    "empty": (lambda home: (home / "there").mkdir(), "there/frames.csv: no such file; it must list stamp,file"),
    "60 000 columns": (
        lambda home: write_csv(home, ",".join(["stamp", "file", *(f"c{n}" for n in range(60_000))])),
        "there/frames.csv",
    ),
    "a list of nothing": (lambda home: write_csv(home, "stamp,file"), "there/frames.csv: lists no frame"),
    "an image that is gone": (
        lambda home: write_csv(home, "stamp,file\n0,a.png"),
        "there/frames.csv, line 2: there is no image 'a.png' beside the file",
    ),
    "a fifo": (lambda home: ((home / "there").mkdir(), os.mkfifo(home / "there/frames.csv")), "there/frames.csv: "),
}


def write_csv(home, text):
    (home / "there").mkdir()
    (home / "there/frames.csv").write_text(text + "\n")


@pytest.mark.parametrize(("make", "said"), FOLDERS.values(), ids=FOLDERS)
def test_a_folder_that_is_no_recording_says_what_it_lacks(home, refused, make, said):
    make(home)
    assert said in refused("check", "there")


def test_one_unreadable_image_stops_neither_check_nor_map_and_all_of_them_stop_both(home, refused):
    (home / "data/noon/03.png").write_bytes(b"\x89PNG")
    assert command("check", "walk.toml", "--quiet") == 0
    assert command("map", "walk.toml", "--quiet") == 0
    for row in range(COUNT):
        (home / f"data/noon/{row:02}.png").write_bytes(b"")
    said = refused("check", "walk.toml", "--quiet")
    assert said == refused("map", "walk.toml", "--quiet")
    assert said.startswith(f"{home}/data/noon/00.png: is empty")


def test_a_run_before_its_map_says_which_command_comes_first(home, refused):
    assert refused("run", "walk.toml") == "runs/walk/map.npz: no such file; make it with `tmapr map EXPERIMENT`"


@pytest.mark.parametrize("verb", ["evaluate", "report", "show", "film"])
def test_a_run_folder_that_is_not_there_says_which_command_makes_it(home, refused, verb):
    said = refused(verb, "runs/walk")
    assert said.startswith("runs/walk: no such run folder")
    assert "make one with `tmapr " in said


def test_images_too_small_for_the_encoder_are_refused_with_the_setting(home, refused):
    write_frame(home / "data/noon/00.png", np.arange(400, dtype=np.uint16).reshape(20, 20))
    for verb in ("check", "map"):
        said = refused(verb, "walk.toml", "--quiet")
        assert "an image of 20x20 less a crop of [0, 0, 0, 0] leaves 20x20 pixels" in said
        assert "crop less (perception.image.crop), or give larger images" in said
