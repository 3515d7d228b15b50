"""`tmapr preview`: every file with what it holds, on one sheet."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from commandline import command
from tmapr.artifacts.images import write_png


@pytest.fixture
def scene(rng, tmp_path, monkeypatch):
    """A smooth 16-bit scene with the coldest and the hottest count of MS2, and in 8 bits, in the working directory."""
    monkeypatch.chdir(tmp_path)
    smooth = cv2.resize(rng.normal(3600, 300, (16, 20)), (640, 512), interpolation=cv2.INTER_CUBIC)
    smooth[0, :2] = 3052, 5939
    write_png(tmp_path / "a.png", smooth.clip(3052, 5939).astype(np.uint16))
    write_png(tmp_path / "b.png", (smooth / 64).clip(0, 255).astype(np.uint8)[:64, :64])


def test_it_shows_every_file_and_says_what_it_holds(scene, capsys):
    write_png(Path("white.png"), np.full((64, 64), 16383, np.uint16))
    assert command("preview", "a.png", "b.png", "white.png") == 0
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert first.startswith("a.png: 16 bit, 640x512, counts 3052..5939")
    assert second.startswith("b.png: 8 bit, 64x64, counts ")
    assert (third[:9], "saturated" in third) == ("white.png", True)
    assert last.startswith("preview.png: 3 files")
    assert cv2.imread("preview.png") is not None


def test_it_tells_temperatures_where_the_camera_is_known(scene, capsys):
    assert command("preview", "a.png", "--preset", "ms2", "--camera", "ms2") == 0
    assert "24.0..70.0 C" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["none.png"], "none.png"),
        (["a.png", "--camera", "boson"], "'boson'"),
        (["b.png", "--camera", "ms2"], "b.png"),
        (["b.png", "--preset", "sthereo"], "64x64"),
        (["a.png", "--out", "sheet.jpg"], "sheet.jpg"),
    ],
)
def test_what_it_cannot_show_is_refused_in_one_line(scene, capsys, arguments, named):
    assert command("preview", *arguments) == 2
    said = capsys.readouterr().err
    assert (said.count("\n"), named in said) == (1, True)
