"""`tmapr upkeep` on run folders: the old ones stay, the new one localizes, and what was learned goes along."""

import json
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import tmapr
from commandline import command
from kept_up import assert_learned, load_map, make_run, plainly, traverse, views_of
from tmapr.artifacts.percepts import Origin, Recording
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import read_experiment


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Maps of noon, of both and of the rain; noon has learned a few frames of dusk."""
    home = tmp_path_factory.mktemp("home")
    for name, references in (("noon", ["noon"]), ("both", ["noon", "dusk"]), ("rain", ["rain"])):
        make_run(home, name, *references)
    return home


@pytest.fixture
def noon(home, tmp_path):
    shutil.copytree(home / "noon", tmp_path / "noon", symlinks=True)
    return RunFolder(tmp_path / "noon")


def contents(folder):
    """All that is read of a folder; commands tell its log that they were there."""
    files = [
        path for path in sorted(folder.path.rglob("*")) if path.is_file() and path.name not in (".lock", "log.txt")
    ]
    return {path: path.read_bytes() for path in files}


def test_extending_makes_a_new_folder_and_leaves_the_old_one_as_it_was(noon, home, tmp_path, capsys):
    before, old = contents(noon), load_map(noon)
    assert command("upkeep", "extend", noon.path, "dusk", "--out", tmp_path / "long") == 0
    assert "references in" in capsys.readouterr().out
    assert contents(noon) == before
    made, again = load_map(RunFolder(tmp_path / "long")), load_map(noon)
    assert made.past[0].parents == (old.digest,) == (again.digest,)
    for name, array in again.initial.items():
        np.testing.assert_array_equal(array, old.initial[name])
    whole = load_map(RunFolder(home / "both"))
    for name in ("ridge.tiles", "ridge.weights", "grid.cells"):
        np.testing.assert_array_equal(made.initial[name], whole.initial[name], err_msg=name)
    assert made.memory.place_count == whole.memory.place_count


def test_a_run_on_a_map_without_a_region_does_not_map_it_again(home, tmp_path):
    out = tmp_path / "east"
    assert command("upkeep", "drop", home / "both", "--box", "-1000,-1000,30,1000", "--out", out, "--quiet") == 0
    digest = load_map(RunFolder(out)).digest
    assert command("run", out / "experiment.toml", "--run", out, "--quiet") == 0
    made = load_map(RunFolder(out))
    assert made.digest == digest
    assert made.memory.positions[:, 0].min() >= 30.0


def test_a_run_whose_traverses_changed_is_refused_where_mapping_again_would_undo_what_was_done(home, tmp_path, capsys):
    out = RunFolder(tmp_path / "east")
    assert command("upkeep", "drop", home / "both", "--box", "-1000,-1000,30,1000", "--out", out.path, "--quiet") == 0
    traverse("noon", seed=2).save(out.percepts("noon"))
    assert command("run", out.experiment, "--run", out.path, "--quiet") == 2
    assert "`tmapr upkeep` made it (dropped" in capsys.readouterr().err


def test_dropped_twice_is_dropped_at_once(home, tmp_path):
    """Percepts go along, so that the second time is as exact as the first."""
    boxes = {"west": "-1000,-1000,10,1000", "both": "-1000,-1000,40,1000"}
    assert command("upkeep", "drop", home / "both", "--box", boxes["west"], "--out", tmp_path / "a", "--quiet") == 0
    assert command("upkeep", "drop", tmp_path / "a", "--box", boxes["both"], "--out", tmp_path / "b", "--quiet") == 0
    assert command("upkeep", "drop", home / "both", "--box", boxes["both"], "--out", tmp_path / "c", "--quiet") == 0
    twice, once = (load_map(RunFolder(tmp_path / name)) for name in "bc")
    np.testing.assert_allclose(twice.initial["ridge.weights"], once.initial["ridge.weights"], atol=1e-10)
    np.testing.assert_allclose(twice.classifier().ridge.covariance, once.classifier().ridge.covariance, atol=1e-10)


def test_a_traverse_that_goes_is_no_reference_of_the_new_experiment(home, tmp_path):
    assert command("upkeep", "drop", home / "both", "--traverse", "noon", "--out", tmp_path / "dusk", "--quiet") == 0
    made = RunFolder(tmp_path / "dusk")
    assert read_experiment(made.experiment).data.references == ("dusk",)
    assert sorted(load_map(made).made_from) == ["dusk"]


def test_joining_maps_made_apart_says_that_the_second_is_learned_again(home, tmp_path, capsys):
    assert command("upkeep", "join", home / "noon", home / "rain", "--out", tmp_path / "two") == 0
    assert f"{home / 'rain'}: its grid or projections are its own; learned again" in capsys.readouterr().err
    made = RunFolder(tmp_path / "two")
    assert read_experiment(made.experiment).data.references == ("noon", "rain")
    assert command("run", made.experiment, "--run", made.path, "--quiet") == 0


def test_what_was_learned_goes_along_exactly_and_can_be_unlearned(noon, tmp_path, capsys):
    localizer = tmapr.load(noon.path)
    rain = traverse("rain")
    lessons = [localizer.learn(rain.percepts[row], rain.truth[row]) for row in range(0, 20, 2)]
    localizer.save(noon.path)
    for name, words in (("long", ["extend", noon.path, "dusk"]), ("short", ["drop", noon.path, "--box", "0,-9,30,9"])):
        assert command("upkeep", *words, "--out", tmp_path / name) == 0
        assert f"its {len(lessons)} lessons go along" in capsys.readouterr().err
        carried = tmapr.load(tmp_path / name).classifier
        made = load_map(RunFolder(tmp_path / name))
        assert_added(carried, made, lessons)
        for lesson in lessons:
            carried.unlearn(lesson)
        assert_added(carried, made, [])


def assert_added(classifier, environment, lessons):
    """Whether K and W are the map's and some lessons, by the normal equations."""
    base = environment.classifier()
    A = np.linalg.inv(base.ridge.covariance)
    Q = np.zeros((len(A), len(classifier.grid)))
    Q[:, : len(base.grid)] = A @ base.ridge.weights
    for lesson in lessons:
        A += lesson.rows.T @ (lesson.weights[:, None] * lesson.rows)
        Q[:, classifier.grid.find_cell(lesson.cell)] += lesson.rows.T @ lesson.weights
    np.testing.assert_array_equal(classifier.grid.cells[: len(base.grid)], base.grid.cells)
    np.testing.assert_allclose(classifier.ridge.covariance, np.linalg.inv(A), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(classifier.ridge.weights, np.linalg.solve(A, Q), rtol=1e-8, atol=1e-8)


def test_the_difference_is_told_drawn_and_given_as_json(home, tmp_path, capsys):
    page = tmp_path / "diff.html"
    out = tmp_path / "long"
    assert command("upkeep", "extend", home / "noon", "dusk", "--out", out, "--quiet") == 0
    assert command("upkeep", "diff", home / "noon", out, "--page", page, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    before, after = load_map(RunFolder(home / "noon")), load_map(RunFolder(out))
    new = int((after.memory.sequences == "dusk").sum())
    assert told["references"] == {"same": len(before.memory), "new": new, "gone": 0}
    assert {each["name"]: each["references"]["new"] for each in told["traverses"]} == {"noon": 0, "dusk": new}
    assert told["places"]["new"] == len(after.initial["grid.cells"]) - len(before.initial["grid.cells"])
    assert [step["told"] for step in told["steps"]] == ["extended by dusk"]
    W, V = before.initial["ridge.weights"], after.initial["ridge.weights"]
    apart = np.linalg.norm(V - np.pad(W, ((0, 0), (0, V.shape[1] - W.shape[1])))) / np.linalg.norm(W)
    assert told["distance"] == pytest.approx(apart)
    text = page.read_text()
    ElementTree.fromstring(text.partition("\n")[2])
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "extended by dusk" in text


REFUSED = {
    "no region": (["drop", "both"], "say what has to go"),
    "a box inside out": (["drop", "both", "--box", "5,0,1,9"], "the smaller ones first"),
    "no number": (["drop", "both", "--box", "a,0,1,9"], "is no number"),
    "two corners": (["drop", "both", "--polygon", "0,0,5,5"], "at least three corners"),
    "no such traverse": (["drop", "both", "--traverse", "fog"], "fog: is no traverse of the map"),
    "nothing there": (["drop", "both", "--box", "900,900,901,901"], "none of its"),
    "no percepts": (["extend", "noon", "fog"], "no percepts of 'fog'"),
    "no map": (["join", "noon", "nowhere"], "holds no map.npz"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_a_line_and_leaves_nothing(case, home, tmp_path, capsys, monkeypatch):
    words, told = REFUSED[case]
    monkeypatch.chdir(home)
    assert command("upkeep", *words, "--out", tmp_path / "out") == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert not (home / "nowhere").exists()


def test_maps_of_two_encoders_are_not_joined(home, tmp_path, capsys):
    shutil.copytree(home / "rain", tmp_path / "rain", symlinks=True)
    folder = RunFolder(tmp_path / "rain")
    replace(load_map(folder), origin=Origin({"encoder": "default"}, {})).save(folder.map)
    assert command("upkeep", "join", home / "noon", folder.path, "--out", tmp_path / "two") == 2
    told = capsys.readouterr().err
    assert f"{folder.path}: its percepts are of an encoder of tmapr's, those of {home / 'noon'} of a program" in told


def test_a_folder_that_is_there_is_not_written_over(home, capsys):
    assert command("upkeep", "extend", home / "noon", "dusk", "--out", home / "rain") == 2
    assert "exists already" in capsys.readouterr().err


def test_a_polygon_takes_what_is_inside_of_it(home, tmp_path):
    out = tmp_path / "cut"
    assert command("upkeep", "drop", home / "both", "--polygon", "-99,-99,60,-99,-99,99", "--out", out, "--quiet") == 0
    left = load_map(RunFolder(out)).memory.positions
    assert len(left)
    # The long side runs through (60, -99) and (-99, 99).
    assert ((left[:, 0] - 60.0) * 198.0 + (left[:, 1] + 99.0) * 159.0 >= 0).all()


def test_a_test_that_becomes_a_reference_is_no_test_any_more(home, tmp_path, capsys):
    assert command("upkeep", "extend", home / "noon", "night", "--out", tmp_path / "long") == 0
    assert "night: taken out of data.test" in capsys.readouterr().err
    assert read_experiment(tmp_path / "long/experiment.toml").data.test == ()


def test_the_lessons_of_a_folder_are_the_plain_recursion_again(home, tmp_path):
    """From files, whose descriptors are float32 and are given unit length when they are read."""
    out, recordings = tmp_path / "short", {"noon": Recording.load(RunFolder(home / "both").percepts("noon"))}
    assert command("upkeep", "drop", home / "both", "--traverse", "dusk", "--out", out, "--quiet") == 0
    made, old = load_map(RunFolder(out)), load_map(RunFolder(home / "both"))
    views = [view for view in views_of(old) if view[0] == "noon"]
    second = plainly(old, views, read_experiment(out / "experiment.toml").system, recordings.get)
    assert_learned(made, second)
