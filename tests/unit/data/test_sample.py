"""The recording that comes with the package: small, whole, and what the renderer makes today."""

import numpy as np
import pytest

from sample import FRAME_COUNT, write_sample
from tmapr.data.coordinates import to_degrees
from tmapr.data.examination import examine
from tmapr.data.folder import read_folder
from tmapr.data.opening import open_path
from tmapr.data.sample import locate_sample

DRIVES = ("noon", "night")
MOST = 1_500_000


@pytest.fixture(scope="module")
def anew(tmp_path_factory):
    """What the script writes today."""
    out = tmp_path_factory.mktemp("anew")
    write_sample(out)
    return out


def list_files(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_it_is_small():
    files = list_files(locate_sample())
    assert len(files) == len(DRIVES) * (FRAME_COUNT + 1)
    assert sum((locate_sample() / file).stat().st_size for file in files) < MOST


@pytest.fixture(params=DRIVES)
def found(request):
    return examine(open_path(locate_sample() / request.param), sample=None)


def test_nothing_is_wrong_with_it(found):
    assert (found.frames, found.located, found.usable, found.defects) == (FRAME_COUNT, FRAME_COUNT, FRAME_COUNT, ())
    assert [str(header) for header in found.headers] == ["320x256, 8 bit"]
    assert 120 < found.length < 150


def test_both_drives_go_along_one_street_by_day_and_by_night():
    noon, night = (list(read_folder(locate_sample(), name)) for name in DRIVES)
    frames = [read_folder(locate_sample(), name).frame for name in DRIVES]
    places = [
        to_degrees(np.stack([frame.position for frame in drive]), plane) * 111_000 * (np.cos(np.radians(36.37)), 1)
        for drive, plane in zip((noon, night), frames, strict=True)
    ]
    apart = np.hypot(*(places[1][:, None] - places[0][None]).T).min(axis=0)
    assert apart.max() < 3  # metres: what lanes allow, and half the step from frame to frame
    hours = [drive[0].stamp // 3_600_000_000_000 % 24 for drive in (noon, night)]
    assert hours == [12, 2]


def test_the_script_makes_the_same_files_anew(anew):
    assert list_files(anew) == list_files(locate_sample())
    for name in DRIVES:
        assert (anew / name / "frames.csv").read_text() == (locate_sample() / name / "frames.csv").read_text()


@pytest.mark.parametrize("name", DRIVES)
def test_the_script_draws_the_same_pictures_anew(anew, name):
    """Another JPEG encoder or another processor may round otherwise: by less than the coarsest step of any."""
    drawn, shipped = (
        np.stack([frame.image() for frame in read_folder(root, name)[::3]]).astype(int)
        for root in (anew, locate_sample())
    )
    assert drawn.shape == shipped.shape == (-(-FRAME_COUNT // 3), 256, 320)
    assert np.abs(drawn - shipped).mean() < 0.5
    assert np.abs(drawn[1:] - shipped[:-1]).mean() > 5  # the next frame is another picture
