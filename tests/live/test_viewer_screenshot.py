"""The recording as people see it: a real viewer opens it on a screen that nobody looks at."""

import os
import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest

from tmapr.live.viewer.sink import open_view
from tmapr.reports.film.colours import BELIEF, ROAD, STATUSES
from tmapr.types import Status

pytestmark = [
    pytest.mark.long,
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


CAMERA, MATCH = (0.0, 0.08, 0.22, 0.48), (0.0, 0.55, 0.22, 0.95)
MAP, LENS = (0.235, 0.08, 0.50, 0.69), (0.515, 0.08, 0.685, 0.69)
ROUTE, CURVES = (0.24, 0.74, 0.685, 0.95), (0.70, 0.56, 0.995, 0.74)
VERDICTS = (0.70, 0.38, 0.995, 0.53)


@pytest.mark.parametrize("box", [CAMERA, MATCH])
def test_pictures_are_in_the_colours_of_heat(screen, box):
    """Inferno is yellow where it is bright: red and green without blue, on a large part of the panel."""
    part = cut(screen, *box)
    blue, green, red = np.moveaxis(part, 2, 0)
    hot = (red > 180) & (green > 90) & (blue < 120)
    assert hot.mean() > 0.1
    assert len(np.unique(part.reshape(-1, 3) // 8, axis=0)) > 200


def test_the_match_is_another_picture_than_the_cameras(screen):
    camera, match = cut(screen, *CAMERA), cut(screen, *MATCH)
    rows, columns = (min(sides) for sides in zip(camera.shape[:2], match.shape[:2], strict=True))
    assert np.abs(camera[:rows, :columns] - match[:rows, :columns]).mean() > 10


@pytest.mark.parametrize("box", [MAP, LENS])
def test_maps_have_the_mapped_way_the_track_and_the_belief(screen, box):
    part = cut(screen, *box)
    assert count(part, ROAD) > 1e-3
    assert count(part, STATUSES[Status.LOCALIZED]) > 1e-3
    # Discs are shaded as balls are: their colour by its hue, a green that nothing else has.
    blue, green, red = np.moveaxis(part, 2, 0)
    assert ((green > 80) & (green > 1.15 * blue) & (green > 2 * red)).mean() > 1e-3


def test_the_belief_along_the_route_has_a_bar(screen):
    part = cut(screen, *ROUTE)
    blue, green, red = np.moveaxis(part, 2, 0)
    bar = (green > 100) & (green > 1.15 * blue) & (green > 2 * red)
    columns = np.flatnonzero(bar.sum(axis=0) > 0.3 * len(part))
    assert 1 <= len(columns) < 0.2 * part.shape[1]
    assert BELIEF[1] > BELIEF[0] > BELIEF[2]


def test_verdicts_and_curves_are_drawn(screen):
    assert count(cut(screen, *VERDICTS), np.array(STATUSES[Status.LOCALIZED]) * 0.78) > 0.05
    curves = cut(screen, *CURVES)
    assert ((curves.max(axis=2) - curves.min(axis=2)) > 100).mean() > 2e-3
