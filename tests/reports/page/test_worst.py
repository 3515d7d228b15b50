"""The worst frames: the largest of distinct stretches, each with its numbers and a way to the explorer."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import FRAMES, TRACE, ellipses, everywhere, sequence
from filmed import decoded, filmed_run, seen_in
from tmapr.artifacts.trajectory import Column
from tmapr.reports.page.footage import WORST, Footage, choose_rows, choose_worst, find_peaks
from tmapr.reports.page.page import render_page
from tmapr.reports.page.worst import render_worst
from tmapr.reports.reported import ReportedRun


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return ReportedRun.load(filmed_run(tmp_path_factory.mktemp("home")).path)


def hills(*peaks, count=400):
    """Low ground with a triangle of some height and half width at each of these rows."""
    values, rows = np.full(count, 0.1), np.arange(count)
    for at, height, half in peaks:
        values = np.maximum(values, height * (1 - np.abs(rows - at) / half))
    return values


def test_of_each_stretch_the_largest_is_taken_the_worst_first():
    values = hills((50, 20.0, 30), (150, 5.0, 20), (300, 60.0, 40))
    assert find_peaks(values, 3) == [300, 50, 150]


def test_neighbours_of_a_peak_are_not_shown_beside_it():
    values = hills((100, 50.0, 60))
    values[104] = 49.0
    first, second = find_peaks(values, 2)
    assert first == 100
    assert values[second] < 25.0


def test_a_stretch_lasts_while_half_of_its_largest_is_left():
    values = np.full(200, 0.1)
    values[20:180] = 30.0
    values[[60, 140]] = [50.0, 45.0]
    values[100] = 24.0
    assert find_peaks(values, 2) == [60, 140]
    values[100] = 26.0
    assert find_peaks(values, 2)[1] != 140


def test_there_are_no_more_than_asked_for_and_none_of_nothing():
    assert len(find_peaks(np.random.default_rng(1).uniform(size=1000), 6)) == 6
    assert find_peaks(np.zeros(50), 6) == []


def test_with_truth_errors_count_and_without_what_the_filter_states():
    stated = ellipses(np.where(np.arange(FRAMES) == 7, 90.0, 2.0))
    aside = np.where(np.arange(FRAMES) == 31, 40.0, 1.0)
    told = sequence(fused=everywhere(TRACE + aside[:, None] * [0, 1]), covariances=stated)
    unknown = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))
    blind = sequence(truth=unknown, covariances=stated)
    assert (choose_worst(told)[0], choose_worst(blind)[0]) == (31, 7)


def test_a_frame_without_truth_is_not_among_the_worst_of_the_others():
    known = np.arange(FRAMES) < 20
    drive = sequence(truth=Column(np.where(known[:, None], TRACE, np.nan), known))
    assert max(choose_worst(drive)) < 20


def test_what_is_asked_for_is_always_shown():
    rows = choose_rows(np.arange(1000) % 3 == 0, 60, [7, 501, 998])
    assert {7, 501, 998} <= set(rows.tolist())
    assert len(rows) == len(set(rows.tolist())) == 60


def test_each_has_its_pictures_its_numbers_and_a_link_to_its_frame(run):
    (drive,) = run.sequences
    footage = Footage.of(run, drive, 100)
    entries = ElementTree.fromstring(f"<div>{render_worst(drive, footage, 'there')}</div>").findall("ol/li")
    assert len(entries) == len(footage.worst) == WORST
    errors = drive.errors(drive.fused).values
    for entry, row in zip(entries, footage.worst, strict=True):
        query, *answer = [seen_in(decoded(image.get("src"))) for image in entry.findall(".//img")]
        assert query == ("night", row)
        assert bool(answer) == bool(drive.table.references.known[row])
        assert [part.text for part in entry.find("dl")][:2] == ["error", f"{errors[row]:.2f} m"]
        link = entry.find("a")
        assert link.get("href") == "#there"
        assert footage.rows[int(link.get("data-frame"))] == row


def test_the_page_offers_every_frame_that_it_links_to(run):
    other = replace(run, sequences=run.sequences * 3)
    text = render_page([other])
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', text)
    frames = [json.loads(block)["frames"] for block in blocks]
    links = re.findall(r'data-frame="(\d+)">Show frame (\d+)', text)
    assert len(links) == 3 * WORST
    for number, (place, row) in enumerate(links):
        assert frames[number // WORST][int(place)]["title"] == f"frame {row} of night"
