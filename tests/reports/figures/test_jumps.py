"""The jumpy input against the fused track, read back from the drawing: every step is there, in the role it deserves."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tmapr.reports.figures.jumps import SteppedPath, draw_jumps
from tmapr.reports.reported import TimedPath

FRAMES = 40
SECONDS = np.arange(FRAMES, dtype=float)
WAY = np.column_stack([np.linspace(0, 78, FRAMES), np.linspace(0, 39, FRAMES)])
TRUTH = TimedPath(SECONDS, WAY)


def stepped(positions, at=(), name="fused", seconds=SECONDS):
    jumps = np.zeros(len(positions) - 1, dtype=bool)
    jumps[list(at)] = True
    return SteppedPath(name, TimedPath(seconds, positions), jumps)


def thrown(*frames):
    """The way with some frames 20 m aside, to where the view still reaches."""
    positions = WAY.copy()
    positions[list(frames), 1] += np.where(WAY[list(frames), 1] < 19, 20.0, -20.0)
    return positions


CALM = stepped(WAY)
JUMPY = stepped(thrown(10, 25), (9, 10, 24, 25), "APR")


def view(given=JUMPY, fused=CALM, name="night"):
    return draw_jumps(name, given, fused, truth=TRUTH, names=("east", "north"))


def words(svg):
    return [text.text for text in ElementTree.fromstring(svg).findall(".//{*}text")]


def routes(svg, role):
    """The lines of a role in metres, by the numbers beside the axes; the legend's swatch, which comes last, is left."""
    paths = [
        path.get("d")
        for path in ElementTree.fromstring(svg).findall(".//{*}path")
        if path.get("class") == f"line {role}"
    ]
    pixels = [np.cumsum(corners(part), axis=0) for part in paths[0].split("M")[1:]] if paths[0] != "M0 0" else []
    return [metres(svg, route) for route in pixels]


def corners(part):
    return np.array([[float(x), float(y)] for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", part)])


def metres(svg, pixels):
    ticks = [text for text in ElementTree.fromstring(svg).findall(".//{*}text") if text.get("class") == "tick"]
    axes = []
    for anchor, place, offset in (("middle", "x", 0), ("end", "y", 4)):
        along = [text for text in ticks if text.get("text-anchor") == anchor]
        values = [float(text.text.replace("−", "-")) for text in along]
        axes.append(np.polyfit([float(text.get(place)) - offset for text in along], values, 1))
    return np.column_stack([np.polyval(axis, pixels[:, column]) for column, axis in enumerate(axes)])


def test_each_jump_is_drawn_from_where_it_starts_to_where_it_ends():
    expected = [JUMPY.track.positions[start : start + 2] for start in (9, 10, 24, 25)]
    # A tenth of a pixel is a hundredth of a metre here.
    np.testing.assert_allclose(routes(view(), "jump"), expected, atol=0.05)


def test_what_is_no_jump_is_drawn_as_the_input():
    calm = routes(view(), "apr")
    ends = [route[[0, -1]] for route in calm if len(route) > 1]
    expected = [JUMPY.track.positions[[start, stop]] for start, stop in ((0, 9), (11, 24), (26, 39))]
    np.testing.assert_allclose(ends, expected, atol=0.05)
    # Between two jumps a frame has no calm step, and is a dot.
    alone = [route[0] for route in calm if len(route) == 1]
    np.testing.assert_allclose(alone, JUMPY.track.positions[[10, 25]], atol=0.05)


def test_jumps_are_counted_for_both_tracks():
    svg = view(fused=stepped(thrown(5), (4, 5)))
    assert {"APR: jumps in 4 of 39 steps", "fused: jumps in 2 of 39 steps"} <= set(words(svg))
    described = ElementTree.fromstring(svg).find("{*}desc").text
    assert "APR: jumps in 4 of 39 steps; fused: jumps in 2 of 39 steps" in described


def test_jumps_of_the_fused_track_are_marked_too():
    fused = stepped(thrown(5), (4, 5))
    expected = [fused.track.positions[start : start + 2] for start in (4, 5)]
    np.testing.assert_allclose(routes(view(fused=fused), "fused jump"), expected, atol=0.05)
    assert routes(view(), "fused jump") == []


def test_the_fused_track_and_the_truth_are_drawn_whole():
    for role in ("fused localized", "truth"):
        (route,) = routes(view(), role)
        np.testing.assert_allclose(route[[0, -1]], WAY[[0, -1]], atol=0.05)


def test_no_line_crosses_a_silence_but_a_jump_over_it_is_drawn():
    seconds = SECONDS + np.where(np.arange(FRAMES) >= 20, 60.0, 0.0)
    silent = stepped(WAY, seconds=seconds, name="APR")
    assert [len(routes(view(given=given), "apr")) for given in (silent, replace(silent, track=TRUTH))] == [2, 1]
    jumping = stepped(thrown(*range(20, 40)), (19,), "APR", seconds)
    ((start, stop),) = routes(view(given=jumping), "jump")
    np.testing.assert_allclose([start, stop], jumping.track.positions[19:21], atol=0.05)


def test_a_jump_after_a_silence_breaks_the_line_where_it_happens():
    seconds = SECONDS + np.where(np.arange(FRAMES) >= 20, 60.0, 0.0)
    jumping = stepped(thrown(*range(30, 40)), (29,), "APR", seconds)
    ends = [route[[0, -1]] for route in routes(view(given=jumping), "apr")]
    expected = [jumping.track.positions[[start, stop]] for start, stop in ((0, 19), (20, 29), (30, 39))]
    np.testing.assert_allclose(ends, expected, atol=0.05)


def test_jumps_that_differ_by_a_few_pixels_are_all_drawn():
    positions = np.array([[10, 10], [40, 20], [10.5, 10], [40, 20.5], [11, 10.5]])
    given = stepped(positions, range(4), "APR", SECONDS[:5])
    np.testing.assert_allclose(routes(view(given=given), "jump"), [positions[n : n + 2] for n in range(4)], atol=0.05)


def test_positions_outside_the_view_are_counted_and_shrink_nothing():
    far = WAY.copy()
    far[[3, 4]] = [1e5, -1e5]
    svg = view(given=stepped(far, (2, 4), "APR"))
    assert "APR: jumps in 2 of 39 steps (outside the view: 2)" in words(svg)
    assert "−100000" not in words(svg)


def test_each_step_is_said_to_be_a_jump_or_not():
    with pytest.raises(ValueError, match="40 positions have one step less, got 40"):
        SteppedPath("APR", TRUTH, np.zeros(FRAMES, dtype=bool))


def test_a_single_position_has_no_step():
    one = SteppedPath("APR", TimedPath(SECONDS[:1], WAY[:1]), np.zeros(0, dtype=bool))
    assert "APR: jumps in 0 of 0 steps" in words(view(given=one))


def test_a_jump_that_is_made_again_and_again_is_drawn_once_and_counted_always():
    count = 10_000
    way = np.where(np.arange(count)[:, None] % 2, WAY[30], WAY[5])
    svg = view(given=stepped(way, range(count - 1), "APR", np.arange(count, dtype=float)))
    assert f"APR: jumps in {count - 1} of {count - 1} steps" in words(svg)
    assert len(routes(svg, "jump")) == 2
    assert len(svg) < 300_000


def test_the_legend_lies_beneath_the_axes_and_inside():
    root = ElementTree.fromstring(view())
    height = float(root.get("viewBox").split()[3])
    places = {text.get("class"): float(text.get("y")) for text in root.findall(".//{*}text") if text.get("y")}
    assert places["tick"] < places["title"] < places["key"] < height


def test_names_mean_themselves():
    hostile = "<b>&\"'"
    svg = view(given=stepped(WAY, name=hostile), name=hostile)
    assert hostile in ElementTree.fromstring(svg).find("{*}title").text
    assert f"{hostile}: jumps in 0 of 39 steps" in words(svg)
