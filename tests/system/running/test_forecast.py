"""What `check` says beforehand is what `map` and `run` then do: counts, refusals and their words."""

import re
import shutil

import numpy as np
import pytest

from commandline import command
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import load
from walked import COUNT, view, write_list, write_walk


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(capsys):
    """Runs a command; its exit code, its output and its complaint."""

    def run(*arguments):
        code = command(*arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def spoil(home, name):
    """A recording with one of everything: an empty file, a black, a saturated, a frozen image, two lost positions."""
    folder = home / "data" / name
    (folder / "03.png").write_bytes(b"")
    write_frame(folder / "05.png", np.zeros((64, 80), np.uint16))
    write_frame(folder / "06.png", np.full((64, 80), 65535, np.uint16))
    shutil.copyfile(folder / "08.png", folder / "09.png")
    lines = (folder / "frames.csv").read_text().splitlines()
    for row in (5, 12):
        lines[1 + row] = re.sub(r",[^,]+,[^,]+$", ",,", lines[1 + row])
    (folder / "frames.csv").write_text("\n".join(lines) + "\n")


def numbers(text):
    return [int(found) for found in re.findall(r"\d+", text)]


def line_of(printed, name, sequence):
    part = printed.partition(f"{sequence} (")[2]
    return re.search(rf"^  {name} +(.*)$", part, re.MULTILINE)[1]


def test_as_many_frames_become_references_and_are_passed_over_as_was_said(home, said):
    for name in ("noon", "night"):
        spoil(home, name)
    code, printed, _ = said("check", "walk.toml", "--run", "run")
    assert code == 0
    assert numbers(line_of(printed, "map", "noon"))[:2] == [11, COUNT]
    assert "4 whose image cannot be used" in line_of(printed, "map", "noon")
    assert "3 without a position" not in printed
    assert said("map", "walk.toml", "--run", "run")[0] == 0
    assert said("run", "walk.toml", "--run", "run")[0] == 0
    assert len(load("run").memory) == 11
    faults = [percept.fault for percept in Recording.load(RunFolder(home / "run").percepts("night")).percepts]
    found = {fault: faults.count(fault) for fault in set(faults) if fault}
    assert found == {"empty": 1, "saturated": 1, "frozen": 1, "invalid": 1}
    told = line_of(printed, "run", "night")
    assert told.startswith(f"{COUNT} frames are answered, 4 of them passed over as faults (")
    assert sorted(re.search(r"\((.*)\)", told)[1].split(", ")) == ["1 empty", "1 frozen", "1 saturated", "1 unreadable"]
    assert line_of(printed, "evaluate", "night").startswith(f"14 of {COUNT} frames")


def test_what_is_kept_and_what_will_be_encoded_is_what_map_encodes(home, said):
    assert "nothing of it in run; 16 images will be encoded" in said("check", "walk.toml", "--run", "run")[1]
    said("map", "walk.toml", "--run", "run")
    write_frame(home / "data/noon/07.png", view(7, seed=42))
    code, printed, _ = said("check", "walk.toml", "--run", "run")
    assert (code, line_of(printed, "kept", "noon")) == (0, "14 of 16 images are encoded in run; 2 will be encoded")
    assert "2 of 16 images are encoded again" in said("map", "walk.toml", "--run", "run")[2]
    printed = said("check", "walk.toml", "--run", "run")[1]
    assert line_of(printed, "kept", "noon") == "16 of 16 images are encoded in run"
    assert "map: run/map.npz: 16 references in" in printed


def test_a_recording_that_is_not_here_is_forecast_from_what_is_kept_of_it(home, said):
    for verb in ("map", "run"):
        assert said(verb, "walk.toml", "--run", "run")[0] == 0
    shutil.rmtree(home / "data/night")
    code, printed, _ = said("check", "walk.toml", "--run", "run")
    assert code == 0
    told = "night: is not in"
    assert told in line_of(printed, "kept", "night")
    assert line_of(printed, "run", "night") == f"{COUNT} frames are answered"
    code, _, complaint = said("run", "walk.toml", "--run", "run")
    assert (code, told in complaint) == (0, True)


def place_on_earth(home, name):
    rows = [f"{10**18 + row * 10**8},{row:02}.png,127.{row:05},36.3" for row in range(COUNT)]
    (home / f"data/{name}/frames.csv").write_text("\n".join(["stamp,file,lon,lat", *rows]) + "\n")


def test_positions_of_another_kind_are_refused_in_the_words_of_run(home, said):
    place_on_earth(home, "noon")
    checked = said("check", "walk.toml", "--run", "run", "--quiet")
    assert said("map", "walk.toml", "--run", "run", "--quiet")[0] == 0
    assert said("run", "walk.toml", "--run", "run", "--quiet") == checked
    assert (checked[0], checked[2].count("\n")) == (2, 1)
    assert "night/frames.csv: has positions as x,y" in checked[2]


@pytest.mark.parametrize("listed", [True, False])
def test_a_drive_without_positions_fits_every_map(home, said, listed):
    place_on_earth(home, "noon")
    rows = [f"{10**18 + row * 10**8},{row:02}.png" for row in range(COUNT)]
    (home / "data/night/frames.csv").write_text("\n".join(["stamp,file", *rows]) + "\n")
    if not listed:
        (home / "data/night/frames.csv").unlink()
    code, printed, _ = said("check", "walk.toml", "--run", "run")
    assert code == 0
    assert "not evaluated" in line_of(printed, "evaluate", "night")
    for verb in ("map", "run"):
        assert said(verb, "walk.toml", "--run", "run")[0] == 0
    code, _, complaint = said("evaluate", "run")
    assert (code, "night: no frame has a true position" in complaint) == (2, True)
    assert said("report", "run")[0] == 0


STOPS = {
    "no position": lambda home: write_unplaced(home, "noon"),
    "no image": lambda home: [write_frame(file, np.zeros((64, 80), np.uint16)) for file in pictures(home, "noon")],
    "no file": lambda home: [file.write_bytes(b"") for file in pictures(home, "noon")],
    "small images": lambda home: write_frame(home / "data/noon/07.png", view(7)[:20, :20].copy()),
    "no encoder": lambda home: (home / "walk.toml").write_text(
        (home / "walk.toml").read_text() + 'perception = { encoder = "weights/none.onnx" }\n'
    ),
}


def pictures(home, name):
    return sorted((home / "data" / name).glob("*.png"))


def write_unplaced(home, name):
    rows = [f"{10**18 + row * 10**8},{row:02}.png" for row in range(COUNT)]
    (home / "data" / name / "frames.csv").write_text("\n".join(["stamp,file", *rows]) + "\n")


@pytest.mark.parametrize("spoiled", STOPS.values(), ids=STOPS)
def test_what_stops_map_stops_check_in_the_same_words(home, said, spoiled):
    spoiled(home)
    code, _, complaint = said("check", "walk.toml", "--run", "run", "--quiet")
    refused = said("map", "walk.toml", "--run", "run", "--quiet")
    assert (code, refused[0]) == (2, 2)
    assert refused[2].removeprefix("tmapr: ").partition(" (")[0].rstrip("\n") in complaint


def test_older_stamps_are_foretold_and_move_nothing(home, said):
    write_list(home / "data/night", [*range(8), 3, 4, *range(8, COUNT)])
    code, printed, _ = said("check", "walk.toml", "--run", "run")
    assert code == 0
    assert "2 with an older or repeated stamp move nothing" in line_of(printed, "run", "night")
    for verb in ("map", "run"):
        assert said(verb, "walk.toml", "--run", "run")[0] == 0
    table = (home / "run/estimates/night.csv").read_text()
    assert table.count("older") + table.count("repeated") == 2
