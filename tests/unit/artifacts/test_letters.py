"""Words on pixels: in their place, within their width, whatever a name holds."""

import numpy as np
import pytest

from tmapr.artifacts.letters import measure, shorten, wrap, write

WHITE = (255, 255, 255)


def drawn(words, at=(10, 40), size=20.0, shape=(60, 400, 3)):
    pixels = np.zeros(shape, np.uint8)
    write(pixels, words, at, size, WHITE)
    return pixels.max(axis=-1) > 64


@pytest.mark.parametrize("size", [9.0, 13.5, 46.0])
def test_words_stand_on_their_line_and_are_as_wide_as_measured(size):
    rows, columns = np.nonzero(drawn("match: noon 0.76", at=(10, 50), size=size, shape=(60, 500, 3)))
    assert rows.max() <= 50
    assert 10 <= columns.min() <= 10 + size / 4
    assert abs(columns.max() - 10 - measure("match: noon 0.76", size)) <= 1 + size / 8


@pytest.mark.parametrize("at", [(-15, 5), (395, 40), (10, 500), (-500, 40)])
def test_what_lies_outside_is_cut_off(at):
    full = np.zeros((1100, 1400, 3), np.uint8)
    write(full, "localized", (at[0] + 500, at[1] + 500), 20.0, WHITE)
    np.testing.assert_array_equal(drawn("localized", at), full[500:560, 500:900].max(axis=-1) > 64)


@pytest.mark.parametrize("words", ["", "two\nlines", "\udcff\x00", "Straße – 夜 → ±2…"])
def test_any_name_can_be_written(words):
    assert drawn(words).any() == bool(words)
    assert shorten(words, 1000.0, 20.0) == words


def test_an_accent_is_left_out():
    np.testing.assert_array_equal(drawn("Müller"), drawn("Muller"))


def test_what_is_too_long_is_shortened_or_wrapped_to_fit():
    words = "the images of this traverse are not where they were"
    assert measure(shorten(words, 150.0, 18.0), 18.0) <= 150
    assert shorten(words, 150.0, 18.0).endswith("…")
    lines = wrap(words, 150.0, 18.0)
    assert " ".join(lines) == words
    assert all(measure(line, 18.0) <= 150 for line in lines)
