"""The similarity matrix: the picture on the page, decoded, holds the values or the highest of each block."""

import base64
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from tmapr.reports.drawing.pictures import encode_png
from tmapr.reports.figures.similarity_matrix import Pairs, draw_similarity_matrix

NONE = Pairs(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def view(similarities, matches=NONE):
    return draw_similarity_matrix("night", similarities, matches=matches, nearest=NONE)


def decoded(uri):
    kind, data = uri.split(",", 1)
    assert kind == "data:image/png;base64"
    return cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_UNCHANGED)


def picture_of(values):
    """The shades of the matrix."""
    return decoded(ElementTree.fromstring(view(values)).find(".//{*}image").get("href"))


def shades(values, low, high):
    return np.round(np.clip((values - low) / (high - low), 0, 1) * 255).astype(np.uint8)


def test_a_small_matrix_is_shown_value_by_value(rng):
    values = rng.normal(size=(40, 70))
    expected = shades(values, *np.percentile(values, [5, 99.9]))
    np.testing.assert_array_equal(picture_of(values), expected[::-1])


@pytest.mark.parametrize(("shape", "block"), [((401, 400), (2, 1)), ((1001, 803), (3, 3)), ((90, 1700), (1, 5))])
def test_of_a_large_matrix_each_block_shows_its_highest_value(rng, shape, block):
    values = rng.normal(size=shape)
    rows, columns = (range(0, size, step) for size, step in zip(shape, block, strict=True))
    highest = np.array([[values[r : r + block[0], c : c + block[1]].max() for c in columns] for r in rows])
    picture = picture_of(values)
    assert max(picture.shape) <= 400
    np.testing.assert_array_equal(picture, shades(highest, *np.percentile(values, [5, 99.9]))[::-1])


def test_the_legend_counts_matches_also_those_on_one_pixel():
    rows = np.repeat(np.arange(900), 2)
    assert "matches: 1800" in view(np.zeros((900, 900)), Pairs(rows, rows))


@pytest.mark.parametrize(
    "values", [np.zeros((0, 5)), np.zeros((5, 0)), np.array([[0.5, np.nan]]), np.array([[np.inf]])]
)
def test_nothing_and_what_is_no_number_are_refused(values):
    with pytest.raises(ValueError, match="similarities must be finite"):
        view(values)


def test_a_picture_of_three_planes_keeps_its_colours(rng):
    picture = rng.integers(0, 256, size=(5, 7, 3), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(encode_png(picture))[..., ::-1], picture)
