"""Whether a command could be typed, without running it: its file, target or verb is there and takes these options."""

import argparse
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from blocks import ROOT
from checkout import shell_environment
from typer.main import get_command

from tmapr.cli.main import app

_OPTION = re.compile(r"--[a-z][a-z0-9-]*")


def parse_line(typed: str, home: Path) -> None:
    """Refuse a command that would stop at what was typed; those that make would run are looked at, too."""
    for part in re.split(r"\s*(?:;|&&)\s*", typed):
        words = shlex.split(part)
        # Variables and `time` come before the command itself.
        while "=" in words[0] or words[0] in ("time", "set", "if"):
            words = words[1:]
        name = Path(words[0]).name
        if name == "tmapr":
            parse_verb(words[1:])
        elif name == "make":
            for line in list_recipe(words[1:], home):
                parse_line(line, home)
        elif name == "python" and words[1:3] == ["-m", "pytest"]:
            assert all(list(ROOT.glob(word)) for word in words[3:] if word.startswith("tests/")), part
        elif name == "python":
            parse_script(words[1], words[2:])
        elif name in ("docker", "pip"):
            {"docker": parse_container, "pip": parse_install}[name](words[1:])
        else:
            assert name in ("ruff", "mypy", "lint-imports", "rm"), part


def list_recipe(words: list[str], home: Path) -> list[str]:
    """What make would run, a line each."""
    given = {"cwd": home, "env": shell_environment(), "capture_output": True, "text": True}
    done = subprocess.run(["make", "-n", *words], check=False, **given)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace("\\\n", " ").splitlines()
    assert lines, words
    return lines


def find_verb(words: list[str]):
    """The command that the first words name, and the other words."""
    found = get_command(app)
    if words and words[0].startswith("-"):  # of the command itself
        return found, words
    while (inner := getattr(found, "commands", None)) and words:
        assert words[0] in inner, f"tmapr has no {words[0]!r}"
        found, words = inner[words[0]], words[1:]
    return found, words


def parse_verb(words: list[str]) -> None:
    """Parse as the command does, up to the call of its function."""
    verb, rest = find_verb(words)
    verb.make_context(verb.name, list(rest))


def parse_script(script: str, words: list[str]) -> None:
    """Let the script's own parser read the options, and stop it there."""
    path = ROOT / script
    assert path.is_file(), script
    if "parse_args" not in path.read_text() and "make_parser" not in path.read_text():
        return

    class Parsed(BaseException):
        """Ends the script where it would begin to work."""

    def stop(parser: argparse.ArgumentParser, _given: object = None) -> None:
        _, unknown = parser.parse_known_args(words)
        assert unknown == [], f"{script} takes no {unknown}"
        raise Parsed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(argparse.ArgumentParser, "parse_args", stop)
        patched.setattr(sys, "argv", [script, *words])
        with pytest.raises(Parsed):
            runpy.run_path(str(path), run_name="__main__")


def parse_container(words: list[str]) -> None:
    """A build gives arguments that the Dockerfile has; a run gives our image a command that can be typed."""
    if words[0] == "run":
        parse_verb(words[words.index("tmapr") + 1 :])
        return
    assert words[0] == "build", words
    known = set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    given = {value.partition("=")[0] for option, value in pairwise(words) if option == "--build-arg"}
    assert given <= known, words


def parse_install(words: list[str]) -> None:
    """Only extras that the package has are asked for."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    asked = [extra.strip() for word in words for extras in re.findall(r"\[(.+)\]", word) for extra in extras.split(",")]
    assert set(asked) <= known, words


def check_named(typed: str) -> None:
    """Check a command within a sentence, where arguments may be left out: what it names is there."""
    words = typed.replace("…", "").split()
    name, rest = Path(words[0]).name, words[1:]
    if name == "make":
        targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert {word for word in rest if "=" not in word} <= targets, typed
    elif name == "python" and any(map(_OPTION.fullmatch, rest)):
        parse_script(rest[0], rest[1:])
    elif name == "python":
        assert (ROOT / rest[0]).is_file(), typed
    elif name in ("docker", "pip"):
        parse_line(typed, ROOT)
    elif name == "tmapr" and not rest[0].isupper():
        verb, rest = find_verb(rest)
        known = {option for each in verb.params for option in (*each.opts, *each.secondary_opts)} | {"--help"}
        assert {word for word in rest if _OPTION.fullmatch(word)} <= known, typed
