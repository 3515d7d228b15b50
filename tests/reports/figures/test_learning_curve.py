"""The learning curve, read back from the drawing: its ticks give the axes, its marks the values."""

import re
import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from tmapr.reports.figures.learning_curve import draw_learning_curve
from tmapr.training.checkpoints import Epoch, find_best

WIDTH, HEIGHT = 640, 480


def trained(losses, medians, means=None):
    means = [1.5 * median for median in medians] if means is None else means
    return tuple(
        Epoch(number=number, loss=loss, median=median, mean=mean)
        for number, (loss, median, mean) in enumerate(zip(losses, medians, means, strict=True), start=1)
    )


FALLING = trained(np.geomspace(2.0, 0.011, 12), [30, 20, 12, 9, 7, 6, 5.5, 5, 4.5, 5, 6, 7])
STEADY = trained([0.5, 0.4, 0.35, 0.36], [8.0, 6.0, 6.5, 5.0])
NEGATIVE = trained([0.5, -1.0, -2.0], [3.0, 2.0, 2.5])
ONE = trained([0.5], [1.25])
EQUAL = trained([0.5] * 4, [1.25] * 4, [1.25] * 4)
NEARLY_EQUAL = trained([0.5, 0.5 + 1e-12], [1.25, 1.25 - 1e-12], [1.25] * 2)
ZERO = trained([0.0] * 3, [0.0] * 3)
LONG = trained(1 / np.arange(1.0, 301.0), 3 + 1 / np.arange(1.0, 301.0))
ALL = [FALLING, STEADY, NEGATIVE, ONE, EQUAL, NEARLY_EQUAL, ZERO, LONG]


def marks(svg, name):
    """The paths of exactly this class, less the swatches of the legend."""
    paths = [path for path in ElementTree.fromstring(svg).iter() if path.get("class") == name and path.get("d")]
    return [points(path) for path in paths if not re.fullmatch(r"M\S+ \S+l22 0", path.get("d"))]


def points(path):
    """Absolute corners of a path of one start and relative steps, or of dots."""
    corners = np.array([[float(x), float(y)] for x, y in re.findall(r"[Ml](-?[\d.]+) (-?[\d.]+)", path.get("d"))])
    return corners if path.get("class").startswith("dots") else np.cumsum(corners, axis=0)


def texts(svg, role):
    found = [text for text in ElementTree.fromstring(svg).findall(".//{*}text") if text.get("class") == role]
    return [(text.text, float(text.get("x")), float(text.get("y"))) for text in found]


def ticks(svg, panel):
    """Numbers beside an upright axis (0: upper, 1: lower) and the heights of their grid lines."""
    beside = [(float(words.replace("−", "-")), y - 4) for words, x, y in texts(svg, "tick") if x < 70]
    return [(value, y) for value, y in beside if (y > 220) == bool(panel)]


def epochs(svg):
    """Numbers under the lower panel and the places of their grid lines."""
    return [(words, x) for words, x, y in texts(svg, "tick") if x >= 70 and y > 220]


def read(svg, role):
    """Values of a line, as its axis says."""
    (line,) = marks(svg, f"line {role}")
    values, heights = np.array(ticks(svg, role != "loss")).T
    logarithmic = len(values) > 1 and values.min() > 0 and np.allclose(values[:-1] / values[1:], 0.1)
    slope, start = np.polyfit(heights, np.log10(values) if logarithmic else values, 1)
    found = slope * line[:, 1] + start
    return 10**found if logarithmic else found


@pytest.mark.parametrize("history", [FALLING, STEADY, NEGATIVE])
def test_the_values_can_be_read_from_the_axes(history):
    svg = draw_learning_curve(history, "city")
    for role in ("loss", "median", "mean"):
        expected = [epoch.model_dump()[role] for epoch in history]
        # A tenth of a pixel of an axis of 150: at most a three-hundredth of a decade or of the range.
        np.testing.assert_allclose(read(svg, role), expected, rtol=0.01, atol=0.002 * np.ptp(expected))


def test_epochs_stand_above_their_numbers():
    svg = draw_learning_curve(STEADY, "city")
    assert [words for words, _ in epochs(svg)] == ["1", "2", "3", "4"]
    places = [x for _, x in epochs(svg)]
    for role in ("loss", "median", "mean"):
        np.testing.assert_allclose(marks(svg, f"line {role}")[0][:, 0], places, atol=0.06)


def test_the_loss_is_above_the_metres():
    svg = draw_learning_curve(FALLING, "city")
    lowest = marks(svg, "line loss")[0][:, 1].max()
    assert lowest < min(marks(svg, f"line {role}")[0][:, 1].min() for role in ("median", "mean"))


@pytest.mark.parametrize(
    ("losses", "numbers"),
    [
        ([1.0, 0.099], [0.01, 0.1, 1.0]),
        ([1.0, 0.1], [0.2, 0.4, 0.6, 0.8, 1.0]),
        ([1.0, 0.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ([1.0, -1.0], [-1.0, -0.5, 0.0, 0.5, 1.0]),
    ],
)
def test_a_loss_that_spans_more_than_a_decade_has_a_logarithmic_axis(losses, numbers):
    assert sorted(value for value, _ in ticks(draw_learning_curve(trained(losses, [1.0, 1.0]), "city"), 0)) == numbers


@pytest.mark.parametrize(
    "history",
    [
        FALLING,
        ONE,
        EQUAL,
        trained([1.0] * 5, [3.0, 2.0, 4.0, 2.0, 5.0]),
        trained([3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [9.0, 8.0, 7.0]),
    ],
)
def test_the_best_epoch_is_the_one_whose_weights_are_kept(history):
    chosen, svg = find_best(history), draw_learning_curve(history, "city")
    place = marks(svg, "line median")[0][chosen.number - 1]
    (dot,) = marks(svg, "dots best")
    np.testing.assert_allclose(dot, [place], atol=0.11)
    for upright in marks(svg, "line best"):
        np.testing.assert_allclose(upright[:, 0], place[0], atol=0.11)
    assert len(marks(svg, "line best")) == 2


def test_the_best_epochs_figures_are_written():
    assert "best epoch 9: median 4.50 m, mean 6.75 m" in [
        words for words, _, _ in texts(draw_learning_curve(FALLING, "city"), "key")
    ]


@pytest.mark.parametrize("history", ALL)
def test_every_mark_lies_on_the_drawing(history):
    svg = draw_learning_curve(history, "city")
    root = ElementTree.fromstring(svg)
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("640", "480", f"0 0 {WIDTH} {HEIGHT}")
    assert not re.search(r"\b(nan|inf)\b", svg, re.IGNORECASE)
    for role in ("loss", "median", "mean", "best"):
        for track in marks(svg, f"line {role}"):
            assert track.min() >= 0
            assert (track <= [WIDTH, HEIGHT]).all()
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for role in ("tick", "key") for _, x, y in texts(svg, role))


@pytest.mark.parametrize("history", ALL)
def test_every_axis_has_ticks_that_differ(history):
    svg = draw_learning_curve(history, "city")
    for panel in (0, 1):
        values = [value for value, _ in ticks(svg, panel)]
        assert len(values) == len(set(values)) >= 2


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 11, 30, 300])
def test_ticks_are_whole_epochs_of_the_training(count):
    numbers = [words for words, _ in epochs(draw_learning_curve(trained([1.0] * count, [1.0] * count), "city"))]
    assert numbers
    assert len(numbers) <= 11
    assert all(1 <= int(words) <= count for words in numbers)
    assert all(int(a) < int(b) for a, b in pairwise(numbers))


def test_single_epochs_are_dots_while_they_stay_apart():
    assert len(marks(draw_learning_curve(STEADY, "city"), "dots loss")[0]) == 4
    assert len(marks(draw_learning_curve(ONE, "city"), "dots mean")[0]) == 1
    assert marks(draw_learning_curve(LONG, "city"), "dots loss") == []


def test_a_title_is_text_whatever_it_contains():
    root = ElementTree.fromstring(draw_learning_curve(STEADY, "a<b>&\"'\x1b"))
    assert root.find("{*}title").text == "a<b>&\"'\N{REPLACEMENT CHARACTER}"
    assert root.get("role") == "img"
    assert [words for words, _, _ in texts(draw_learning_curve(STEADY, "a<b>"), "heading")] == ["a<b>"]


def test_the_file_needs_nothing_beside_itself():
    svg = draw_learning_curve(STEADY, "city").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"http|href|url\(|@import|var\(", svg)


def test_every_mark_has_a_colour_of_its_own_sheet():
    root = ElementTree.fromstring(draw_learning_curve(STEADY, "city"))
    sheet = root.find("{*}style").text
    coloured = set(re.findall(r"\.(\w+) \{[^}]*(?:stroke|fill): #", sheet))
    roles = {path.get("class").split()[-1] for path in root.findall(".//{*}path")}
    assert {"loss", "median", "mean", "best", "grid"} == roles <= coloured


def test_its_colours_stay_within_it():
    sheet = ElementTree.fromstring(draw_learning_curve(STEADY, "city")).find("{*}style").text
    selectors = [one.strip() for heads in re.findall(r"([^{}]+)\{", sheet) for one in heads.split(",")]
    assert selectors
    assert all(one.startswith(".learning ") for one in selectors)
    (group,) = (part for part in ElementTree.fromstring(draw_learning_curve(STEADY, "city")) if part.tag.endswith("}g"))
    assert group.get("class") == "learning"


def test_a_training_without_an_epoch_has_no_curve():
    with pytest.raises(ValueError, match="at least one epoch"):
        draw_learning_curve((), "city")


def test_reading_and_drawing_results_needs_no_torch():
    modules = "tmapr.reports.figures.learning_curve, tmapr.reports.tables.comparison"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
