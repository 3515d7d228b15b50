"""`tmapr simulate` as a user gives it: data sets that `tmapr check` accepts, refusals of one line."""

import numpy as np
import pytest

from commandline import command
from tmapr.artifacts.images import read_image
from tmapr.data.opening import open_sequence
from tmapr.experiment import read_experiment

SMALL = ("--family", "campus", "--seed", "2", "--length", "160", "--frames", "12")
NAMES = "reference:noon,dusk,night"


def content(folder):
    """Every file but the experiment, which names the folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "experiment.toml")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module", params=["ms2", "sthereo", "folder"])
def layout(request):
    return request.param


@pytest.fixture(scope="module")
def out(layout, tmp_path_factory):
    """A data set in each layout."""
    folder = tmp_path_factory.mktemp("simulated") / layout
    assert command("simulate", folder, "--layout", layout, "--traverses", NAMES, *SMALL, "--quiet") == 0
    return folder


def test_check_finds_nothing_that_stops_a_run(out, capsys):
    assert command("check", out / "experiment.toml", "--all") == 0
    assert "nothing that stops a run" in capsys.readouterr().out


def test_the_experiment_maps_the_first_and_localizes_the_last(out, layout):
    data = read_experiment(out / "experiment.toml").data
    eye = "" if layout == "folder" else "/left"
    assert data.layout == layout
    assert data.reference == f"reference{eye}"
    assert data.adapt == (f"dusk{eye}",)
    assert data.test == (f"night{eye}",)


def test_the_experiment_trains_on_all_cameras_of_what_it_does_not_test(out, layout):
    eyes = [""] if layout == "folder" else ["/left", "/right"]
    expected = tuple(f"{name}{eye}" for name in ("reference", "dusk") for eye in eyes)
    assert read_experiment(out / "experiment.toml").data.train == expected


def test_all_traverses_go_around_the_same_world(out, layout):
    eye = "" if layout == "folder" else "/left"
    first = open_sequence(layout, out, f"reference{eye}")
    other = open_sequence(layout, out, f"night{eye}", first.frame)
    starts = [next(iter(sequence)).position for sequence in (first, other)]
    # Both start in the middle of the same corridor.
    assert 0.01 < np.hypot(*(starts[1] - starts[0])) < 1.0


def test_running_it_again_changes_no_file(out, layout):
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert command("simulate", out, "--layout", layout, "--traverses", NAMES, *SMALL, "--quiet") == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_other_settings_are_refused_by_name(out, layout, capsys):
    assert command("simulate", out, "--layout", layout, "--traverses", NAMES, *SMALL, "--aliasing", "0.7") == 2
    assert "plan.aliasing = 0.3 (now 0.7); remove it, or choose another folder" in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["ms2"], indirect=True)
def test_the_same_seed_gives_the_same_bytes(out, layout, tmp_path):
    assert command("simulate", tmp_path / "again", "--layout", layout, "--traverses", NAMES, *SMALL, "--quiet") == 0
    assert content(tmp_path / "again") == content(out)


def test_the_next_commands_are_printed(tmp_path, capsys):
    command("simulate", tmp_path / "a b", "--layout", "folder", "--traverses", "noon,night", *SMALL)
    said = capsys.readouterr().out
    for verb in ("check", "map", "run"):
        assert f"  tmapr {verb} '{tmp_path / 'a b' / 'experiment.toml'}'\n" in said


def test_an_experiment_that_is_there_stays(tmp_path):
    arguments = ("simulate", tmp_path / "out", "--layout", "folder", "--traverses", "noon", *SMALL, "--quiet")
    assert command(*arguments) == 0
    (tmp_path / "out/experiment.toml").write_text("name = 'mine'\n")
    assert command(*arguments) == 0
    assert (tmp_path / "out/experiment.toml").read_text() == "name = 'mine'\n"


def test_the_traverse_of_the_detour_goes_another_way(tmp_path):
    names = ("--traverses", "noon,night", "--detour", "night")
    assert command("simulate", tmp_path / "out", "--layout", "folder", *names, *SMALL, "--quiet") == 0
    noon, night = (open_sequence("folder", tmp_path / "out", name) for name in ("noon", "night"))
    mapped = np.array([frame.position for frame in noon])
    away = [np.hypot(*(mapped - frame.position).T).min() for frame in night]
    # Frames of the mapped traverse are 13 m apart, the detour's corridor as far from them.
    assert max(away) > 8


def test_images_are_fourteen_bits_of_a_camera(out):
    image = read_image(sorted(out.rglob("*.png"))[0])
    assert image.shape == (256, 320)
    assert image.dtype == np.uint16
    assert image.max() < 2**14


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--layout", "kitti"), "--layout kitti: input should be 'ms2', 'sthereo' or 'folder'"),
        (("--layout", "ms2", "--family", "moon"), "--family moon: input should be 'campus', 'city' or 'valley'"),
        (("--layout", "ms2", "--frames", "0"), "frames is 0; it must be 2 to 100000"),
        (("--layout", "ms2", "--seed", "-1"), "--seed -1: input should be greater than or equal to 0"),
        (("--layout", "ms2", "--aliasing", "2"), "--aliasing 2.0: input should be less than or equal to 1"),
        (("--layout", "ms2", "--length", "0"), "--length 0.0: input should be greater than or equal to 80"),
        (("--layout", "ms2", "--traverses", "fog"), "weather 'fog' is not known; choose one of noon"),
        (("--layout", "ms2", "--traverses", ""), "'' names no traverse; write NAME or NAME:WEATHER"),
        (("--layout", "ms2", "--traverses", "a:"), "'a:' names no traverse"),
        (("--layout", "ms2", "--traverses", "noon,noon"), "'noon' is there twice"),
        (("--layout", "ms2", "--traverses", "a/b:noon"), "'a/b': a name has letters"),
        (("--layout", "ms2", "--detour", "dawn"), "--detour dawn: is no traverse; there are noon, dusk"),
        (
            ("--layout", "ms2", "--style", "2", "--frames", "5000"),
            "5000 frames in style 2 are 14575 m of route, more than 10000; ask for fewer frames, or give a --length",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(arguments, said, tmp_path, capsys):
    assert command("simulate", tmp_path / "out", *arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("years of work")
    assert command("simulate", tmp_path, "--layout", "folder", *SMALL) == 2
    assert "is not empty and holds no simulation.json; name a new folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
