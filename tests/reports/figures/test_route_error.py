"""The error along the way, read back from the drawing."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import FRAMES, TRACE, everywhere, sequence
from tmapr.artifacts.trajectory import Column
from tmapr.reports.figures.route_error import ROUTE_KEYS, draw_route_errors
from tmapr.retrieval.memory import remember


def ticks(svg, anchor, place):
    return {
        text.text: float(text.get(place))
        for text in ElementTree.fromstring(svg).findall(".//{*}text")
        if text.get("class") == "tick" and text.get("text-anchor") == anchor
    }


def paths(svg, name):
    return [path.get("d") for path in ElementTree.fromstring(svg).findall(".//{*}path") if path.get("class") == name]


def corners(data):
    return np.cumsum([[float(x), float(y)] for x, y in re.findall(r"[Ml](-?[\d.]+) (-?[\d.]+)", data)], axis=0)


def metres_at(svg, x):
    across = ticks(svg, "middle", "x")
    return (x - across["0"]) / (across["100"] - across["0"]) * 100


def test_an_error_stands_over_the_metres_that_were_driven_to_it():
    aside = np.ones(FRAMES)
    aside[17] = 10.0
    drive = sequence(fused=everywhere(TRACE + aside[:, None] * [0, 1]))
    svg = draw_route_errors(drive)
    (line,) = paths(svg, "line fused localized")
    points, up = corners(line), ticks(svg, "end", "y")
    x, y = points[points[:, 1].argmin()]
    assert metres_at(svg, x) == pytest.approx(TRACE[17, 0], abs=0.05)
    assert y == pytest.approx(up["10"] - 4, abs=0.1)


def test_only_frames_that_are_localized_and_beyond_ten_metres_are_marked_wrong():
    aside = np.where(np.isin(np.arange(FRAMES), [5, 35]), 10.5, 1.0)
    svg = draw_route_errors(sequence(fused=everywhere(TRACE + aside[:, None] * [0, 1])))
    (found,) = paths(svg, "dots wrong")
    # Frame 35 is lost.
    ((x, _),) = [map(float, spot) for spot in re.findall(r"M(-?[\d.]+) (-?[\d.]+)", found)]
    assert metres_at(svg, x) == pytest.approx(TRACE[5, 0], abs=0.05)


def test_shaded_is_what_has_no_reference_within_ten_metres():
    drive, near = sequence(), np.array([0.0, 10.0, 20.0, 30.0])
    places = np.column_stack([near, np.zeros(4)])
    looks, rows = np.eye(4), np.arange(4)
    memory = remember(looks, places, np.zeros(4, dtype=int), rows, frames=rows, probes=2)
    svg = draw_route_errors(replace(drive, trial=replace(drive.trial, memory=memory)))
    (shaded,) = paths(svg, "area outside")
    left, width = map(float, re.match(r"M(-?[\d.]+) [\d.]+h([\d.]+)v", shaded).groups())
    first = TRACE[TRACE[:, 0] > 40.0][0, 0]
    assert [metres_at(svg, x) for x in (left, left + width)] == pytest.approx([first, 100.0], abs=0.05)


def test_frames_have_the_numbers_that_they_have_on_the_map():
    known = np.arange(FRAMES) != 20
    drive = sequence(truth=Column(np.where(known[:, None], TRACE, np.nan), known))
    svg = draw_route_errors(drive, [5, 20, 30])
    numbers = [text for text in ElementTree.fromstring(svg).findall(".//{*}text") if text.get("class") == "number"]
    assert [text.text for text in numbers] == ["1", "3"]
    places = [metres_at(svg, float(text.get("x"))) for text in numbers]
    assert places == pytest.approx([TRACE[5, 0], TRACE[30, 0]], abs=0.05)


def test_each_key_is_the_switch_of_a_layer():
    layers = {part.get("data-layer") for part in ElementTree.fromstring(draw_route_errors(sequence())).iter()}
    assert {key.role for key in ROUTE_KEYS} <= layers


def test_without_truth_there_is_no_error_to_draw():
    unknown = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))
    assert draw_route_errors(sequence(truth=unknown)) is None
