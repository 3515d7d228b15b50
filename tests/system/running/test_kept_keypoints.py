"""Keypoints of frames and references: kept beside percepts and map, true to the images, made only where they are used.

Images that need not be read are blackened, with their sizes and time stamps kept, as in test_renewal.
"""

import shutil

import numpy as np
import pytest

from commandline import command
from renewed import copy_walk, experiment, finish_walk
from renewed import make as make_walk
from tmapr.artifacts.images import read_image, write_frame
from tmapr.artifacts.keypoints import KeypointTable
from tmapr.artifacts.run import RunFolder
from tmapr.perception.keypoints import KeypointFinder
from tmapr.running.encoding import Encoding
from tmapr.system import Map
from walked import COUNT, blacken, view, write_list


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    return finish_walk(tmp_path_factory.mktemp("walked"))


@pytest.fixture
def home(walked, tmp_path):
    return copy_walk(walked, tmp_path / "home")


def make(home, run="run", trust="stamps", **overrides):
    """The lines that are told."""
    return make_walk(home, home / run, trust, **overrides)


def image(home, name, row):
    return home / f"data/{name}/{row:02}.png"


def found_in(home, name, row):
    return KeypointFinder()(read_image(image(home, name, row)), experiment(home).perception.image)


def assert_same(one, other):
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(one.descriptors, other.descriptors)


def recording(home, name, run="run"):
    return Encoding(experiment(home), RunFolder(home / run)).recording(name)


def load_map(home, run="run"):
    return Map.load(RunFolder(home / run).map, experiment(home).system)


def test_every_frame_and_every_reference_has_those_of_its_image(walked):
    night = recording(walked, "night")
    memory = load_map(walked).memory
    assert len(memory.keypoints) == COUNT
    for row in (0, 6, 15):
        assert len(night.percepts[row].keypoints()) > 20
        assert_same(night.percepts[row].keypoints(), found_in(walked, "night", row))
        assert_same(memory.keypoints[row], found_in(walked, "noon", memory.frames[row]))


def test_a_second_run_makes_nothing_and_writes_the_same(home):
    before = {path.name: path.read_bytes() for path in (home / "run/percepts").glob("*.npz")}
    assert set(before) == {"noon.npz", "night.npz", "noon.keypoints.npz", "night.keypoints.npz"}
    kept = (home / "run/keypoints.npz").read_bytes()
    for name in ("noon", "night"):
        for row in range(COUNT):
            blacken(image(home, name, row))
    assert make(home) == []
    assert {path.name: path.read_bytes() for path in (home / "run/percepts").glob("*.npz")} == before
    assert (home / "run/keypoints.npz").read_bytes() == kept


def test_of_an_image_that_was_replaced_they_are_found_again_and_of_no_other(home):
    write_frame(image(home, "noon", 7), view(7, seed=42))
    for row in set(range(COUNT)) - {6, 7, 8}:  # what the percepts need
        blacken(image(home, "noon", row))
    old = KeypointTable.load(home / "run/percepts/noon.keypoints.npz")
    make(home)
    percepts = recording(home, "noon").percepts
    assert_same(percepts[7].keypoints(), found_in(home, "noon", 7))
    for row in (0, 8, 15):
        assert_same(percepts[row].keypoints(), old[row])
    memory = load_map(home).memory
    assert_same(memory.keypoints[int(np.flatnonzero(memory.frames == 7)[0])], found_in(home, "noon", 7))


def test_frames_that_are_gone_take_theirs_along(home):
    old = KeypointTable.load(home / "run/percepts/night.keypoints.npz")
    write_list(home / "data/night", [row for row in range(COUNT) if row != 4])
    make(home)
    percepts = recording(home, "night").percepts
    assert len(percepts) == COUNT - 1
    assert_same(percepts[4].keypoints(), old[5])


def test_an_image_that_cannot_be_read_has_none(home):
    image(home, "night", 3).write_bytes(b"torn")
    make(home)
    percepts = recording(home, "night").percepts
    assert percepts[3].keypoints is None
    assert_same(percepts[4].keypoints(), found_in(home, "night", 4))


def test_other_preparation_of_the_images_finds_others(home):
    old = KeypointTable.load(home / "run/percepts/night.keypoints.npz")
    made = make(home, run="other", **{"perception.image.clip_limit": 0.0})
    assert made == []
    new = KeypointTable.load(home / "other/percepts/night.keypoints.npz")
    assert (new.contents, new.maker != old.maker) == (old.contents, True)
    wanted = new[2]
    shutil.copy(home / "run/percepts/night.keypoints.npz", home / "other/percepts/night.keypoints.npz")
    asked = experiment(home, **{"perception.image.clip_limit": 0.0})
    encoding = Encoding(asked, RunFolder(home / "other"))
    assert_same(encoding.recording("night").percepts[2].keypoints(), wanted)


def test_the_paper_s_method_pays_for_none(home):
    make(home, run="paper", **{"tracking.method": "paper"})
    folder = RunFolder(home / "paper")
    assert not folder.keypoints("noon").exists()
    assert not (home / "paper/keypoints.npz").exists()
    assert load_map(home, "paper").memory.keypoints is None


def test_a_run_folder_without_them_gets_them_without_being_encoded_or_mapped_again(home):
    kept = (home / "run/percepts/noon.npz").read_bytes()
    digest = load_map(home).digest
    for name in ("percepts/noon.keypoints.npz", "percepts/night.keypoints.npz", "keypoints.npz"):
        (home / "run" / name).unlink()
    assert load_map(home).memory.keypoints is None
    assert make(home) == []
    assert (home / "run/percepts/noon.npz").read_bytes() == kept
    assert load_map(home).digest == digest
    assert_same(load_map(home).memory.keypoints[0], found_in(home, "noon", load_map(home).memory.frames[0]))


@pytest.mark.parametrize(
    ("gone", "named"),
    [(("percepts/noon.keypoints.npz", "keypoints.npz"), "run/map.npz"), (("percepts/night.keypoints.npz",), "night")],
)
def test_without_them_and_without_the_images_matches_are_not_verified_and_a_line_says_so(home, gone, named):
    for name in gone:
        (home / "run" / name).unlink()
    shutil.rmtree(home / "data")
    (told,) = (line for line in make(home) if "matches are not verified" in line)
    assert told.partition(":")[0].endswith(named)


def test_those_of_another_map_are_left_alone(home):
    shutil.copy(home / "run/percepts/noon.keypoints.npz", home / "run/keypoints.npz")
    assert load_map(home).memory.keypoints is None


@pytest.mark.parametrize("name", ["percepts/night.keypoints.npz", "keypoints.npz"])
def test_a_damaged_file_gets_one_line_and_exit_code_2(home, capsys, monkeypatch, name):
    monkeypatch.chdir(home)
    path = home / "run" / name
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole[: len(whole) // 2])
    assert command("run", "walk.toml", "--run", "run") == 2
    told = capsys.readouterr().err.strip()
    assert path.name in told
    assert "\n" not in told


def test_what_a_killed_run_found_is_not_found_again(home):
    """Everything up to publishing: the rows lie in a file of their own."""
    for name in ("noon", "night"):
        (home / f"run/percepts/{name}.keypoints.npz").unlink()
    wanted = found_in(home, "noon", 4)
    Encoding(experiment(home), RunFolder(home / "run")).recording("noon")  # and nothing was published
    for row in range(COUNT):
        blacken(image(home, "noon", row))
    encoding = Encoding(experiment(home), RunFolder(home / "run"))
    assert_same(encoding.recording("noon").percepts[4].keypoints(), wanted)
    encoding.publish()
    assert (home / "run/percepts/noon.keypoints.npz").exists()
    assert not list((home / "run/percepts").glob(".*so-far"))


def test_what_a_kill_left_of_published_ones_goes(home):
    left = home / "run/percepts/.noon.keypoints.npz.so-far"
    shutil.copy(home / "run/percepts/noon.keypoints.npz", left)
    make(home)
    assert not left.exists()
