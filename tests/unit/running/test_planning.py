"""Experiments made from recordings alone."""

import os
from pathlib import Path

import pytest

from recorded import write_walk_bag
from tmapr.exceptions import InputError
from tmapr.experiment import is_data_there, open_data
from tmapr.running.planning import make_name, name_paths, plan_experiment
from walked import COUNT, write_walk


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_recordings_in_one_folder_are_known_by_their_names(home):
    planned = plan_experiment([Path("data/noon")], [Path("data/night")])
    assert (planned.name, planned.data.root, planned.data.sources) == ("noon", "data", {})
    assert (planned.data.reference, planned.data.test) == ("noon", ("night",))


def test_recordings_from_several_places_and_of_several_kinds(home):
    write_walk_bag(home / "bags/evening.bag", 160)
    write_walk_bag(home / "bags/dawn", 160)
    paths = [Path("bags/evening.bag"), Path("bags/dawn"), home / "data/night"]
    planned = plan_experiment([Path("data/noon")], paths, "site")
    assert planned.data.sources == {
        "noon": "data/noon",
        "evening": "bags/evening.bag",
        "dawn": "bags/dawn",
        "night": str(home / "data/night"),
    }
    assert [len(open_data(planned.data, name)) for name in ("noon", *planned.data.test)] == [COUNT] * 4
    assert [frame.sequence for frame in open_data(planned.data, "dawn")[:1]] == ["dawn"]


def test_bags_beside_folders_are_found_without_their_suffix(home):
    write_walk_bag(home / "data/evening.bag", 160)
    planned = plan_experiment([Path("data/noon")], [Path("data/evening.bag")])
    assert (planned.data.root, planned.data.sources, planned.data.test) == ("data", {}, ("evening",))
    assert is_data_there(planned.data, "evening")
    assert len(open_data(planned.data, "evening")) == COUNT


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/noon", "b/night.mcap"], ["noon", "night"]),
        (["day/images", "night/images"], ["day-images", "night-images"]),
        (["a/x", "b/a/x", "c/a/x"], ["a-x", "a-x-2", "a-x-3"]),
        (["2021.08.06", "2021.08.07"], ["2021.08.06", "2021.08.07"]),
        (["a/Noon", "b/noon"], ["a-Noon", "b-noon"]),
    ],
)
def test_names_tell_recordings_apart(paths, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if path.suffix == ".mcap" else path.mkdir()
    assert name_paths([*map(Path, paths)]) == names


def test_the_working_directory_has_a_name_too(home):
    os.chdir("data/noon")
    assert plan_experiment([Path()]).data.reference == "noon"
    assert plan_experiment([Path("../night"), Path("..") / "noon"]).data.references == ("night", "noon")


@pytest.mark.parametrize(("text", "name"), [("noon", "noon"), ("a b/c", "a-b-c"), ("-x", "x"), ("…", "experiment")])
def test_an_experiment_s_name_can_name_a_folder(text, name):
    assert make_name(text) == name


@pytest.mark.parametrize(
    ("mapped", "asked", "reason"),
    [
        ([], [], "there is no recording to be mapped; name one"),
        (["data/noon"], ["nowhere"], "nowhere: no such folder, bag or video"),
        (["walk.toml"], [], "walk.toml: is no recording; give a folder of images, a bag or a video"),
    ],
)
def test_what_is_no_recording_is_refused(home, mapped, asked, reason):
    with pytest.raises(InputError, match=reason):
        plan_experiment([*map(Path, mapped)], [*map(Path, asked)])


def test_a_recording_is_not_mapped_and_localized(home):
    with pytest.raises(InputError, match="which are one drive"):
        plan_experiment([Path("data/noon")], [Path("data/../data/noon")])
