"""Lines between a query and its matches: which are drawn, where they begin and end, and what is said of them."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmapr.reports.figures.gallery import Disagreements, Example, Match, render_gallery
from tmapr.reports.figures.local_matches import (
    APART,
    MOST,
    TiedPicture,
    choose_ties,
    describe_matches,
    draw_local_matches,
)
from tmapr.retrieval.verification import Matches

WIDE, TALL = np.full((60, 80), 90, np.uint8), np.full((80, 60), 90, np.uint8)
NUMBERS = r"(-?[\d.]+) (-?[\d.]+)"
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


NONE = matches([], [])


def marks(svg, shape):
    return [path.get("d") for path in svg.findall(".//{*}path") if path.get("class") == f"{shape} tie"]


def ends(path):
    """Where each line of a path begins and ends."""
    found = re.findall(f"M{NUMBERS}l{NUMBERS}", path)
    starts, steps = np.array(found, dtype=float).reshape(-1, 2, 2).transpose(1, 0, 2)
    return starts, starts + steps


def draw(left, right, query=WIDE, picture=WIDE):
    tied = TiedPicture("global retrieval", picture, left), TiedPicture("ours", picture, right)
    return ElementTree.fromstring(draw_local_matches("Frame 3", query, *tied))


def test_lines_go_from_the_query_in_the_middle_to_a_match_on_either_side():
    svg = draw(matches([[0, 0]], [[1, 0.75]]), matches([[0.5, 0.25]], [[0, 0.5]]))
    left, right = marks(svg, "line")
    # A picture is 300 wide and 225 high; the query begins at 310, the match on the right at 620.
    np.testing.assert_allclose(ends(left), [[[310, 0]], [[300, 225]]], atol=0.1)
    np.testing.assert_allclose(ends(right), [[[460, 75]], [[620, 150]]], atol=0.1)
    images = [[float(image.get(name)) for name in ("x", "y", "width", "height")] for image in svg.findall("{*}image")]
    assert images == [[0, 0, 300, 225], [310, 0, 300, 225], [620, 0, 300, 225]]
    assert svg.get("viewBox") == "0 0 920 225"


def test_points_of_an_upright_picture_are_in_its_height():
    svg = draw(NONE, matches([[0.75, 1.0]], [[0.75, 0.5]]), query=TALL, picture=TALL)
    np.testing.assert_allclose(ends(marks(svg, "line")[1]), [[[610, 400]], [[920, 200]]], atol=0.1)
    assert svg.get("viewBox") == "0 0 920 400"


def test_pictures_of_two_shapes_have_a_scale_each():
    svg = draw(NONE, matches([[1.0, 0.75]], [[0.75, 1.0]]), query=WIDE, picture=TALL)
    np.testing.assert_allclose(ends(marks(svg, "line")[1]), [[[610, 225]], [[920, 400]]], atol=0.1)


def test_both_ends_have_a_dot(rng):
    svg = draw(NONE, some(12, rng))
    spots = np.array(re.findall(f"M{NUMBERS}h0", marks(svg, "dots")[1]), dtype=float)
    np.testing.assert_allclose(spots, np.vstack(ends(marks(svg, "line")[1])), atol=0.11)


@pytest.mark.parametrize(("agreeing", "aligned", "chosen"), [([1, 1, 0, 0], [1, 0, 1, 0], [0]), ([0] * 4, [1] * 4, [])])
def test_only_pairs_that_agree_with_both_geometries_are_drawn_and_counted(agreeing, aligned, chosen):
    points = [[0.1, 0.1], [0.2, 0.3], [0.4, 0.1], [0.6, 0.6]]
    found = matches(points, points, np.array(agreeing, bool), np.array(aligned, bool))
    assert choose_ties(found).tolist() == chosen
    assert describe_matches(found) == f"4 matches, {len(chosen)} agree"


@pytest.mark.parametrize(("distance", "drawn"), [(0.99 * APART, 1), (1.01 * APART, 2)])
def test_neighbours_are_not_drawn_beside_one_another(distance, drawn):
    assert len(choose_ties(matches([[0.5, 0.5], [0.5, 0.5 + distance]], [[0.1, 0.1], [0.9, 0.9]]))) == drawn


@settings(max_examples=30, deadline=None)
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
    assert words(root) == [
        ["✗ global retrieval: 40.0 m away, cosine 0.900", "9 matches, 9 agree"],
        ["query"],
        ["✓ ours: 1.0 m away, cosine 0.800", "50 matches, 50 agree"],
    ]
    (svg,) = root.iter("{http://www.w3.org/2000/svg}svg")
    assert [len(ends(path)[0]) for path in marks(svg, "line")] == [9, MOST]
    assert root.find("img") is None
    assert "Lines join points" in root.findall("p")[1].text


def test_a_drawing_says_what_it_shows_to_those_who_cannot_see_it(rng):
    (svg,) = gallery(lambda *_: some(9, rng)).iter("{http://www.w3.org/2000/svg}svg")
    assert (svg.get("role"), svg.findtext("{*}title")) == ("img", svg.get("aria-label"))
    assert svg.get("aria-label").startswith("Frame 3: only ours is right. The query between the matches of")
    assert svg.findtext("{*}desc") == "global retrieval: 9 matches, 9 agree; ours: 9 matches, 9 agree"


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


def test_lines_take_little_of_a_page(rng):
    """Three pictures take 30 kB or so."""
    drawn = draw_local_matches("", WIDE, *(TiedPicture("", WIDE, some(200, rng)) for _ in range(2)))
    without = draw_local_matches("", WIDE, *(TiedPicture("", WIDE, NONE) for _ in range(2)))
    assert len(drawn) - len(without) < 5000
