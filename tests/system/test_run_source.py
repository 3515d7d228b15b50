"""`tmapr run MAP --source PATH`: recordings localized in a map, without an experiment file."""

import os
import shutil
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest

from commandline import command
from recorded import write_walk_bag
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import load_estimates
from tmapr.experiment import read_experiment
from walked import COUNT, view, write_list, write_walk


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """A walk that is mapped after adapting to dusk, and others beside it, in a project of relative paths."""
    home = write_walk(tmp_path_factory.mktemp("mapped"), adapt=("dusk",))
    file = home / "walk.toml"
    file.write_text(file.read_text().replace(str(home / "data"), "data"))
    (home / "others").mkdir()
    shutil.copytree(home / "data/night", home / "others/night")
    for row in range(COUNT):
        write_frame(home / f"plain/{row:02}.png", view(row, 140))
    write_walk_bag(home / "bags/late.bag", 160, topics=("/thermal", "/visible"))
    with chdir(home):
        for verb in ("map", "run"):
            assert command(verb, "walk.toml", "--quiet") == 0
    return home


@pytest.fixture
def home(mapped, tmp_path, monkeypatch):
    shutil.copytree(mapped, tmp_path / "home", symlinks=True)
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def positions(run, name):
    return load_estimates(RunFolder(Path(run)).estimates(name)).positions


def test_a_source_is_localized_as_the_experiment_does_and_shares_the_map_and_what_was_encoded_for_it(home):
    assert command("run", "runs/walk", "--source", "others/night", "--quiet") == 0
    np.testing.assert_array_equal(positions("runs/night", "night"), positions("runs/walk", "night"))
    old, new = RunFolder(Path("runs/walk")), RunFolder(Path("runs/night"))
    assert os.path.samefile(old.map, new.map)
    for name in ("noon", "dusk"):
        assert os.path.samefile(old.percepts(name), new.percepts(name))
        assert os.path.samefile(old.keypoints(name), new.keypoints(name))
    assert not os.path.samefile(old.experiment, new.experiment)


def test_its_results_are_evaluated_and_run_again_like_any_other(home, capsys):
    assert command("run", "runs/walk", "--source", "others/night") == 0
    assert capsys.readouterr().out.endswith("labels off; now: tmapr evaluate runs/night\n")
    before = positions("runs/night", "night")
    assert command("evaluate", "runs/night", "--quiet") == 0
    assert command("run", "runs/night", "--quiet") == 0
    assert read_experiment(Path("runs/night/experiment.toml")).data.test == ("night",)
    np.testing.assert_array_equal(positions("runs/night", "night"), before)
    shutil.move(home, home.with_name("moved"))
    with chdir(home.with_name("moved")):
        capsys.readouterr()
        assert command("evaluate", "runs/night", "--quiet") == 0
        assert capsys.readouterr().err == ""


def test_plain_images_a_bag_and_a_folder_at_once(home, capsys):
    sources = ("--source", "plain", "--source", "bags/late.bag", "--source", "others/night")
    assert command("run", "runs/walk", *sources, "--set", "data.topics.image=/thermal", "--quiet") == 0
    data = read_experiment(Path("runs/plain/experiment.toml")).data
    assert data.test == ("plain", "late", "night")
    assert data.sources == {"plain": "plain", "late": "bags/late.bag", "night": "others/night"}
    assert [len(positions("runs/plain", name)) for name in data.test] == [COUNT] * 3
    assert not Recording.load(Path("runs/plain/percepts/plain.npz")).known.any()


def test_a_bag_with_several_topics_says_how_to_choose(home, capsys):
    assert command("run", "runs/walk", "--source", "bags/late.bag", "--quiet") == 2
    said = capsys.readouterr().err
    assert said.startswith("tmapr: bags/late.bag: ")
    assert "data.topics.image" in said
    assert not Path("runs/late/provenance.json").exists()


def test_the_reference_s_images_need_not_be_there(home, capsys):
    for name in ("noon", "dusk"):
        shutil.rmtree(home / "data" / name)
    assert command("run", "runs/walk", "--source", "others/night") == 0
    said = capsys.readouterr().err
    assert "noon: is not in data; the percepts and positions kept in runs/night/percepts/noon.npz are used\n" in said
    np.testing.assert_array_equal(positions("runs/night", "night"), positions("runs/walk", "night"))


def test_other_sources_of_that_name_need_a_folder_of_their_own(home, capsys):
    assert command("run", "runs/walk", "--source", "others/night", "--quiet") == 0
    shutil.copytree("others/night", "again/night")
    before = Path("runs/night/provenance.json").read_text()
    assert command("run", "runs/walk", "--source", "again/night", "--quiet") == 2
    said = capsys.readouterr().err
    assert said.startswith("tmapr: runs/night: ")
    assert "--run" in said
    assert Path("runs/night/provenance.json").read_text() == before
    assert command("run", "runs/walk", "--source", "again/night", "--run", "runs/again", "--quiet") == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("runs/walk", "--source", "others/night", "--run", "runs/walk"), "runs/walk: holds the results of another"),
        (("runs/walk", "--source", "nowhere"), "nowhere: no such folder, bag or video; name where the recording lies"),
        (("data", "--source", "others/night"), "data: holds no map; make one with `tmapr map EXPERIMENT`"),
        (("walk.toml", "--source", "others/night"), "walk.toml: --source needs the run folder of a map, as in"),
        (("runs/walk", "--source", "data/noon"), "which are one drive"),
        (("runs/walk", "--source", "walk.toml"), "walk.toml: is no recording; give a folder of images, a bag or a"),
        (("data",), "data: is a folder; name the experiment's TOML file"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(home, capsys, arguments, reason):
    before = sorted(Path().rglob("*"))
    assert command("run", *arguments, "--quiet") == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_a_map_without_anything_to_localize_says_how(home, capsys):
    assert command("map", "walk.toml", "--set", "data.test=[]", "--run", "runs/bare", "--quiet") == 0
    assert command("run", "runs/bare", "--quiet") == 2
    assert "give recordings as in `tmapr run MAP --source PATH`" in capsys.readouterr().err
    assert command("run", "runs/bare", "--source", "others/night", "--quiet") == 0


def test_names_of_learned_sequences_are_left_to_them(home):
    shutil.copytree("others/night", "evening/dusk")
    assert command("run", "runs/walk", "--source", "evening/dusk", "--quiet") == 0
    assert read_experiment(Path("runs/evening-dusk/experiment.toml")).data.test == ("evening-dusk",)


def test_a_map_that_was_made_again_is_taken_over(home):
    assert command("run", "runs/walk", "--source", "others/night", "--quiet") == 0
    write_list(home / "data/noon", range(COUNT), shift=7.0)
    assert command("map", "walk.toml", "--quiet") == 0
    assert command("run", "runs/walk", "--source", "others/night", "--quiet") == 0
    assert os.path.samefile("runs/walk/map.npz", "runs/night/map.npz")
