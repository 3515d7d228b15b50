"""Every snippet of README and docs is followed, in order, in a home of its page's own; all of them succeed."""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from glob import glob
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

import tmapr
from blocks import LANGUAGES, PAGES, check_typed, list_inline, name_page, read_blocks
from commandline import command
from repository import ROOT
from secure_site import PEM, serve
from tables import GIVEN, LONG, NOT_RUN, REAL, is_apart
from tmapr.experiment import is_data_there, read_experiment
from tmapr.studies.study_plan import read_plan
from world import copy_linked, make_world

BLOCKS = {page: read_blocks(page) for page in PAGES}
TYPED = [typed for blocks in BLOCKS.values() for block in blocks if block.language == "sh" for typed in block.commands]
SETS = ROOT.parent / "shared/data"
COPIED = ("benchmarks", "experiments", "examples", "requirements", "docs", "Makefile", "pyproject.toml", "README.md")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation", "--target", "installed")


class Handler(BaseHTTPRequestHandler):
    """Whatever is asked for, it is the one file."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_): ...


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """The tests' own site is trusted and no proxy is between; what opens a browser opens nothing."""
    for name, value in {"no_proxy": "*", "SSL_CERT_FILE": str(PEM), "BROWSER": "true"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A checkout after its set-up, with all that the pages name; copies of what scripts write beside."""
    home = tmp_path_factory.mktemp("prepared")
    for name in COPIED:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, home / name)
    for name in ("src", "tests", ".git"):
        (home / name).symlink_to(ROOT / name)
    (home / ".venv").mkdir()
    for part in Path(sys.prefix).iterdir():  # none of it is set up anew, whatever is newer here
        if not part.name.startswith("ready"):
            (home / ".venv" / part.name).symlink_to(part)
    for name in ("ready-for-demo", "ready"):
        (home / ".venv" / name).touch()
    if SETS.is_dir() and not (home.parent / "shared").exists():
        (home.parent / "shared").symlink_to(SETS.parent)
    return make_world(home)


@pytest.fixture(scope="session")
def pulled(prepared):
    """What `weights pull` is given: a publisher that this machine trusts."""
    content = (prepared / "weights/dino_salad.ckpt").read_bytes()
    with serve(Handler, content=content) as site:
        yield {"address": f"{site.address}/weights", "digest": hashlib.sha256(content).hexdigest()}


@pytest.fixture
def home(prepared, tmp_path_factory, monkeypatch):
    """A copy of it, in which the shell is; beside the others, where what lies next to a checkout is found."""
    folder = tmp_path_factory.mktemp("home")
    copy_linked(prepared, folder)
    monkeypatch.chdir(folder)
    return folder


def in_shell(*words):
    """The exit code, with these sources and this environment, and with what was installed in the home."""
    paths = {"PATH": f"{sys.prefix}/bin", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{Path('installed').absolute()}"}
    given = os.environ | {name: os.pathsep.join((path, os.environ.get(name, ""))) for name, path in paths.items()}
    done = subprocess.run(words, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[-1]}: {done.stderr}"
    return done.stdout


def follow_command(typed, pulled):
    """`tmapr` in this process, since a new one takes seconds to load; whatever it was to write is there."""
    words = shlex.split(f"{typed} {GIVEN.get(typed, '').format(**pulled)}")
    if Path(words[0]).name == "tmapr" and not set(";|&<>{}$~") & set(typed):
        words = ["cpu" if word == "cuda" else word for word in words]
        found = [name for word in words[1:] for name in (sorted(glob(word)) if "*" in word else [word])]
        assert command(*found) == 0, typed
    elif words[:2] == ["pip", "install"]:
        sys.path.insert(0, str(Path("installed").absolute()))
        in_shell(*PIP, *OFFLINE, *words[2:])
    else:
        in_shell("bash", "-c", typed)
    for option in {"--out", "--sheet"} & set(words):
        assert Path(words[words.index(option) + 1]).exists(), f"{typed}: wrote nothing"


def follow_experiment(block):
    """An experiment, or a study's plan, is loaded; with an experiment's data at hand, a run would go through."""
    path = Path(block.named_file(".toml") or "snippet.toml")
    path.write_text(block.text)
    if "\npurpose = " in block.text:
        assert read_plan(path).method
        return
    data = read_experiment(path).data
    if all(is_data_there(data, name) for names in data.roles.values() for name in names):
        assert command("check", path.name) == 0, block.place


def follow_list(block):
    """A list of frames is read in place of the one that it shows, in a copy of that drive."""
    drive = Path(block.named_file("frames.csv")).parent
    copy_linked(drive, shown := Path("shown") / drive.name)
    (shown / "frames.csv").write_text(block.text)
    rows = [line.split(",") for line in block.text.splitlines()[1:]]
    frames = list(tmapr.open_sequence(shown))
    assert [frame.stamp for frame in frames] == [int(stamp) for stamp, *_ in rows], block.place
    np.testing.assert_array_equal([frame.position for frame in frames], [list(map(float, row[2:])) for row in rows])
    assert all(frame.image().size for frame in frames), block.place


def follow(page, pulled):
    """Do what a page says; its programs come last, in one process, and what they print is returned."""
    for block in BLOCKS[page]:
        if block.language == "sh":
            for typed in block.commands:
                if not is_apart(typed):
                    follow_command(typed, pulled)
        elif block.language == "toml":
            follow_experiment(block)
        elif block.language == "csv":
            follow_list(block)
    program = "\n".join(block.text for block in BLOCKS[page] if block.language == "python")
    return in_shell(sys.executable, "-c", program) if program else ""


def median_error(run, sequence):
    return json.loads((Path(run) / "errors.json").read_text())["test"][sequence]["fused"]["median"]


FOLLOWED = [page for page in PAGES if any(block.language != "text" for block in BLOCKS[page])]


@pytest.mark.parametrize("page", FOLLOWED, ids=name_page)
def test_every_snippet_of_a_page_works(page, home, pulled):
    printed = follow(page, pulled)
    if page.name == "README.md":
        assert printed.startswith("localized")
    if page.name == "data.md":
        assert median_error("runs/street", "night") < 1.0
        assert median_error("runs/site", "evening") < 1.0
        bag, folder = tmapr.open_sequence("morning.bag"), tmapr.open_sequence("data/morning")
        assert [frame.stamp for frame in folder] == [frame.stamp for frame in bag]
        assert all((ours.image() == theirs.image()).all() for ours, theirs in zip(folder, bag, strict=True))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("typed", LONG)
def test_a_command_that_takes_long_works(typed, pulled):
    follow_command(typed, pulled)


@pytest.mark.skipif(not SETS.is_dir(), reason=f"the real sets are not at {SETS}")
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("typed", sorted(REAL))
def test_a_command_on_real_images_works(typed, pulled):
    follow_command(typed, pulled)


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_commands_that_are_not_run_and_those_in_sentences_name_what_is_there(page):
    blocks = [block for block in BLOCKS[page] if block.language == "sh"]
    for typed in (*list_inline(page), *(each for block in blocks for each in block.commands if is_apart(each))):
        check_typed(typed)


def test_no_snippet_hides():
    assert [block.place for blocks in BLOCKS.values() for block in blocks if block.language not in LANGUAGES] == []
    assert [typed for typed in (*LONG, *REAL, *GIVEN) if typed not in TYPED] == []
    assert [first for first in NOT_RUN if not any(typed.startswith(first) for typed in TYPED)] == []
