"""The belief on the page: bars where the file has references, the truth where it is, nothing where there is none."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from made_up import run_block, write_block
from tmapr.reports.figures.route_belief import SPAN, RouteAxes, draw_belief
from tmapr.reports.figures.trajectory_map import MapAxes
from tmapr.reports.page.belief import list_beliefs
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun
from tmapr.retrieval.memory import remember


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    return ReportedRun.load(run_block(home).path)


@pytest.fixture(scope="module")
def drive(run):
    return run.sequences[0]


@pytest.fixture(scope="module")
def shown(run, drive):
    return list_beliefs(run, drive, range(len(drive.table.stamps)))


def without_beliefs(run):
    return replace(run, sequences=tuple(replace(s, trial=replace(s.trial, beliefs=None)) for s in run.sequences))


def bars(shown, row):
    """References of the page with their heights."""
    flat = shown["views"][shown["frames"][row]["view"]]
    return [(*shown["references"][number], height) for number, height in zip(flat[::2], flat[1::2], strict=True)]


def titles(text):
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    return [svg.find("{*}title").text for svg in root.findall(".//figure/div[@class='plot']/{*}svg")]


def test_a_bar_stands_where_its_reference_was_driven_by_and_is_as_high_as_the_root_of_its_probability(
    run, drive, shown
):
    (driven,) = run.memory.drives()
    ways = np.hypot(*np.diff(run.memory.positions[driven], axis=0).T)
    metres = dict(zip(driven.tolist(), np.append(0.0, np.cumsum(ways)).tolist(), strict=True))
    route, view = RouteAxes.of(run.memory), MapAxes.of(drive, run.references)
    for row in range(0, len(drive.table.stamps), 17):
        references, masses = drive.trial.beliefs.after(row)
        drawn = bars(shown, row)
        assert len(drawn) == len(references)
        for (x, map_x, map_y, height), reference, mass in zip(drawn, references.tolist(), masses, strict=True):
            assert x == pytest.approx(route.x(np.array([metres[reference]]))[0], abs=0.06)
            assert (map_x, map_y) == pytest.approx(view(run.memory.positions[[reference]])[0], abs=0.06)
            assert height == pytest.approx(np.sqrt(mass) * (SPAN[1] - SPAN[0]), abs=0.51)


def test_one_per_cent_is_a_tenth_of_the_strip_high():
    assert 0.1 * (SPAN[1] - SPAN[0]) > 10


def test_the_truth_is_marked_at_the_nearest_reference_and_nowhere_off_the_map(run, drive, shown):
    route, marked = RouteAxes.of(run.memory), 0
    for frame, true in zip(shown["frames"], drive.truth.values, strict=True):
        away = np.hypot(*(run.memory.positions - true).T)
        expected = [] if away.min() > 10.0 else [route.x(route.along[[away.argmin()]])[0]]
        assert frame["truth"] == pytest.approx(expected, abs=0.06)
        marked += len(expected)
    assert 0 < marked < len(shown["frames"])


def test_where_nobody_knows_the_truth_it_is_not_marked(run, drive):
    recording = replace(drive.trial.recording, known=np.zeros(len(drive.table.stamps), dtype=bool))
    recording.known[0] = True
    blind = replace(drive, trial=replace(drive.trial, recording=recording))
    assert [bool(frame["truth"]) for frame in list_beliefs(run, blind, [0, 1])["frames"]] == [True, False]


def test_the_shares_are_those_of_the_table(drive, shown):
    pairs = zip(drive.table.p_place.values, drive.table.p_off_map.values, strict=True)
    assert [frame["told"] for frame in shown["frames"]] == [[f"{100 * p:.1f} %" for p in pair] for pair in pairs]


def test_a_share_that_is_not_known_is_a_dash(run, drive):
    unknown = replace(drive.table.p_place, known=np.zeros(len(drive.table.stamps), dtype=bool))
    blank = replace(drive, trial=replace(drive.trial, table=replace(drive.table, p_place=unknown)))
    assert list_beliefs(run, blank, [3])["frames"][0]["told"][0] == "–"


def test_each_belief_and_each_reference_is_written_once(shown):
    assert len(set(map(tuple, shown["views"]))) == len(shown["views"]) < len(shown["frames"]) / 2
    assert {number for view in shown["views"] for number in view[::2]} == set(range(len(shown["references"])))


def test_a_page_has_less_than_two_hundred_bytes_more_per_frame_for_its_beliefs(run, drive):
    with_them, without = (len(render_page([each]).encode()) for each in (run, without_beliefs(run)))
    assert with_them - without < 15_000 + 200 * len(drive.table.stamps)


def test_without_beliefs_the_page_is_as_before(run):
    before, after = render_page([without_beliefs(run)]), render_page([run])
    added = {"Belief over the route of night", "Certainty over time of night", "Reliability on night"}
    assert [title for title in titles(after) if title not in added] == titles(before)
    (block,) = re.findall(r'<script type="application/json">(.*?)</script>', before)
    assert set(json.loads(block)) == {"frames", "cursor", "first"}
    assert 'data-layer="likely"' not in before
    assert 'data-layer="likely"' in after


def test_the_certainty_is_drawn_with_the_level_from_which_on_a_frame_is_localized(run):
    assert "localized from 0.95 on" in render_page([run])


@pytest.fixture
def two_ways(rng):
    """Ten metres there, and twenty elsewhere; rows are sorted by place."""
    track = np.array([[0.0, 0.0], [5, 0], [10, 0], [100, 0], [110, 0], [120, 0]])
    looks, stamps = rng.normal(size=(6, 4)), np.arange(6) * 10**9
    places, frames = np.array([2, 1, 0, 0, 1, 2]), np.array([0, 1, 2, 0, 1, 2])
    names = np.array(["<b>east</b>"] * 3 + ["west"] * 3)
    return remember(looks, track, places, stamps, frames=frames, sequences=names, probes=2)


def test_several_traverses_lie_one_after_another_under_their_names(two_ways):
    route = RouteAxes.of(two_ways)
    assert route.starts == (0.0, 10.0)
    assert [route.along[rows].tolist() for rows in two_ways.drives()] == [[0.0, 5.0, 10.0], [10.0, 20.0, 30.0]]
    words = [text.text for text in ElementTree.fromstring(draw_belief("night", two_ways)).findall(".//{*}text")]
    assert {"<b>east</b>", "west", "metres along the mapped traverses, one after another"} <= set(words)


def test_a_map_of_one_spot_has_an_axis(rng):
    spot = remember(
        rng.normal(size=(1, 4)), np.zeros((1, 2)), np.array([0]), np.array([0]), frames=np.array([0]), probes=1
    )
    assert RouteAxes.of(spot).x(np.array([0.0, 1.0])).tolist() == [138.0, 908.0]
