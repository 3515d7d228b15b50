"""A stream as a user gives it: what is run, printed and shown."""

import json
import re
import shutil

import pytest

from commandline import command
from made_up import thin_percepts, write_block
from tmapr.artifacts.run import RunFolder

STREAM = ("--set", "data.adapt=[]", "--set", "data.stream=['dusk', 'night']", "--set", "data.test=[]", "--set",
          "data.train=['dusk']")  # fmt: skip
NAMED = {"dusk": "stream truth+12, trained on", "night": "stream truth+12"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=40.0)
    thin_percepts(RunFolder(home / "runs/block"), 3)
    assert command("map", home / "block.toml", "--run", home / "runs/block", "--quiet", *STREAM) == 0
    return home


@pytest.fixture(scope="module")
def streamed(home):
    arguments = ("--run", home / "runs/block", "--quiet", "--label-delay", "12", *STREAM)
    assert command("run", home / "block.toml", *arguments) == 0
    return home / "runs/block"


def flat(text):
    return re.sub(r"\s+", " ", text)


def test_run_prints_the_protocol_of_every_sequence(home, streamed, capsys):
    assert command("run", home / "block.toml", "--run", streamed, "--label-delay", "12", *STREAM) == 0
    printed = capsys.readouterr().out
    for name, protocol in NAMED.items():
        assert re.search(rf"{name}\.csv: \d+ of \d+ frames localized; [^\[]* \[{re.escape(protocol)}\]", printed)
    assert "labels truth+12 (stream); now: tmapr evaluate" in printed


def test_evaluate_prints_learning_and_forgetting_with_the_numbers_of_the_file(streamed, capsys):
    assert command("evaluate", streamed) == 0
    printed = flat(capsys.readouterr().out)
    written = json.loads((streamed / "errors.json").read_text())
    assert [entry["protocol"] for entry in written["test"].values()] == ["stream", "stream"]
    assert [entry["trained"] for entry in written["test"].values()] == [True, False]
    for part, third in zip(
        ("beginning", "middle", "end"), written["stream"]["while_learning"]["dusk"]["thirds"], strict=True
    ):
        row = [part, third["frames"], f"{third['recall_at_1']:.3f}", f"{third['f1']:.3f}", f"{third['rmse']:.2f}"]
        assert " ".join(map(str, row)) in printed
    asked = written["stream"]["asked_again"]["night"]
    cells = [
        f"{asked[name][key]:.{digits}f}"
        for name in asked
        for key, digits in (("recall_at_1", 3), ("f1", 3), ("rmse", 2))
    ]
    assert f"after night {' '.join(cells)}" in printed
    assert "protocol stream truth+12, trained on; stream truth+12; labels truth+12 (stream); alignment none" in printed
    assert "trained on: networks saw this drive in training" in printed
    assert "it learned from the true positions of earlier frames of the same drive" in printed


def test_the_page_and_every_table_name_the_protocol(streamed, capsys):
    assert command("report", streamed) == 0
    page = (streamed / "report/index.html").read_text()
    assert "<h2>Stream</h2>" in page
    assert "On night (stream truth+12), it is localized" in page
    assert re.search(r'<p class="warning" role="note">stream truth\+12: while it was scored', page)
    assert "after night" in page
    for options in (
        ["--format", "json"],
        ["--table", "localization", "--format", "json"],
        ["--table", "fusion", "--format", "json"],
    ):
        capsys.readouterr()
        assert command("report", streamed, *options) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert {row["sequence"]: row["protocol"] for row in rows} == NAMED


def test_one_s_own_labels_are_learned_in_the_stream_and_after_it(home, tmp_path, capsys):
    shutil.copytree(home / "runs/block/percepts", tmp_path / "run/percepts")
    given = ("--run", tmp_path / "run", "--set", "data.adapt=[]", "--set", "data.stream=['dusk']")
    assert command("map", home / "block.toml", *given, "--quiet") == 0
    assert command("run", home / "block.toml", *given, "--learn", "fused") == 0
    printed = capsys.readouterr().out
    assert "[stream fused]" in printed
    assert "labels fused (test), fused (stream)" in printed
    assert command("evaluate", tmp_path / "run") == 0
    assert "true positions" not in capsys.readouterr().out


def test_a_streamed_sequence_may_not_be_a_test(home, tmp_path, capsys):
    given = ("--run", tmp_path / "run", "--set", "data.stream=['night']", "--set", "data.test=['night']")
    assert command("map", home / "block.toml", *given) == 2
    assert "data.test and data.stream share 'night'; a test sequence must be unseen" in capsys.readouterr().err
