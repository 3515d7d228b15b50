"""The similarity matrix, read back from the drawing: the picture is decoded, the marks are looked up in it."""

import base64
import re
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from tmapr.reports.drawing.pictures import encode_png
from tmapr.reports.figures.similarity_matrix import Pairs, draw_similarity_matrix

NONE = Pairs(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def view(similarities, matches=NONE, nearest=NONE, name="night"):
    return draw_similarity_matrix(name, similarities, matches=matches, nearest=nearest)


def pairs(*rows_and_columns):
    rows, columns = np.array(rows_and_columns).T
    return Pairs(rows, columns)


def decoded(uri):
    kind, data = uri.split(",", 1)
    assert kind == "data:image/png;base64"
    return cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_UNCHANGED)


def images(svg):
    """The shades of the matrix, then those of the scale."""
    return [(decoded(image.get("href")), image) for image in ElementTree.fromstring(svg).findall(".//{*}image")]


def box(image):
    return [float(image.get(name)) for name in ("x", "y", "width", "height")]


def marks(svg, name):
    """Path data of a role without the legend's."""
    found = [path.get("d") for path in ElementTree.fromstring(svg).findall(".//{*}path") if path.get("class") == name]
    return found[0]


def places(data):
    return np.array([[float(x), float(y)] for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)", data)])


def texts(svg, role):
    found = [text for text in ElementTree.fromstring(svg).findall(".//{*}text") if text.get("class") == role]
    return [(text.text, float(text.get("x")), float(text.get("y"))) for text in found]


def shades(values, low, high):
    return np.round(np.clip((values - low) / (high - low), 0, 1) * 255).astype(np.uint8)


def test_a_small_matrix_is_shown_value_by_value(rng):
    values = rng.normal(size=(40, 70))
    expected = shades(values, *np.percentile(values, [5, 99.9]))
    np.testing.assert_array_equal(images(view(values))[0][0], expected[::-1])


@pytest.mark.parametrize(("shape", "block"), [((401, 400), (2, 1)), ((1001, 803), (3, 3)), ((90, 1700), (1, 5))])
def test_of_a_large_matrix_each_block_shows_its_highest_value(rng, shape, block):
    values = rng.normal(size=shape)
    rows, columns = (range(0, size, step) for size, step in zip(shape, block, strict=True))
    highest = np.array([[values[r : r + block[0], c : c + block[1]].max() for c in columns] for r in rows])
    picture = images(view(values))[0][0]
    assert max(picture.shape) <= 400
    np.testing.assert_array_equal(picture, shades(highest, *np.percentile(values, [5, 99.9]))[::-1])


@pytest.mark.parametrize("place", [(0, 0), (0, 1600), (2000, 0), (2000, 1600), (17, 511), (1997, 1594)])
def test_a_match_lies_on_the_pixel_of_its_similarity(place):
    values = np.random.default_rng(3).uniform(0, 0.1, size=(2001, 1601))
    values[place] = 1.0
    svg = view(values, matches=pairs(place))
    picture, image = images(svg)[0]
    ((x, y),) = places(marks(svg, "dots match"))
    left, top, width, height = box(image)
    across, down = (x - left) / width * picture.shape[1], (y - top) / height * picture.shape[0]
    # A match in the last half frame is rounded onto the edge.
    row, column = (min(int(at), size - 1) for at, size in zip((down, across), picture.shape, strict=True))
    assert picture[row, column] == 255
    assert picture[(row + 5) % picture.shape[0], column] < 255


def test_a_match_lies_in_the_middle_of_its_cell():
    svg = view(np.eye(9, 12), matches=pairs((2, 7)))
    left, top, width, height = box(images(svg)[0][1])
    ((x, y),) = places(marks(svg, "dots match"))
    assert (x - left) / width * 12 == pytest.approx(7.5, abs=0.01)
    assert (y - top) / height * 9 == pytest.approx(9 - 2.5, abs=0.01)


def test_a_small_matrix_fills_the_axes_exactly():
    svg = view(np.eye(9, 12))
    np.testing.assert_allclose(box(images(svg)[0][1]), box(ElementTree.fromstring(svg).find("{*}svg")), atol=0.1)


def test_a_match_stands_at_the_numbers_of_its_frames():
    svg = view(np.zeros((300, 500)), matches=pairs((100, 400)))
    ((x, y),) = places(marks(svg, "dots match"))
    ticks = [(words, across, down) for words, across, down in texts(svg, "tick") if across < 390]
    floor = max(down for _, _, down in ticks)
    assert x == pytest.approx(
        next(across for words, across, down in ticks if words == "400" and down == floor), abs=0.1
    )
    assert y == pytest.approx(next(down for words, _, down in ticks if words == "100" and down < floor) - 4, abs=0.1)


def test_one_odd_frame_does_not_take_the_shades_from_all_others(rng):
    values = rng.uniform(0, 1, size=(200, 200))
    values[7, 7] = 1e6
    assert 110 < np.median(images(view(values))[0][0]) < 145


def test_the_scale_says_which_shade_is_which_similarity(rng):
    values = rng.uniform(-0.2, 0.8, size=(120, 150))
    svg = view(values)
    bar, image = images(svg)[1]
    np.testing.assert_array_equal(bar[:, 0], np.arange(255, -1, -1))
    _, top, _, height = box(image)
    low, high = np.percentile(values, [5, 99.9])
    ticks = [(float(words.replace("−", "-")), y - 4) for words, x, y in texts(svg, "tick") if x > 390]
    assert len(ticks) > 2
    for value, y in ticks:
        assert y == pytest.approx(top + height * (high - value) / (high - low), abs=0.1)


def test_the_truth_is_one_line_while_it_goes_on_and_breaks_where_a_loop_ends():
    rows = np.arange(200)
    onward, around = Pairs(rows, rows + 10), Pairs(rows, (rows + 100) % 200)
    assert marks(view(np.zeros((200, 220)), nearest=onward), "line nearest").count("M") == 1
    assert marks(view(np.zeros((200, 220)), nearest=around), "line nearest").count("M") == 2


def test_the_truth_of_a_short_drive_is_a_line_too():
    rows = np.arange(8)
    assert marks(view(np.zeros((8, 20)), nearest=Pairs(rows, 2 * rows)), "line nearest").count("M") == 1


def test_the_truth_is_broken_where_queries_have_no_reference_near():
    rows = np.array([*range(50), *range(120, 200)])
    assert marks(view(np.zeros((200, 220)), nearest=Pairs(rows, np.arange(130))), "line nearest").count("M") == 2


def test_the_truth_and_the_matches_agree_where_they_are_the_same():
    svg = view(np.zeros((50, 60)), matches=pairs((20, 30)), nearest=pairs((20, 30), (21, 31)))
    np.testing.assert_allclose(places(marks(svg, "line nearest")), places(marks(svg, "dots match")), atol=0.1)


def test_the_legend_counts_matches_also_those_on_one_pixel():
    rows = np.repeat(np.arange(900), 2)
    words = [words for words, _, _ in texts(view(np.zeros((900, 900)), matches=Pairs(rows, rows)), "key")]
    assert "matches: 1800" in words


def test_without_truth_or_matches_the_shades_are_left():
    svg = view(np.eye(30))
    assert marks(svg, "dots match") == marks(svg, "line nearest") == "M0 0"
    assert images(svg)[0][0].max() == 255


@pytest.mark.parametrize("shape", [(1, 1), (3, 2000), (2000, 3)])
def test_a_matrix_of_any_shape_fits(shape):
    svg = view(np.ones(shape), matches=pairs((0, 0)))
    height = float(ElementTree.fromstring(svg).get("viewBox").split()[3])
    assert 250 < height < 800


@pytest.mark.parametrize(
    "values", [np.zeros((0, 5)), np.zeros((5, 0)), np.array([[0.5, np.nan]]), np.array([[np.inf]])]
)
def test_nothing_and_what_is_no_number_are_refused(values):
    with pytest.raises(ValueError, match="similarities must be finite"):
        view(values)


def test_the_name_means_itself():
    assert "<b>&\"'" in ElementTree.fromstring(view(np.eye(3), name="<b>&\"'")).find("{*}title").text


def test_a_long_recording_stays_small(rng):
    rows = np.arange(3000)
    every = Pairs(rows, rng.integers(3000, size=3000))
    assert len(view(rng.normal(size=(3000, 3000)), matches=every, nearest=Pairs(rows, rows))) < 280_000


def test_a_picture_of_three_planes_keeps_its_colours(rng):
    picture = rng.integers(0, 256, size=(5, 7, 3), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(encode_png(picture))[..., ::-1], picture)
