"""`tmapr compare` on a folder of made-up images: every method, one table."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from test_train import EXPERIMENT, HEIGHT, WIDTH, write_drive

from commandline import command
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.percepts import Recording
from tmapr.baselines.settings import AtLocRecipe, Baselines
from tmapr.experiment import Experiment
from tmapr.studies.contest import Entry

FAST = """
[perception]
size = [96, 96]
[baselines.robustloc]
size = 32
spacing = 1
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_drive(home / "data/noon", 30, seed=1)
    write_drive(home / "data/night", 12, seed=2)
    write_frame(home / "data/night/04.png", np.full((HEIGHT, WIDTH), 3000, np.uint16))  # no contrast: a fault
    (home / "street.toml").write_text(EXPERIMENT + FAST)
    return home


@pytest.fixture(scope="module")
def said(home):
    """What the command printed, and on the other stream while it worked."""
    arguments = ["compare", "street.toml", "--seeds", "2", "--device", "cpu", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "tmapr", *arguments, "--set", "training.epochs=1"],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout), done.stderr


METHODS = [
    ("full system", "", 2),
    ("global retrieval", "", 1),
    ("constant", "", 1),
    ("APR", "frozen encoder", 2),
    ("AtLoc", "ResNet-34, random", 1),
    ("AtLoc", "frozen encoder", 1),
    ("RobustLoc", "ResNet-34, random", 1),
    ("RobustLoc", "frozen encoder", 1),
    ("ThermalLoc", "EfficientNet-B0, random", 1),
    ("ThermalLoc", "frozen encoder", 1),
]


def rows(home):
    return json.loads((home / "runs/street/compare/comparison.json").read_text())["test"]["night"]


def test_every_method_has_its_row(said, home):
    assert [(row["name"], row["about"], row["seeds"]) for row in rows(home)] == METHODS


def test_the_table_says_what_the_file_says(said, home):
    table, _ = said
    key = "street · night rmse"
    assert [row[key] for row in table["rows"]] == [row["rmse"] for row in rows(home)]
    assert any(note.startswith("street · night: full system RMSE ") for note in table["notes"])


def said_by(home, method):
    with (home / "runs/street/compare/night.csv").open() as stream:
        lines = [line for line in csv.DictReader(stream) if line["method"] == method]
    return {int(line["number"]): (float(line["x"]), float(line["y"])) for line in lines}


def test_a_constant_is_the_middle_of_the_map(said, home):
    assert set(said_by(home, "constant").values()) == {(20.0, 5.0)}


def test_retrieval_is_the_nearest_descriptor_of_the_whole_map(said, home):
    room = home / "runs/street/compare/apr-0/percepts"
    noon, night = (Recording.load(room / f"{name}.npz") for name in ("noon", "night"))
    mapped = np.array([percept.descriptor for percept in noon.percepts])
    found = said_by(home, "global retrieval")
    assert sorted(found) == [number for number in range(12) if number != 4]
    for number, position in found.items():
        nearest = (mapped @ night.percepts[number].descriptor).argmax()
        assert position == pytest.approx(noon.truth[nearest], abs=1e-3)


def test_a_frozen_trunk_has_no_weights_of_its_own():
    given = Experiment(baselines=Baselines(atloc=AtLocRecipe(weights="resnet.pth")))
    own, frozen = (Entry("AtLoc", "atloc", trunk).configure(given, 5) for trunk in ("own", "frozen"))
    assert own.baselines == given.baselines
    assert (frozen.baselines.atloc.trunk, frozen.baselines.atloc.weights) == ("frozen", None)
    assert own.training.seed == frozen.training.seed == 5


def test_figures_are_those_of_the_positions_that_lie_beside_them(said, home):
    with (home / "runs/street/compare/night.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    for row in rows(home):
        mine = [
            line for line in lines if (line["method"], line["variant"].replace(";", ",")) == (row["name"], row["about"])
        ]
        figures = []
        for seed in {line["seed"] for line in mine}:
            away = [
                np.hypot(float(line["x"]) - float(line["true_x"]), float(line["y"]) - float(line["true_y"]))
                for line in mine
                if line["seed"] == seed and line["number"] != "4"
            ]
            figures.append(np.sqrt(np.mean(np.square(away))))
        assert row["rmse"] == pytest.approx(np.mean(figures), abs=2e-3)


def test_what_was_trained_is_not_trained_again(said, home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    arguments = ("compare", "street.toml", "--seeds", "2", "--device", "cpu", "--set", "training.epochs=1")
    before = rows(home)
    assert command(*arguments) == 0
    told = capsys.readouterr()
    assert told.err.count("; 0 epochs in ") == 8
    assert rows(home) == before
    assert "full system" in told.out


def test_only_the_system_learns_from_a_stream_and_its_row_says_so(home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    streamed = ("--set", "name=stream", "--set", "data.stream=['night']", "--set", "data.test=[]")
    small = ("--seeds", "1", "--models", "apr", "--set", "training.epochs=1", "--device", "cpu", "--quiet")
    assert command("compare", "street.toml", *streamed, *small) == 0
    found = json.loads((home / "runs/stream/compare/comparison.json").read_text())["test"]["night"]
    assert {row["name"]: row["protocol"] for row in found} == {
        "full system": "stream truth+120",
        "global retrieval": "test",
        "constant": "test",
        "APR": "test",
    }
    assert "stream truth+120: while it was scored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models", "apr,posenet"], "--models apr,posenet: there is no 'posenet'; allowed are apr, atloc"),
        (["--trunks", "mine"], "--trunks mine: there is no 'mine'; allowed are own, frozen"),
        (["--set", "data.test=[]"], "data.test (or data.stream) and data.reference: a comparison needs both"),
        (["--set", "data.train=[]"], "data.train is empty"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(home, monkeypatch, capsys, options, message):
    monkeypatch.chdir(home)
    assert command("compare", "street.toml", *options) == 2
    refused = capsys.readouterr().err
    assert message in refused
    assert refused.count("\n") == 1
