"""What the viewer leaves where it runs: a file, or a line that says why not, and nothing else."""

import os
import subprocess
import sys

import pytest

from tmapr.exceptions import InputError
from tmapr.live.viewer.sink import open_view

PROGRAM = """
import sys
from pathlib import Path

import tmapr
from tmapr.live.events import Answer, Scene, Timings
from tmapr.live.viewer.sink import open_view

folder = Path(sys.argv[1])
localizer = tmapr.load(folder).new_drive()
sink = open_view(sys.argv[2])
sink.begin(Scene(localizer, folder, folder, "night"))
for number, frame in enumerate(tmapr.open_sequence(tmapr.locate_sample() / "night", frame=localizer.frame)[:3]):
    sink.take(Answer(number, frame, localizer.step(frame), Timings(0.0, 0.0, 0.0, 0.0)))
sink.close()
"""


def test_the_home_folder_stays_empty(tmp_path, scene):
    """No settings, no identity, no usage data: in a new process, since what was written once is not written again."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    given = [scene.map_folder, tmp_path / "night.rrd"]
    subprocess.run([sys.executable, "-c", PROGRAM, *map(str, given)], env=kept | {"HOME": str(home)}, check=True)
    assert (tmp_path / "night.rrd").stat().st_size > 10_000
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("serve:0", "a port is a number"),
        ("serve:70000", "a port is a number"),
        ("serve:", "a port is a number"),
        ("night.mp4", "must be one of"),
        ("", "must be one of"),
        ("nowhere/at/all/night.rrd", "there is no such folder"),
    ],
)
def test_ways_that_lead_nowhere_are_refused(text, why):
    with pytest.raises(InputError, match=why):
        open_view(text)


def test_a_file_that_cannot_be_begun_is_refused(scene, tmp_path):
    (tmp_path / "full.rrd").symlink_to("/dev/full")
    with pytest.raises(InputError, match="cannot be written"):
        open_view(str(tmp_path / "full.rrd")).begin(scene)


def test_a_disk_that_fills_up_is_told_at_the_end(scene, tmp_path):
    limited = ["bash", "-c", 'ulimit -f 40; exec "$0" "$@"', sys.executable, "-c", PROGRAM]
    given = [str(scene.map_folder), str(tmp_path / "night.rrd")]
    ended = subprocess.run([*limited, *given], capture_output=True, text=True)
    assert ended.returncode == 1
    assert "the recording for the viewer is not whole" in ended.stderr.splitlines()[-1]
