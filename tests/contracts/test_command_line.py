"""What the command offers beside its verbs: its version, completion in a real shell, and what it is doing."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import tmapr
from commandline import command
from walked import write_walk

PACKAGE = Path(tmapr.__file__).parent
needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")


@pytest.fixture
def shell(tmp_path):
    """Runs lines in a real bash that has the command on its path, and a home of its own."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tmapr").write_text(f'#!/bin/sh\nexec {sys.executable} -m tmapr "$@"\n')
    (tmp_path / "bin/tmapr").chmod(0o755)
    (tmp_path / "home").mkdir()
    environment = {
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(PACKAGE.parent),
    }

    def run(lines):
        done = subprocess.run(
            ["bash", "--norc", "-c", lines],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.home = tmp_path / "home"
    return run


def test_the_first_line_of_the_version_is_for_scripts(capsys):
    assert command("--version") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"tmapr {version('tmapr')}"
    assert second.startswith(f"Python {sys.version.split()[0]} on ")
    assert re.search(r"onnxruntime(-gpu)? \d", second)
    assert ("torch " in second) == any("torch" in path.name for path in Path(sys.prefix).glob("lib/*/site-packages/*"))
    assert "CUDA" in second


def test_neither_version_nor_help_loads_a_network():
    program = "import sys; from tmapr.cli.main import run\ntry: run()\nexcept SystemExit: pass\n"
    heavy = "{'torch', 'onnxruntime', 'numba', 'cv2', 'scipy'} & set(sys.modules)"
    for option in ("--version", "--help"):
        done = subprocess.run(
            [sys.executable, "-c", f"{program}assert not {heavy}, {heavy}", option],
            env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


COMPLETE = """eval "$(tmapr --show-completion)"
COMP_WORDS=({words}); COMP_CWORD={place}
_tmapr_completion tmapr
printf '%s\\n' "${{COMPREPLY[@]}}" """


@needs_bash
@pytest.mark.parametrize(
    ("words", "place", "offered"),
    [
        ("tmapr ev", 1, {"evaluate"}),
        ("tmapr re", 1, {"report"}),
        ("tmapr report --fo", 2, {"--format"}),
        ("tmapr report --format l", 3, {"latex"}),
        ("tmapr weights p", 2, {"pull"}),
    ],
)
def test_a_real_shell_completes_verbs_options_and_choices(shell, words, place, offered):
    assert set(shell(COMPLETE.format(words=words, place=place)).split()) == offered
    assert not list(shell.home.rglob("*"))


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
    assert capsys.readouterr().err == "tmapr: -v: no such experiment file; `tmapr init RECORDING` writes one\n"
