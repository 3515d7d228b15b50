"""What the command offers beside its verbs: its version, and what it is doing."""

import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from commandline import command
from walked import write_walk


def test_the_first_line_of_the_version_is_for_scripts(capsys):
    assert command("--version") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"tmapr {version('tmapr')}"
    assert second.startswith(f"Python {sys.version.split()[0]} on ")
    assert re.search(r"onnxruntime(-gpu)? \d", second)
    assert ("torch " in second) == any("torch" in path.name for path in Path(sys.prefix).glob("lib/*/site-packages/*"))
    assert "CUDA" in second


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [("-v", "map", "walk.toml"), ("map", "walk.toml", "-v"), ("map", "--verbose", "walk.toml", "--quiet")],
)
def test_what_is_done_is_told_with_times_and_counts_before_or_behind_a_verb(home, capsys, arguments):
    assert command(*arguments) == 0
    printed = capsys.readouterr()
    told = [re.fullmatch(r" *\d+\.\d\d s  (.*)", line)[1] for line in printed.err.splitlines()]
    assert told[:2] == ["writes into runs/walk", "noon: 16 images to encode, 0 kept"]
    assert any(re.fullmatch(r"encoding: 16 of 16 in \d+\.\d s", line) for line in told)
    assert ("references in" in printed.out) == ("--quiet" not in arguments)


def test_without_it_nothing_of_that_is_told(home, capsys):
    assert command("map", "walk.toml") == 0
    assert capsys.readouterr().err == ""


def test_what_stands_behind_two_dashes_is_left_alone(capsys):
    assert command("config", "--", "-v") == 2
    assert capsys.readouterr().err.startswith("tmapr: -v: ")
