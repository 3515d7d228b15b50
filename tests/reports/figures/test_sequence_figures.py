"""The figures: drawn from a few frames whose picture is known."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import FRAMES, TRACE, ellipses, everywhere, retold, sequence
from tmapr.artifacts.trajectory import Column
from tmapr.reports.drawing.svg import WIDTH, Key, layer_keys, legend
from tmapr.reports.figures.error_curve import draw_errors, list_error_keys
from tmapr.reports.figures.trajectory_map import MapAxes, count_unseen, draw_map, list_map_keys
from tmapr.reports.figures.verdicts import draw_reasons, draw_similarities
from tmapr.reports.reported import TimedPath
from tmapr.types import NANOSECONDS, Reason, Status

NAMES = ("x", "y")
REFERENCES = (TimedPath(np.arange(FRAMES, dtype=float), TRACE),)


def at(seconds):
    return np.round(seconds * NANOSECONDS).astype(np.int64)


def drawn(svg):
    return ElementTree.fromstring(svg)


def marks(svg, role):
    return [mark for mark in drawn(svg).iter() if role in mark.get("class", "").split() and mark.get("d")]


def points(mark):
    """The corners of a path of one absolute start and relative steps."""
    numbers = [[float(x), float(y)] for x, y in re.findall(r"[Ml](-?[\d.]+) (-?[\d.]+)", mark.get("d"))]
    return np.cumsum(numbers, axis=0)


def points_of(part):
    """The corners of one stretch of a path, without its M."""
    return np.cumsum([[float(x), float(y)] for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", part)], axis=0)


@pytest.mark.parametrize("view", [draw_errors, draw_similarities, lambda drive: draw_map(drive, REFERENCES, NAMES)])
def test_a_figure_is_well_formed_and_names_itself(view):
    root = drawn(view(sequence(name="a<b>&\"'")))
    assert "a<b>&\"'" in root.find("{*}title").text
    assert root.get("role") == "img"


def test_a_metre_is_as_long_to_the_east_as_to_the_north(rng):
    view = MapAxes.around(rng.normal(size=(9, 2)) * [300, 20], np.zeros((1, 2)))
    (x0, y0), (x1, y1) = view(np.array([[0.0, 0.0], [1.0, 1.0]])).tolist()
    assert x1 - x0 == pytest.approx(y0 - y1)


def test_north_is_up():
    view = MapAxes.around(TRACE, TRACE)
    south, north = view(np.array([[0.0, 0.0], [0.0, 5.0]]))[:, 1]
    assert north < south


def test_all_that_was_driven_is_in_view(rng):
    driven = rng.normal(size=(50, 2)) * [10, 400]
    assert len(MapAxes.around(driven, np.zeros((1, 2))).keep_inside(driven)) == 50


def test_a_stray_estimate_does_not_shrink_the_map_and_is_counted():
    fused = TRACE.copy()
    fused[5:7] = [[1e6, 1e6], [-1e6, -1e6]]
    view = MapAxes.around(TRACE, fused)
    assert view.x.high - view.x.low < 250
    assert count_unseen(sequence(fused=everywhere(fused)), REFERENCES) == 2


def test_the_map_of_a_camera_that_stood_still_can_be_drawn():
    here = everywhere(np.zeros((FRAMES, 2)))
    still = sequence(truth=here, fused=here, apr=here)
    assert marks(draw_map(still, [TimedPath(REFERENCES[0].seconds, here.values)], NAMES), "truth")


def test_the_fused_line_changes_its_role_with_the_status_and_has_no_hole():
    svg = draw_map(sequence(), REFERENCES, NAMES)
    localized, lost = (points(marks(svg, role)[0]) for role in ("localized", "lost"))
    np.testing.assert_allclose(localized[-1], lost[0], atol=0.15)


def test_the_legend_names_only_what_is_drawn():
    words = [key.words for key in list_map_keys(sequence())]
    drawn = ["mapped route", "truth", "track, localized", "track, lost", "pose head", "95 % ellipse"]
    assert words == [*drawn, "errors as colours"]


def test_where_nobody_knows_the_truth_no_key_names_it_and_nothing_of_it_is_drawn():
    blind = sequence(truth=Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool)))
    words = [key.words for key in list_map_keys(blind)]
    assert words == ["mapped route", "track, localized", "track, lost", "pose head", "95 % ellipse"]
    assert [key.words for key in list_error_keys(blind)] == ["95 % semi-axis stated by the filter"]
    svg = draw_map(blind, REFERENCES, NAMES)
    assert [mark.get("d") for role in ("truth", "graded") for mark in marks(svg, role)] == ["M0 0"] * 4
    (start,) = marks(svg, "start")
    place = MapAxes.of(blind, REFERENCES)(blind.fused.values[:1])[0]
    assert points(start)[0] == pytest.approx(place, abs=0.06)


def test_without_truth_the_axis_shows_what_the_filter_states():
    none = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))
    svg = draw_errors(sequence(truth=none, covariances=ellipses(np.full(FRAMES, 30.0))))
    band = points(marks(svg, "band")[-1])[:, 1]
    decades = {
        text.text: float(text.get("y")) - 4
        for text in drawn(svg).findall(".//{*}text")
        if text.text in ("10", "100") and text.get("text-anchor") == "end"
    }
    share = np.log10(3.0)
    assert band == pytest.approx(decades["10"] + share * (decades["100"] - decades["10"]), abs=0.2)
    assert "stated 95 % semi-axis, m" in [text.text for text in drawn(svg).findall(".//{*}text")]


def test_errors_as_colours_follow_the_true_path_in_three_grades():
    aside = np.repeat([0.5, 5.0, 50.0], [20, 10, 10])
    drive = sequence(fused=everywhere(TRACE + aside[:, None] * [0, 1]))
    view, svg = MapAxes.of(drive, REFERENCES), draw_map(drive, REFERENCES, NAMES)
    for role, first, last in (("small", 0, 20), ("medium", 20, 30), ("large", 30, 39)):
        (mark,) = [mark for mark in marks(svg, role) if "graded" in mark.get("class")]
        np.testing.assert_allclose(points(mark)[[0, -1]], view(TRACE[[first, last]]), atol=0.15)


@pytest.mark.parametrize(
    ("keys", "view"),
    [(list_map_keys, lambda drive: draw_map(drive, REFERENCES, NAMES)), (list_error_keys, draw_errors)],
)
def test_each_key_is_the_switch_of_a_layer_with_marks(keys, view):
    misled = sequence(reasons=(Reason.ACCEPTED,) * FRAMES)
    switches = [key.get("data-switch") for key in drawn(layer_keys(keys(misled))).iter("button")]
    layers = {layer.get("data-layer"): layer for layer in drawn(view(misled)).iter() if layer.get("data-layer")}
    assert len(switches) >= 4
    # The ellipse is that of the frame that is looked at: a script draws it.
    for switch in set(switches) - {"ellipse"}:
        assert [mark for mark in layers[switch].iter() if mark.get("d", "M0 0") != "M0 0"]
    assert set(switches) <= set(layers)


def test_a_line_leads_from_each_frame_to_the_wrong_match_that_was_believed():
    reasons = (Reason.ACCEPTED,) * 32 + (Reason.JUMPS,) * 8
    drive = sequence(reasons=reasons)
    view = MapAxes.of(drive, REFERENCES)
    (mark,) = [mark for mark in marks(draw_map(drive, REFERENCES, NAMES), "wrong") if "line" in mark.get("class")]
    routes = [points_of(part) for part in mark.get("d").split("M")[1:]]
    assert len(routes) == 2
    for row, route in zip((30, 31), routes, strict=True):
        ends = view(np.vstack([TRACE[row], drive.table.reference_positions.values[row]]))
        np.testing.assert_allclose(route, ends, atol=0.15)
    assert "wrong match accepted: 2" in [key.words for key in list_map_keys(drive)]


def test_a_wrong_match_stands_out_in_the_error_curve():
    assert "wrong match accepted" not in [key.words for key in list_error_keys(sequence())]
    misled = sequence(reasons=(Reason.ACCEPTED,) * FRAMES)
    (spots,) = marks(draw_errors(misled), "wrong")
    assert spots.get("d").count("M") == 10


def test_sampled_frames_are_numbered_where_they_were_taken():
    drive = sequence()
    svg = drawn(draw_map(drive, REFERENCES, NAMES, [5, 20]))
    numbers = [text for text in svg.iter() if text.get("class") == "number"]
    assert [text.text for text in numbers] == ["1", "2"]
    expected = MapAxes.of(drive, REFERENCES)(TRACE[[5, 20]])[:, 0]
    assert [float(text.get("x")) for text in numbers] == pytest.approx(expected.tolist(), abs=0.06)


def test_where_the_truth_is_unknown_a_frame_is_where_it_was_said_to_be():
    known = np.arange(FRAMES) != 20
    drive = sequence(truth=Column(np.where(known[:, None], TRACE, np.nan), known))
    svg = drawn(draw_map(drive, REFERENCES, NAMES, [20]))
    (number,) = [text for text in svg.iter() if text.get("class") == "number"]
    place = MapAxes.of(drive, REFERENCES)(drive.fused.values[[20]])[0]
    assert (float(number.get("x")), float(number.get("y")) - 4) == pytest.approx(tuple(place), abs=0.06)


def test_a_long_legend_is_continued_on_the_next_line():
    keys = [Key("line", "truth", "a name of some length")] * 9
    texts = [ElementTree.fromstring(text) for text in re.findall("<text.*?</text>", legend(keys, 78.0, 14.0))]
    assert max(float(text.get("x")) for text in texts) < WIDTH - 100
    assert len({text.get("y") for text in texts}) == 3


def test_without_a_pose_head_no_apr_is_drawn_or_named():
    none = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))
    without = sequence(apr=none)
    assert "pose head" not in {key.words for key in [*list_map_keys(without), *list_error_keys(without)]}
    for svg in (draw_map(without, REFERENCES, NAMES), draw_errors(without)):
        assert [mark.get("d") for mark in marks(svg, "apr")] == ["M0 0"]


def test_no_line_crosses_a_silence():
    seconds = np.arange(FRAMES, dtype=float)
    seconds[20:] += 60
    svg = draw_map(sequence(stamps=at(seconds), statuses=(Status.LOCALIZED,) * FRAMES), REFERENCES, NAMES)
    for role in ("truth", "localized"):
        assert marks(svg, role)[-1].get("d").count("M") == 2


def test_a_status_that_begins_after_a_silence_is_not_joined_to_what_was_before():
    seconds = np.arange(FRAMES, dtype=float)
    seconds[30:] += 60
    svg = draw_map(sequence(stamps=at(seconds)), REFERENCES, NAMES)
    localized, lost = (points(marks(svg, role)[-1]) for role in ("localized", "lost"))
    assert lost[0, 0] - localized[-1, 0] > 5


def test_no_status_lasts_through_a_silence():
    seconds = np.arange(FRAMES, dtype=float)
    seconds[20:] += 60
    svg = draw_errors(sequence(stamps=at(seconds), statuses=(Status.LOCALIZED,) * FRAMES))
    assert lane(svg, "localized").count("M") == 2


def test_ten_times_the_error_is_one_decade_higher():
    svg = draw_errors(sequence())
    fused, apr = (points(marks(svg, role)[-1])[0, 1] for role in ("fused", "apr"))
    decades = [
        float(text.get("y"))
        for text in drawn(svg).findall(".//{*}text")
        if text.text in ("1", "10") and text.get("text-anchor") == "end"
    ]
    assert fused - apr == pytest.approx(abs(decades[0] - decades[-1]), abs=0.2)


def test_one_enormous_error_leaves_the_others_readable():
    fused = TRACE + np.array([0, 1.0])
    fused[3] = [1e9, 1e9]
    heights = points(marks(draw_errors(sequence(fused=everywhere(fused))), "fused")[-1])[:, 1]
    assert heights.min() == pytest.approx(16.0)
    assert np.median(heights) < 272 - 40


def test_the_band_is_as_high_as_the_stated_semi_axis():
    svg = draw_errors(sequence(covariances=ellipses(np.full(FRAMES, 10.0))))
    band, apr = (points(marks(svg, role)[-1])[0, 1] for role in ("band", "apr"))
    assert band == pytest.approx(apr, abs=0.2)


def test_frames_without_truth_have_no_error():
    known = np.arange(FRAMES) < 10
    curve = points(marks(draw_errors(sequence(truth=Column(TRACE, known))), "fused")[-1])
    whole = points(marks(draw_errors(sequence()), "fused")[-1])
    assert curve[:, 0].max() < whole[:, 0].max() / 2


def test_an_exact_estimate_is_drawn_on_the_edge():
    assert marks(draw_errors(sequence(fused=everywhere(TRACE), apr=everywhere(TRACE))), "fused")


def lane(svg, role):
    return next(mark.get("d") for mark in marks(svg, role) if mark.get("class") == f"area {role}")


def test_each_status_is_shown_in_a_lane_of_its_own_while_it_lasts():
    svg = draw_errors(sequence())
    localized, lost = (re.match(r"M([\d.]+) ([\d.]+)h([\d.]+)v", lane(svg, role)) for role in ("localized", "lost"))
    assert localized.group(2) != lost.group(2)
    assert float(localized.group(1)) + float(localized.group(3)) == pytest.approx(float(lost.group(1)), abs=1.5)
    assert lane(svg, "predicting") == "M0 0"


def test_the_longest_bar_is_the_most_frequent_reason():
    bars = list(drawn(draw_reasons("night", {"accepted": 30, "jumps": 10})).findall(".//{*}rect"))
    assert [bar.get("class") for bar in bars] == ["area localized", "area refused"]
    assert float(bars[0].get("width")) == pytest.approx(3 * float(bars[1].get("width")), abs=0.2)


def test_right_candidates_stand_above_zero_and_wrong_ones_hang_below():
    svg = draw_similarities(sequence())
    (right,), (wrong,) = (
        [bar for bar in drawn(svg).findall(".//{*}rect") if role in bar.get("class")] for role in ("localized", "wrong")
    )
    assert float(right.get("height")) == pytest.approx(3 * float(wrong.get("height")), abs=0.2)
    assert float(right.get("y")) + float(right.get("height")) == pytest.approx(float(wrong.get("y")), abs=0.2)
    assert {"↑ right: 30", "↓ wrong: 10"} <= {text.text for text in drawn(svg).findall(".//{*}text")}


def test_the_threshold_lies_between_the_candidates_that_it_separates():
    svg = draw_similarities(sequence())
    right, wrong = (
        next(bar for bar in drawn(svg).findall(".//{*}rect") if role in bar.get("class"))
        for role in ("localized", "wrong")
    )
    threshold = points(marks(svg, "threshold")[0])[0, 0]
    assert float(wrong.get("x")) < threshold < float(right.get("x"))


def test_without_candidates_there_is_no_histogram():
    drive, none = sequence(), Column(np.full(FRAMES, np.nan), np.zeros(FRAMES, dtype=bool))
    assert draw_similarities(retold(drive, first=replace(drive.table.first, similarities=none))) is None


def test_the_histogram_is_of_the_candidate_that_ranked_first_and_not_of_the_judged_one():
    drive = sequence()
    judged = retold(drive, similarities=everywhere(np.ones(FRAMES)), reference_positions=everywhere(TRACE + 500.0))
    assert draw_similarities(judged) == draw_similarities(drive)


def test_a_jittery_hour_stays_small(rng):
    count = 10_000
    way = np.column_stack([np.linspace(0, 3000, count), 400 * np.sin(np.linspace(0, 9, count))])
    drive = sequence(
        trace=way,
        fused=everywhere(way + rng.normal(size=(count, 2))),
        apr=everywhere(way + 5 * rng.normal(size=(count, 2))),
        stamps=at(np.arange(count) / 10),
        reference_positions=everywhere(way + 50 * rng.normal(size=(count, 2))),
        reasons=(Reason.ACCEPTED,) * count,
        covariances=ellipses(rng.uniform(1, 10, count)),
        statuses=tuple(list(Status)[number] for number in rng.integers(4, size=count)),
    )
    first = replace(drive.table.first, positions=drive.table.reference_positions)
    long = retold(drive, first=replace(first, similarities=everywhere(rng.uniform(0, 1, count))))
    sizes = [
        len(draw_map(long, [TimedPath(long.seconds, way)], NAMES)),
        len(draw_errors(long)),
        len(draw_similarities(long)),
    ]
    assert sum(sizes) < 1_100_000
