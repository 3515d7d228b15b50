"""RUN/log.txt: who wrote into the folder, what was told, how it ended; and that nobody is ever stopped by it."""

import os
import re
import resource
import time
from pathlib import Path

import pytest

import tmapr.running.running
from commandline import command
from tmapr.artifacts.logbook import EARLIER, LARGEST, LOG, append
from walked import write_walk

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \d+ .+")
RUN = ("--run", "run")


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(folder="run"):
    """What was logged, without times and processes."""
    told = (Path(folder) / LOG).read_text().splitlines()
    assert all(map(LINE.fullmatch, told)), told
    return [line.split(" ", 2)[2] for line in told]


def test_a_command_is_logged_from_its_line_to_its_end(home, capsys):
    assert command("map", "walk.toml", *RUN) == 0
    told = lines()
    assert re.fullmatch(rf"began: tmapr map walk.toml --run run, in {home}, tmapr \S+, Python 3\S+", told[0])
    assert capsys.readouterr().out.strip() in told
    assert re.fullmatch(r"ended: exit code 0 after \d+\.\d s", told[-1])


def test_every_verb_that_writes_into_the_folder_adds_to_it(home):
    for arguments in (("map", "walk.toml", *RUN), ("run", "walk.toml", *RUN), ("evaluate", "run"), ("report", "run")):
        assert command(*arguments) == 0
    began = [line.split()[2] for line in lines() if line.startswith("began: ")]
    assert began == ["map", "run", "evaluate", "report"]
    assert command("check", "walk.toml", *RUN) == 0
    assert len([line for line in lines() if line.startswith("began: ")]) == 4


def test_a_refusal_is_logged_where_the_folder_was_written_to(home, capsys):
    assert command("map", "walk.toml", *RUN) == 0
    (home / "data/night/frames.csv").write_text("stamp,file,lon,lat\n0,00.png,127,36\n")
    assert command("run", "walk.toml", *RUN) == 2
    told = lines()
    assert told[-2] == capsys.readouterr().err.splitlines()[-1]
    assert told[-1].startswith("ended: exit code 2 after ")


def test_a_bug_is_logged_with_its_traceback(home, monkeypatch):
    def stumble(*_, **__):
        raise ZeroDivisionError("of course")

    monkeypatch.setattr(tmapr.running.running, "make_map", stumble)
    (home / "run").mkdir()
    (home / "run/notes").touch()
    with pytest.raises(ZeroDivisionError):
        command("map", "walk.toml", *RUN)
    told = lines()
    assert "Traceback (most recent call last):" in told
    assert told[-2:-1] == ["ZeroDivisionError: of course"]
    assert told[-1].startswith("ended: exit code 1 after ")


def test_what_came_to_nothing_leaves_no_folder(home):
    (home / "data/noon/frames.csv").write_text("stamp,file\n")
    assert command("map", "walk.toml", *RUN) == 2
    assert not (home / "run").exists()


@pytest.mark.parametrize(
    "obstacle", [Path.mkdir, lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/full")]
)
def test_a_log_that_cannot_be_written_stops_nothing(home, capsys, obstacle):
    (home / "run").mkdir()
    obstacle(home / "run" / LOG)
    assert command("map", "walk.toml", *RUN) == 0
    assert capsys.readouterr().err == ""


def test_a_full_disk_stops_nothing_that_has_room(home):
    (home / "run").mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    (home / "run" / LOG).write_bytes(b"x" * 4096)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        append(home / "run", "no room", when=0.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (home / "run" / LOG).stat().st_size == 4096


def test_a_log_that_has_grown_begins_anew_once(tmp_path):
    for size, text in ((LARGEST - 1, "fits"), (LARGEST, "anew")):
        (tmp_path / LOG).write_bytes(b"x" * size)
        append(tmp_path, text, when=0.0)
    assert (tmp_path / LOG).read_text().endswith(" anew\n")
    assert (tmp_path / LOG).stat().st_size < 100
    assert (tmp_path / EARLIER).stat().st_size == LARGEST
    (tmp_path / LOG).write_bytes(b"y" * LARGEST)
    append(tmp_path, "again", when=0.0)
    assert (tmp_path / EARLIER).read_bytes()[:1] == b"y"
    assert sorted(path.name for path in tmp_path.iterdir()) == [EARLIER, LOG]


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("tmapr weights pull --from https://ada:lovelace@host/x", "tmapr weights pull --from https://…@host/x"),
        ("https://host/x?token=abc&key=def then", "https://host/x?… then"),
    ],
)
def test_no_address_is_logged_with_its_secrets(tmp_path, told, kept):
    append(tmp_path, told, when=time.time())
    assert lines(tmp_path) == [kept]


def test_a_line_is_bounded_and_a_name_that_is_not_utf_8_does_no_harm(tmp_path):
    append(tmp_path, "x" * 10**6 + "\n" + os.fsdecode(b"caf\xe9"), when=0.0)
    long, odd = lines(tmp_path)
    assert (len(long), odd) == (2000, r"caf\udce9")
