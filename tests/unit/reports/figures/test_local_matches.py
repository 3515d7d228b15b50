"""Lines between a query and its matches: which are drawn, and how many are told."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmapr.reports.figures.gallery import Disagreements, Example, Match, render_gallery
from tmapr.reports.figures.local_matches import (
    APART,
    MOST,
    choose_ties,
    describe_matches,
)
from tmapr.retrieval.verification import Matches

WIDE = np.full((60, 80), 90, np.uint8)
BOTH = Disagreements(1, 1, 0, (Example(3, Match(7, 40.0, 0.9, False), Match(2, 1.0, 0.8, True)),))


def matches(query, reference, agreeing=None, aligned=None):
    every = np.ones(len(query), dtype=bool)
    agreeing, aligned = (every if mask is None else np.array(mask) for mask in (agreeing, aligned))
    query, reference = (np.array(points, np.float32).reshape(-1, 2) for points in (query, reference))
    return Matches(query, reference, agreeing, aligned)


def some(count, rng):
    """So many matches, no two too close to be drawn."""
    places = rng.permutation(20 * 20)[:count]
    return matches(np.column_stack(np.divmod(places, 20)) / 20, rng.random((count, 2)))


@pytest.mark.parametrize(("agreeing", "aligned", "chosen"), [([1, 1, 0, 0], [1, 0, 1, 0], [0]), ([0] * 4, [1] * 4, [])])
def test_only_pairs_that_agree_with_both_geometries_are_drawn_and_counted(agreeing, aligned, chosen):
    points = [[0.1, 0.1], [0.2, 0.3], [0.4, 0.1], [0.6, 0.6]]
    found = matches(points, points, np.array(agreeing, bool), np.array(aligned, bool))
    assert choose_ties(found).tolist() == chosen
    assert describe_matches(found) == f"4 matches, {len(chosen)} agree"


@pytest.mark.parametrize(("distance", "drawn"), [(0.99 * APART, 1), (1.01 * APART, 2)])
def test_neighbours_are_not_drawn_beside_one_another(distance, drawn):
    assert len(choose_ties(matches([[0.5, 0.5], [0.5, 0.5 + distance]], [[0.1, 0.1], [0.9, 0.9]]))) == drawn


@given(count=st.integers(2, 150), size=st.floats(0.01, 1.0), seed=st.integers(0, 2**32 - 1))
def test_no_point_is_farther_from_those_drawn_than_these_are_apart_unless_it_is_close(count, size, seed):
    query, reference = size * np.random.default_rng(seed).random((2, count, 2))
    found = matches(query, reference)
    chosen = choose_ties(found)
    kept, between = found.query[chosen], ~np.eye(len(chosen), dtype=bool)
    apart = np.linalg.norm(kept[:, None] - kept, axis=2)[between].min(initial=np.inf)
    missed = np.linalg.norm(found.query[:, None] - kept, axis=2).min(axis=1).max()
    assert len(chosen) <= MOST
    assert apart >= APART - 1e-6  # float32 of points up to 1
    assert missed < (APART if len(chosen) < MOST else apart) + 1e-6


def gallery(local, query=WIDE):
    return ElementTree.fromstring(render_gallery(BOTH, lambda _: query, lambda _: WIDE, local))


def words(root):
    return [[line.text for line in panel.iter("p")] for panel in root.iter("div") if panel.get("class")[:6] == "panel "]


def test_each_match_has_its_own_lines_and_its_counts_beneath(rng):
    local = {(3, 7): some(9, rng), (3, 2): some(50, rng)}
    root = gallery(lambda row, column: local[row, column])
    assert [lines[1:] for lines in words(root)] == [["9 matches, 9 agree"], [], ["50 matches, 50 agree"]]
    ties = [path.get("d") for path in root.findall(".//{*}path") if path.get("class") == "line tie"]
    assert [path.count("M") for path in ties] == [9, MOST]


def test_without_a_picture_the_counts_remain_and_no_line_is_drawn(rng):
    root = gallery(lambda *_: some(9, rng), query=None)
    assert root.find(".//{http://www.w3.org/2000/svg}svg") is None
    assert [len(lines) for lines in words(root)] == [2, 2, 2]
    assert len(root.findall("p")) == 1


def test_without_keypoints_the_gallery_is_as_without_any_of_this():
    told = render_gallery(BOTH, lambda _: WIDE, lambda _: WIDE, lambda *_: None)
    assert told == render_gallery(BOTH, lambda _: WIDE, lambda _: WIDE)
    assert "<svg" not in told
    assert "agree" not in told
