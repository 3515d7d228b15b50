"""Precision over recall, read back from the drawing: its ticks give the axes, its marks the values."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from tmapr.evaluation.curves import Curve, precision_recall
from tmapr.reports.figures.precision_recall import draw_precision_recall

SIMILARITIES = np.array([0.95, 0.9, 0.8, 0.7, 0.7, 0.6, 0.5, 0.3])
CORRECT = np.array([True, True, False, True, True, True, False, False])
OPPORTUNITY = np.array([True, True, False, True, True, True, True, True])

EMPTY = Curve(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))


def curve(correct=CORRECT):
    every = np.ones(len(correct), dtype=bool)
    return precision_recall(SIMILARITIES, found=every, correct=correct, opportunity=OPPORTUNITY)


def falling(*precisions):
    """A curve with these precisions, which ends at full recall."""
    recall = np.linspace(0.1, 1.0, len(precisions))
    return Curve(np.linspace(0.9, 0.1, len(precisions)), np.array(precisions), recall, recall)


def texts(svg, role):
    found = [text for text in ElementTree.fromstring(svg).findall(".//{*}text") if text.get("class") == role]
    return [(text.text, float(text.get("x")), float(text.get("y"))) for text in found]


def marks(svg, name):
    paths = [path for path in ElementTree.fromstring(svg).findall(".//{*}path") if path.get("class") == name]
    return [corners(path) for path in paths if path.get("d") != "M0 0"]


def corners(path):
    found = np.array([[float(x), float(y)] for x, y in re.findall(r"[Ml](-?[\d.]+) (-?[\d.]+)", path.get("d"))])
    return found if path.get("class").startswith("dots") else np.cumsum(found, axis=0)


def read(svg, points):
    """Pixels to recall and precision, by the numbers beside the axes."""
    numbers = [(float(words), x, y) for words, x, y in texts(svg, "tick") if re.fullmatch(r"[\d.]+", words)]
    floor = max(y for _, _, y in numbers)
    right = np.polyfit(*zip(*[(x, value) for value, x, y in numbers if y == floor], strict=True), 1)
    up = np.polyfit(*zip(*[(y - 4, value) for value, x, y in numbers if y != floor], strict=True), 1)
    return np.column_stack([np.polyval(right, points[:, 0]), np.polyval(up, points[:, 1])])


def test_the_line_can_be_read_from_the_axes():
    svg = draw_precision_recall("night", {"ours": falling(1.0, 0.9, 0.95, 0.4, 0.62)}, None)
    expected = np.column_stack([np.linspace(0.1, 1.0, 5), [1.0, 0.9, 0.95, 0.4, 0.62]])
    # A tenth of a pixel of axes of 370 and 270.
    np.testing.assert_allclose(read(svg, marks(svg, "line first")[0]), expected, atol=1e-3)


@pytest.mark.parametrize("chosen", [0.95, 0.93, 0.8, 0.7, 0.65, 0.3, 0.1])
def test_the_mark_is_what_the_threshold_accepts(chosen):
    svg = draw_precision_recall("night", {"ours": curve()}, chosen)
    accepted = chosen <= SIMILARITIES
    hits = (accepted & CORRECT).sum()
    precision, recall = hits / accepted.sum(), hits / OPPORTUNITY.sum()
    (point,) = marks(svg, "dots point first")
    np.testing.assert_allclose(read(svg, point), [[recall, precision]], atol=1e-3)
    words = [words for words, _, _ in texts(svg, "tick")]
    assert f"precision {precision:.3f}, recall {recall:.3f}" in words
    assert [words for words, _, _ in texts(svg, "key")] == ["ours", f"at threshold {chosen:g}"]


def test_a_threshold_above_all_accepts_nothing_and_marks_nothing():
    svg = draw_precision_recall("night", {"ours": curve()}, 0.99)
    assert not marks(svg, "dots point first")
    assert not marks(svg, "dots under")
    assert "accepts nothing" in [words for words, _, _ in texts(svg, "tick")]


def test_without_a_threshold_nothing_is_marked():
    svg = draw_precision_recall("night", {"ours": curve()}, None)
    assert not [mark for name in ("dots point first", "dots point", "dots under") for mark in marks(svg, name)]
    assert [words for words, _, _ in texts(svg, "key")] == ["ours"]


def test_each_curve_has_a_role_for_its_line_its_point_and_its_name():
    svg = draw_precision_recall("night", {"ours": curve(), "global": curve(CORRECT & (np.arange(8) > 3))}, 0.6)
    for number, role in enumerate(("first", "second")):
        drawn, swatch = marks(svg, f"line {role}")
        (point,) = marks(svg, f"dots point {role}")
        assert np.abs(drawn - point).max(axis=1).min() <= 0.15
        name, _, height = texts(svg, "key")[number]
        assert (name, height) == (["ours", "global"][number], pytest.approx(swatch[0, 1] + 4))


def test_the_first_curve_lies_over_the_others():
    svg = draw_precision_recall("night", {"ours": curve(), "global": curve()}, 0.6)
    assert svg.index('"dots point second"') < svg.index('"dots point first"')


@pytest.mark.parametrize("count", [1, 2, 4, 9])
def test_names_stand_beneath_the_axes_apart_and_inside(count):
    svg = draw_precision_recall("night", {f"way {n}": falling(1.0, 0.5) for n in range(count)}, 0.5)
    height = float(ElementTree.fromstring(svg).get("viewBox").split()[3])
    names = [y for words, _, y in texts(svg, "key") if words.startswith("way")]
    figures = [y for words, _, y in texts(svg, "tick") if words.startswith("precision")]
    (title, *_) = [y for _, _, y in read_titles(svg)]
    assert title + 12 < names[0]
    for name, figure, after in zip(names, figures, [*names[1:], height], strict=True):
        assert name + 14 <= figure <= after - 14
    key = next(y for words, _, y in texts(svg, "key") if words == "at threshold 0.5")
    assert max(figures) + 14 <= key <= height - 4


def read_titles(svg):
    """Of the axis beneath; the other one is turned."""
    found = [text for text in ElementTree.fromstring(svg).findall(".//{*}text") if text.get("class") == "title"]
    return [(text.text, float(text.get("x")), float(text.get("y"))) for text in found if text.get("y")]


def test_the_axis_shows_all_precisions_and_at_least_a_tenth():
    lowest = {0.0: "0", 0.46: "0.4", 0.999: "0.90", 1.0: "0.90"}
    for least, words in lowest.items():
        svg = draw_precision_recall("night", {"ours": falling(1.0, least)}, None)
        # The lowest number beside the upright axis stands a little above those beneath the other.
        assert max((y, tick) for tick, x, y in texts(svg, "tick") if x < 78)[1].rstrip("0.") == words.rstrip("0.")


def test_without_a_curve_there_is_no_figure():
    assert draw_precision_recall("night", {}, 0.5) is None
    assert draw_precision_recall("night", {"ours": EMPTY, "global": EMPTY}, 0.5) is None


def test_a_curve_without_a_point_leaves_the_others():
    svg = draw_precision_recall("night", {"nothing": EMPTY, "ours": curve()}, 0.5)
    assert "nothing" not in [words for words, _, _ in texts(svg, "key")]
    assert marks(svg, "line first")


def test_nothing_to_recall_is_drawn_as_no_recall():
    nowhere = precision_recall(SIMILARITIES, found=CORRECT | True, correct=CORRECT & False, opportunity=CORRECT & False)
    svg = draw_precision_recall("night", {"ours": nowhere}, 0.5)
    np.testing.assert_allclose(read(svg, marks(svg, "dots point first")[0]), [[0.0, 0.0]], atol=1e-3)


def test_a_single_threshold_is_a_dot():
    one = Curve(np.array([0.5]), np.array([1.0]), np.array([0.25]), np.array([1.0]))
    svg = draw_precision_recall("night", {"ours": one}, 0.5)
    np.testing.assert_allclose(read(svg, marks(svg, "line first")[0]), [[0.25, 1.0]], atol=1e-3)


def test_names_mean_themselves_and_long_ones_are_cut():
    hostile, long = "<b>&\"'", "a name that is much too long for the room beneath a figure"
    svg = draw_precision_recall(hostile, {hostile: curve(), long: curve()}, 0.5)
    assert hostile in ElementTree.fromstring(svg).find("{*}title").text
    first, second = (words for words, _, _ in texts(svg, "key")[:2])
    assert first == hostile
    assert len(second) == 48
    assert second[:-1] == long[:47]
    assert second.endswith("…")
