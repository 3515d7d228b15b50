"""docs/data.md on real thermal frames: what it says of their trees in a sentence is run, and read back bit for bit."""

import re
import shlex
import shutil

import numpy as np
import pytest

from commandline import command
from repository import ROOT, SHARED
from tmapr import open_sequence
from tmapr.artifacts.images import read_image

DATA = SHARED
DOCUMENT = (ROOT / "docs/data.md").read_text()
START = 1_628_215_174_691_250_698

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real thermal frames are not at {DATA}")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(pattern):
    """The words of a command that the document has."""
    return shlex.split(re.search(f"`({pattern})`", DOCUMENT)[1])


def test_real_ms2_frames_in_their_tree_are_imported_bit_for_bit(home):
    _, *words = shown(r"tmapr import ms2/\S+ drive")
    folder = home / words[1] / "thr"
    for side in ("left", "right"):
        (folder / f"img_{side}").mkdir(parents=True)
        for row, number in enumerate(("000011", "002079")):
            shutil.copy(DATA / f"ms2_sample/{side}_{number}_thr.png", folder / f"img_{side}/{row:06}.png")
        (folder / f"img_{side}_timestamp.txt").write_text(f"{START}\n{START + 66_000_000}\n")
    assert command(*words) == 0
    frames = list(open_sequence(home / "drive"))
    assert [frame.stamp for frame in frames] == [START, START + 66_000_000]
    np.testing.assert_array_equal(frames[1].image(), read_image(DATA / "ms2_sample/left_002079_thr.png"))


def test_real_14_bit_frames_are_imported_bit_for_bit(home):
    (home / "frames").symlink_to(DATA / "fieldscale_14bit")
    assert command(*shown("tmapr import frames drive")[1:]) == 0
    originals = sorted(path for path in (DATA / "fieldscale_14bit").iterdir() if path.suffix in (".png", ".tiff"))
    for frame, original in zip(open_sequence(home / "drive"), originals, strict=True):
        np.testing.assert_array_equal(frame.image(), read_image(original))
