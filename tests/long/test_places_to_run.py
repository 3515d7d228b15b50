"""Where the command has to run: without a home, on plain terminals, with odd names, few descriptors, little memory.

Each case is a process of its own under the real limit. It works, or says in one line what is missing, with exit code 2.
"""

import io
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tmapr
from commandline import command
from made_up import write_block
from tmapr.artifacts.arrays import Header, save_arrays
from tmapr.artifacts.images import write_frame

PACKAGE = Path(tmapr.__file__).parent
NOBODY = 65534
PROGRAM = "from tmapr.cli.main import run; run()"
MIB = 1 << 20


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run folder in which everything went well, that any user can read, beside its experiment and an image."""
    home = tmp_path_factory.mktemp("finished")
    write_block(home, size=30.0)
    (home / "runs/block").rename(home / "run")
    for verb in ("map", "run"):
        assert command(verb, str(home / "block.toml"), "--run", str(home / "run"), "--quiet") == 0
    assert command("evaluate", str(home / "run"), "--quiet") == 0
    for row in range(3):
        counts = np.random.default_rng(row).integers(2900, 3300, (120, 160)).astype(np.uint16)
        write_frame(home / f"drive/{row}.png", counts)
    (home / "drive/frames.csv").write_text("stamp,file,x,y\n0,0.png,0,0\n1,1.png,8,0\n2,2.png,16,0\n")
    return home


@pytest.fixture
def home(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "home")
    return tmp_path / "home"


def tmapr_in(home, *arguments, program=PROGRAM, limits=(), site=None, prefix=(), **variables):
    """Run the command in a process of its own; what it returned and said."""
    site = site or os.environ.get("PYTHONPATH") or PACKAGE.parent
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(site)}

    def limit():
        for kind, most in limits:
            resource.setrlimit(kind, (most, most))

    return subprocess.run(
        [*prefix, sys.executable, "-c", program, *arguments],
        cwd=home,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=limit if limits else None,
        check=False,
    )


def refusal(done):
    """The one line of a refused command."""
    said = done.stderr.decode()
    assert (done.returncode, said[:7], said.count("\n")) == (2, "tmapr: ", 1), said[-3000:]
    return said


def works(done):
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout


RUN = ("run", "block.toml", "--run", "run", "--quiet")
VERBS = [
    ("--help",),
    ("config", "block.toml"),
    ("check", "drive"),
    ("preview", "drive/0.png", "--out", "sheet.png"),
    ("map", "block.toml", "--run", "run"),
    RUN,
    ("evaluate", "run"),
    ("report", "run"),
    ("report", "run", "run", "--format", "markdown"),
]
by_verb = pytest.mark.parametrize("arguments", VERBS, ids=" ".join)


def test_a_service_user_can_load_what_is_compiled(abroad, service):
    load = "import tmapr.places.recursion, tmapr.places.lift, tmapr.tracking.motion, tmapr.simulation.render"
    works(tmapr_in(abroad, program=load, **service))


@pytest.fixture
def served(home, abroad, service):
    """A home of the service user's own."""
    shutil.copytree(home, abroad / "home")
    for path in (abroad / "home", *(abroad / "home").rglob("*")):
        if service["prefix"]:
            os.chown(path, NOBODY, NOBODY)
    return abroad / "home"


def test_a_service_user_is_served(served, service):
    for arguments in (("map", "block.toml", "--run", "run", "--quiet"), RUN, ("evaluate", "run"), ("report", "run")):
        works(tmapr_in(served, *arguments, **service))


def test_a_folder_that_may_not_be_written_is_named(served, service):
    (served / "locked").mkdir(mode=0o555)
    said = refusal(tmapr_in(served, "map", "block.toml", "--run", "locked/run", **service))
    assert "Permission denied" in said
    assert "locked" in said


class Terminal:
    """Real text streams that know only the characters of one encoding."""

    def __init__(self, monkeypatch, encoding, errors="strict"):
        self._bytes = {name: io.BytesIO() for name in ("stdout", "stderr")}
        self._encoding = encoding
        for name, stream in self._bytes.items():
            monkeypatch.setattr(sys, name, io.TextIOWrapper(stream, encoding, errors, write_through=True))

    def said(self):
        # `typer.echo` takes a terminal that says ascii for one that never was asked, and gives it UTF-8.
        encoding = "utf-8" if self._encoding == "ascii" else self._encoding
        return "".join(self._bytes[name].getvalue().decode(encoding) for name in ("stdout", "stderr"))


@by_verb
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_plain_terminal_is_told_everything_in_its_characters(encoding, arguments, home, monkeypatch):
    monkeypatch.chdir(home)
    terminal = Terminal(monkeypatch, encoding)
    assert command(*arguments) == 0
    assert terminal.said() or "--quiet" in arguments


def test_a_plain_terminal_gets_a_refusal_in_its_characters(home):
    done = tmapr_in(home, "config", "café→日本λ.toml", PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.stderr == b"tmapr: cafe->??lambda.toml: no such experiment file; `tmapr init RECORDING` writes one\n"


def test_files_are_written_in_utf_8_whatever_the_terminal_knows(home):
    works(
        tmapr_in(home, "report", "run", PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
    )
    assert not (home / "run/report/index.html").read_text(encoding="utf-8").isascii()


ODD = os.fsdecode(b"caf\xe9")
"""A name in Latin-1, as an old disk has it."""

MOVES = {
    "a run folder": ("run", ODD, [("evaluate", ODD), ("report", ODD), ("run", "block.toml", "--run", ODD)]),
    "a folder of images": ("drive", ODD, [("check", ODD)]),
    "an experiment": ("block.toml", f"{ODD}.toml", [("config", f"{ODD}.toml"), ("map", f"{ODD}.toml", "--run", "run")]),
    "an image": (
        "drive/0.png",
        f"{ODD}.png",
        [("preview", f"{ODD}.png"), ("preview", "drive/1.png", "--out", f"{ODD}.png")],
    ),
}


@pytest.mark.parametrize(("before", "after", "calls"), MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_name_that_is_not_utf_8_is_taken_or_refused_in_one_line(encoding, before, after, calls, home, monkeypatch):
    monkeypatch.chdir(home)
    Path(before).rename(after)
    for arguments in calls:
        terminal = Terminal(monkeypatch, encoding)
        code = command(*arguments)
        assert code in (0, 2), terminal.said()
        if code:
            assert re.search(r"^tmapr: .*caf\\xe9.*\n\Z", terminal.said(), re.MULTILINE), terminal.said()


def test_32_descriptors_are_enough(home):
    works(tmapr_in(home, *RUN, limits=[(resource.RLIMIT_NOFILE, 32)]))


def test_32_descriptors_are_enough_for_the_workers_of_an_ablation(home):
    done = tmapr_in(home, "ablate", "block.toml", "--run", "run", "--quiet", limits=[(resource.RLIMIT_NOFILE, 32)])
    works(done)


@pytest.mark.parametrize("most", [200, 450, 1000])
def test_too_little_memory_is_one_line(most, home):
    assert "memory" in refusal(tmapr_in(home, *RUN, limits=[(resource.RLIMIT_AS, most * MIB)]))


def test_a_good_file_is_not_called_damaged_where_memory_is_short(home):
    """An array larger than what is left of the process's share."""
    save_arrays(home / "run/percepts/noon.npz", Header("percepts", 1, "", {}), {"descriptors": np.zeros((9000, 9000))})
    said = refusal(tmapr_in(home, "map", "block.toml", "--run", "run", limits=[(resource.RLIMIT_AS, 1050 * MIB)]))
    assert "not enough memory (Unable to allocate" in said


WRITERS = {
    "map": (("map", "block.toml", "--run", "run"), "run/.results/next/map.npz"),
    "report": (("report", "run"), "run/report/index.html"),
    "preview": (("preview", "drive/0.png", "--out", "sheet.png"), "sheet.png"),
}


@pytest.mark.parametrize(("arguments", "file"), WRITERS.values(), ids=WRITERS)
def test_a_full_disk_names_the_file_that_had_no_room(arguments, file, home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        assert command(*arguments) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = capsys.readouterr().err
    assert f"{file}: cannot be written, the disk is full (File too large)" in said
    assert said.endswith("; make room and run the command again\n")
    assert said.count("\n") == 1


WAITING = "from tmapr.cli.surroundings import prepare; prepare(); import torch"


@pytest.mark.parametrize(
    ("told", "obeyed"),
    [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")],
)
def test_threads_that_wait_sleep_unless_somebody_wants_otherwise(told, obeyed, tmp_path):
    """As the library that starts them says. On a loaded machine, spinning took four times the CPU of the work."""
    done = tmapr_in(tmp_path, program=WAITING, OMP_DISPLAY_ENV="true", **told)
    assert f"OMP_WAIT_POLICY = '{obeyed}'".encode() in done.stderr


def test_decoders_do_not_write_beside_us(home):
    """A TIFF whose strip is no LZW: OpenCV and libtiff have much to say of it."""
    tags = {256: 64, 257: 64, 258: 16, 259: 5, 262: 1, 273: 8, 277: 1, 278: 64, 279: 4096, 339: 1}
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    header = b"II*\0" + struct.pack("<I", 8 + 4096)
    (home / "drive/0.tif").write_bytes(
        header + bytes(range(255, -1, -1)) * 16 + struct.pack("<H", 10) + directory + bytes(4)
    )
    said = refusal(tmapr_in(home, "preview", "drive/0.tif"))
    assert "drive/0.tif: is cut off or damaged" in said
