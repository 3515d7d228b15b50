"""Animations as another program reads them."""

from tempfile import TemporaryFile

import cv2
import numpy as np
import pytest

from tmapr.reports.film import gif
from tmapr.reports.film.colours import BELIEF, GROUND, INK, PANEL, STATUSES, list_heat
from tmapr.reports.film.gif import GifWriter, list_palette

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
    """The largest is noise of more strings than the table of codes holds."""
    frames = [FLAT[rng.integers(len(FLAT), size=size)] for _ in range(3)]
    animation = read(written(frames))
    assert len(animation.frames) == 3
    for shown, frame in zip(animation.frames, frames, strict=True):
        np.testing.assert_array_equal(shown[..., :3], frame)


def test_heat_is_never_farther_from_what_was_meant_than_can_be_seen(rng):
    """Also after many frames: what is left as it was is held against the frame that is written."""
    base = rng.integers(40, 200, size=(60, 80))
    frames = [list_heat()[np.clip(base + 2 * number + rng.integers(-6, 7, base.shape), 0, 255)] for number in range(12)]
    animation = read(written(frames))
    for shown, frame in zip(animation.frames, frames, strict=True):
        apart = np.linalg.norm((shown[..., :3].astype(float) - frame) * [0.75, 1.0, 0.95], axis=-1)
        assert apart.max() < 30.0  # 24 between colours of the palette, and half a step from the palette
        assert apart.mean() < 12.0


def test_noise_in_a_picture_takes_far_less_than_to_the_last_bit(rng, monkeypatch):
    base = cv2.GaussianBlur(rng.integers(0, 256, size=(120, 160)).astype(np.uint8), (0, 0), 9)
    stretched = cv2.normalize(base, None, 0, 230, cv2.NORM_MINMAX)
    frames = [list_heat()[stretched + rng.integers(0, 12, base.shape)] for _ in range(6)]
    near = len(written(frames))
    monkeypatch.setattr(gif, "_ALIKE", 0.0)
    gif.list_alike.cache_clear()
    exact = len(written(frames))
    gif.list_alike.cache_clear()
    assert near < 0.6 * exact


def test_what_does_not_change_costs_next_to_nothing(rng):
    frame = FLAT[rng.integers(len(FLAT), size=(200, 300))]
    once, many = len(written([frame])), len(written([frame] * 11))
    assert (many - once) / 10 < 0.02 * once


def test_it_lasts_as_long_as_the_rate_says_and_goes_on_for_ever():
    frames = [np.full((10, 10, 3), INK, np.uint8)] * 30
    animation = read(written(frames, rate=12.0))
    assert sum(animation.durations) == pytest.approx(1000 * 30 / 12, abs=5)
    assert set(animation.durations.tolist()) == {80, 90}
    assert animation.loop_count == 0


def test_the_palette_has_every_flat_colour_and_no_gap_in_heat():
    palette = list_palette().astype(int)
    for colour in FLAT:
        assert (palette == colour).all(axis=1).any()
    nearest = np.abs(list_heat().astype(int)[:, None] - palette[None]).max(axis=-1).min(axis=1)
    assert nearest.max() <= 8
