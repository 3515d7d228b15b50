"""Descriptor, keypoints, digest, fault and turn of an image come from one read of its file."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from renewed import experiment
from tmapr.artifacts.keypoints import KeypointTable
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.sources import digest_file
from tmapr.data.survey import survey
from tmapr.experiment import find_home, open_data
from walked import write_walk

TRACED = """
import json, os, sys
opened = []
def note(event, given):
    if event == "open" and isinstance(given[0], (str, bytes, os.PathLike)):
        opened.append(os.fsdecode(given[0]))
sys.addaudithook(note)
from tmapr.cli.main import run
code = 0
try:
    run()
except SystemExit as stopped:
    code = stopped.code
print(json.dumps([code or 0, [path for path in opened if path.endswith(".png")]]))
"""


def trace(home, *arguments):
    """How often each image is opened by a command."""
    done = subprocess.run(
        [sys.executable, "-c", TRACED, *arguments], cwd=home, capture_output=True, text=True, check=False
    )
    code, opened = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return Counter(opened)


def once(home, *names):
    return {str(file): 1 for name in names for file in sorted((home / "data" / name).glob("*.png"))}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return write_walk(tmp_path_factory.mktemp("walk"))


def test_map_and_run_open_each_image_once_and_a_second_time_none(home):
    mapping, running = (
        ("map", "walk.toml", "--run", "run", "--quiet"),
        ("run", "walk.toml", "--run", "run", "--quiet"),
    )
    assert trace(home, *mapping) == once(home, "noon")
    assert trace(home, *running) == once(home, "night")
    assert trace(home, *running) == {}
    for name in ("noon", "night"):
        sources = Recording.load(home / f"run/percepts/{name}.npz").sources
        assert sources.contents == tuple(digest_file(home / "data" / file) for file in sources.files)
        assert KeypointTable.load(home / f"run/percepts/{name}.keypoints.npz").contents == sources.contents
    surveyed = survey(open_data(experiment(home).data, "night"), find_home(experiment(home).data, "night"))
    assert surveyed.sources.contents == sources.contents
