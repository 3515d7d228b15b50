"""Paths in experiment files: relative to the file when written, to the working directory when read."""

import os
import shutil
import tomllib
from contextlib import chdir
from pathlib import Path

import pytest

from tmapr.config.paths import from_folder, to_folder
from tmapr.experiment import Data, Experiment, dump_experiment, experiment_digest, read_experiment
from tmapr.perception.settings import Perception


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The working directory, with recordings in a project and a file that names them."""
    (tmp_path / "project/data/noon").mkdir(parents=True)
    (tmp_path / "project/weights").mkdir()
    (tmp_path / "project/street.toml").write_text('data = { reference = "noon" }\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path, *overrides):
    """The experiment, and the lines that were told."""
    told = []
    return read_experiment(Path(path), overrides, told.append), told


@pytest.mark.parametrize(("where", "root"), [(".", "project/data"), ("project", "data"), ("project/data", "../data")])
def test_the_default_root_is_beside_the_file(home, where, root):
    with chdir(where):
        experiment, told = read(os.path.relpath(home / "project/street.toml"))
        assert os.path.samefile(experiment.data.root, home / "project/data")
        assert experiment.data.root == root
    assert told == []


def test_every_setting_that_names_a_file_is_relative_to_the_file(home):
    text = """
        data = { root = "data", sources = { night = "../bags/night.mcap" } }
        perception.encoder = "weights/a.pth"
        perception.head = "b.ckpt"
        perception.apr = "apr/000001/head.safetensors"
        perception.descriptor.parts = ["salad"]
        baselines.atloc.weights = "resnet.pth"
    """
    (home / "project/all.toml").write_text(text)
    found, told = read("project/all.toml")
    perception = found.perception
    assert (found.data.root, found.data.sources) == ("project/data", {"night": "bags/night.mcap"})
    assert (perception.encoder, perception.head) == ("project/weights/a.pth", "project/b.ckpt")
    assert perception.apr == "project/apr/000001/head.safetensors"
    assert found.baselines.atloc.weights == "project/resnet.pth"
    assert told == []


@pytest.mark.parametrize("name", ["default", "own", "plugin:mine"])
def test_an_encoder_known_by_its_name_is_no_path(home, name):
    (home / "project/own.toml").write_text(f'perception = {{ encoder = "{name}" }}')
    assert read("project/own.toml")[0].perception.encoder == name


def test_what_is_set_on_the_command_line_is_relative_to_the_working_directory(home):
    assert read("project/street.toml", "data.root=elsewhere")[0].data.root == "elsewhere"


def test_included_files_have_paths_of_their_own(home):
    (home / "shared").mkdir()
    (home / "shared/method.toml").write_text('perception = { encoder = "model.pth" }\ndata = { root = "recorded" }')
    (home / "project/street.toml").write_text('include = ["../shared/method.toml"]\ndata = { reference = "noon" }')
    found, _ = read("project/street.toml")
    assert (found.perception.encoder, found.data.root) == ("shared/model.pth", "shared/recorded")


@pytest.mark.parametrize("text", ['data = { root = "project/data" }', 'data = { root = "project/data/" }'])
def test_a_path_found_from_the_working_directory_alone_is_taken_and_told(home, text):
    (home / "project/old.toml").write_text(text)
    found, told = read("project/old.toml")
    assert Path(found.data.root) == Path("project/data")
    (line,) = told
    assert line.startswith("project/old.toml: data.root is 'project/data")
    assert line.endswith("which is found from the working directory, not from the file's folder; write 'data'")


def test_the_default_root_is_found_there_too(home):
    (home / "data").mkdir()
    (home / "sets").mkdir()
    (home / "sets/old.toml").write_text('data = { reference = "noon" }')
    found, told = read("sets/old.toml")
    assert found.data.root == "data"
    assert [line.rpartition("; ")[2] for line in told] == ["write '../data'"]


def test_nothing_is_told_of_a_path_that_something_else_replaces(home):
    (home / "project/old.toml").write_text('data = { root = "project/data" }')
    found, told = read("project/old.toml", "data.root=project")
    assert (found.data.root, told) == ("project", [])


def test_a_path_found_nowhere_is_looked_for_beside_the_file(home):
    (home / "project/lost.toml").write_text('data = { root = "nowhere", reference = "noon" }')
    found, told = read("project/lost.toml")
    assert (found.data.root, told) == ("project/nowhere", [])


HERE = Experiment(
    data=Data(root="project/data", sources={"dusk": "project/bags/dusk.bag", "far": "/srv/far"}, reference="noon"),
    perception=Perception(apr="project/runs/street/apr/000012/head.safetensors"),
)


def test_a_written_file_means_the_same_from_anywhere(home):
    run = home / "project/runs/street"
    run.mkdir(parents=True)
    (run / "experiment.toml").write_text(dump_experiment(HERE, Path("project/runs/street")))
    said = tomllib.loads((run / "experiment.toml").read_text())
    assert said["data"]["root"] == "../../data"
    assert said["data"]["sources"] == {"dusk": "../../bags/dusk.bag", "far": "/srv/far"}
    assert said["perception"]["apr"] == "apr/000012/head.safetensors"
    assert read(run / "experiment.toml")[0] == HERE
    with chdir(run):
        assert read("experiment.toml")[0].data.root == "../../data"
    shutil.move(home / "project", home / "moved")
    moved = read("moved/runs/street/experiment.toml")[0]
    assert (moved.data.root, moved.data.sources["dusk"]) == ("moved/data", "moved/bags/dusk.bag")
    assert experiment_digest(moved) == experiment_digest(HERE)


def test_the_digest_is_of_settings_not_of_places(home):
    absolute = HERE.model_copy(update={"data": HERE.data.model_copy(update={"root": "/somewhere/else/data"})})
    other = HERE.model_copy(update={"data": HERE.data.model_copy(update={"reference": "dusk"})})
    assert experiment_digest(absolute) == experiment_digest(HERE)
    assert experiment_digest(other) != experiment_digest(HERE)


@pytest.mark.parametrize("outside", [False, True], ids=["the run folder", "all of runs"])
def test_a_link_between_the_run_folder_and_the_data_leads_to_the_right_place(home, outside):
    """`..` of a linked folder is where the link leads to, not where it is."""
    linked = home / ("project/runs" if outside else "project/runs/street")
    target = home / "large/disk/of/runs"
    target.mkdir(parents=True)
    linked.parent.mkdir(parents=True, exist_ok=True)
    linked.symlink_to(target)
    run = Path("project/runs/street")
    run.mkdir(exist_ok=True)
    (run / "experiment.toml").write_text(dump_experiment(HERE, run))
    for name in (run, run.resolve()):
        found, told = read(name / "experiment.toml")
        assert os.path.samefile(found.data.root, home / "project/data")
        assert told == []


def test_a_linked_data_folder_is_named_by_its_link(home):
    (home / "project/data").rename(home / "disk")
    (home / "project/data").symlink_to(home / "disk")
    assert to_folder("project/data", Path("project/runs/street")) == "../../data"


def test_results_are_staged_elsewhere_and_written_for_the_run_folder(home):
    """The file itself is a link into `.results`, which is not followed to find what its paths are relative to."""
    run = home / "project/runs/street"
    (run / ".results/000001").mkdir(parents=True)
    (run / ".results/000001/experiment.toml").write_text(dump_experiment(HERE, run))
    (run / "experiment.toml").symlink_to(".results/000001/experiment.toml")
    assert read(run / "experiment.toml")[0].data.root == "project/data"


@pytest.mark.parametrize("value", ["", ".", "a\0b", "x" * 5000, "../" * 3000, "loop/x", "\n", "~"])
def test_no_path_breaks_the_reader(home, value):
    (home / "loop").symlink_to("loop")
    assert isinstance(from_folder(value, Path("project")), str)
    (home / "odd.toml").write_text(dump_experiment(Experiment(data=Data(root=value)), home))
    read("odd.toml")
