"""The recording as people see it: a real viewer opens it on a screen that nobody looks at."""

import os
import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest

from tmapr.live.viewer.sink import open_view
from tmapr.reports.film.colours import ROAD, STATUSES
from tmapr.types import Status

pytestmark = [
    pytest.mark.skipif(not shutil.which("xvfb-run"), reason="needs xvfb-run: apt-get install xvfb"),
    pytest.mark.skipif(
        not list(Path("/usr/share/vulkan/icd.d").glob("*.json")),
        reason="needs a Vulkan driver: apt-get install mesa-vulkan-drivers",
    ),
]

SIZE = (1600, 900)


@pytest.fixture(scope="module")
def screen(tmp_path_factory, scene, answers):
    """The window after the last answer, in shares of its width and height."""
    import rerun_cli

    folder = tmp_path_factory.mktemp("shot")
    sink = open_view(str(folder / "night.rrd"))
    sink.begin(scene)
    for answer in answers:
        sink.take(answer)
    sink.close()
    viewer = Path(rerun_cli.__file__).with_name("rerun")
    shot = ["--renderer", "vulkan", "--screenshot-to", folder / "shot.png", "--window-size", "{}x{}".format(*SIZE)]
    # A screen more than twice as high as the window: the pointer rests in its middle, and would ask what lies beneath.
    command = ["xvfb-run", "-a", "-s", "-screen 0 3300x3800x24", viewer, folder / "night.rrd", *shot]
    subprocess.run(command, env=os.environ | {"CI": "true", "HOME": str(folder)}, check=True, capture_output=True)
    return cv2.imread(str(folder / "shot.png"))


def cut(screen, left, top, right, bottom):
    height, width = screen.shape[:2]
    return screen[int(top * height) : int(bottom * height), int(left * width) : int(right * width)].astype(int)


def count(part, colour):
    """The share of pixels that have a colour, give or take what smooth edges and encoding leave."""
    return (np.abs(part - colour).max(axis=2) < 24).mean()


MAP, LENS = (0.235, 0.08, 0.50, 0.69), (0.515, 0.08, 0.685, 0.69)


@pytest.mark.parametrize("box", [MAP, LENS])
def test_maps_have_the_mapped_way_the_track_and_the_belief(screen, box):
    part = cut(screen, *box)
    assert count(part, ROAD) > 1e-3
    assert count(part, STATUSES[Status.LOCALIZED]) > 1e-3
    # Discs are shaded as balls are: their colour by its hue, a green that nothing else has.
    blue, green, red = np.moveaxis(part, 2, 0)
    assert ((green > 80) & (green > 1.15 * blue) & (green > 2 * red)).mean() > 1e-3
