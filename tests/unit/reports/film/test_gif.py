"""Animations as another program reads them."""

from tempfile import TemporaryFile

import cv2
import numpy as np
import pytest

from tmapr.reports.film.colours import BELIEF, GROUND, INK, PANEL, STATUSES
from tmapr.reports.film.gif import GifWriter

FLAT = np.array([GROUND, INK, PANEL, BELIEF, *STATUSES.values()], np.uint8)


def written(frames, rate=10.0):
    with TemporaryFile() as stream:
        writer = GifWriter(stream, rate)
        for frame in frames:
            writer.write(frame)
        writer.finish()
        stream.seek(0)
        return stream.read()


def read(content):
    found, animation = cv2.imdecodeanimation(np.frombuffer(content, np.uint8))
    assert found
    return animation


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (40, 60), (150, 170)])
def test_colours_of_words_and_lines_are_read_as_they_were_written(rng, size):
    frames = [FLAT[rng.integers(len(FLAT), size=size)] for _ in range(3)]
    animation = read(written(frames))
    assert len(animation.frames) == 3
    for shown, frame in zip(animation.frames, frames, strict=True):
        np.testing.assert_allclose(shown[..., :3].astype(int), frame, atol=8)  # nobody sees so few shades of 256


def test_it_lasts_as_long_as_the_rate_says_and_goes_on_for_ever():
    frames = [np.full((10, 10, 3), INK, np.uint8)] * 30
    animation = read(written(frames, rate=12.0))
    assert sum(animation.durations) == pytest.approx(1000 * 30 / 12, abs=5)
    assert set(animation.durations.tolist()) == {80, 90}
    assert animation.loop_count == 0
