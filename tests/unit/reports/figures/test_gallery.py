"""The match gallery: which frames are chosen, and that the pictures are theirs."""

import base64
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from tmapr.artifacts.trajectory import Column
from tmapr.reports.drawing.pictures import panels
from tmapr.reports.figures.gallery import APART, find_disagreements, render_gallery

NO_REFERENCE = np.iinfo(np.int64).min
REFERENCES = np.column_stack([np.arange(50) * 5.0, np.zeros(50)])


def everywhere(values):
    return Column(values, np.ones(len(values), dtype=bool))


def contest(best, own, count=None):
    """Queries at reference 0; retrieval finds the references `best`, ours `own`."""
    best, own = np.array(best), np.array(own)
    similarities = np.full((len(best), len(REFERENCES)), 0.1)
    similarities[np.arange(len(best)), best] = 0.9
    truth = everywhere(np.zeros((len(best), 2)))
    return find_disagreements(
        similarities, REFERENCES, truth=truth, ours=everywhere(own), **({"most": count} if count else {})
    )


def kinds(examples):
    return [(example.ours.right, example.globally.right) for example in examples.shown]


def test_the_counts_are_those_of_a_brute_force_comparison(rng):
    similarities, truth = rng.normal(size=(300, 50)), rng.uniform(0, 250, size=(300, 2)) * [1, 0.02]
    ours, known, found = rng.integers(50, size=300), rng.random(300) < 0.8, rng.random(300) < 0.7
    examples = find_disagreements(
        similarities,
        REFERENCES,
        truth=Column(np.where(known[:, None], truth, np.nan), known),
        ours=Column(np.where(found, ours, NO_REFERENCE), found),
    )
    gains = losses = judged = 0
    for row in range(300):
        if known[row] and found[row]:
            judged += 1
            off = [np.hypot(*(REFERENCES[c] - truth[row])) for c in (int(np.argmax(similarities[row])), ours[row])]
            gains += off[0] > 10 >= off[1]
            losses += off[1] > 10 >= off[0]
    assert (examples.judged, examples.gains, examples.losses) == (judged, gains, losses)
    assert losses > 0
    assert 0 < gains < judged
    for example in examples.shown:
        assert example.globally.similarity == similarities[example.row].max()
        assert example.ours.similarity == similarities[example.row, ours[example.row]]
        offset = REFERENCES[ours[example.row]] - truth[example.row]
        assert example.ours.distance == pytest.approx(np.hypot(*offset))


@pytest.mark.parametrize(("own", "gains"), [(2, 1), (3, 0)])
def test_a_match_at_ten_metres_is_right_and_one_farther_is_not(own, gains):
    assert contest([20], [own]).gains == gains


def test_gains_come_first_and_losses_are_shown_too():
    best, own = np.tile([20, 0], 100), np.tile([0, 20], 100)
    assert kinds(contest(best, own)) == [(True, False)] * 6 + [(False, True)] * 2


@pytest.mark.parametrize("count", [(0, 0), (3, 0), (1, 5)])
def test_no_more_are_shown_than_asked_for_and_all_are_counted(count):
    examples = contest(np.tile([20, 0], 300), np.tile([0, 20], 300), count)
    assert kinds(examples) == [(True, False)] * count[0] + [(False, True)] * count[1]
    assert (examples.gains, examples.losses) == (300, 300)


def test_examples_are_spread_along_the_sequence():
    rows = [example.row for example in contest([20] * 401, [0] * 401, (5, 0)).shown]
    assert rows == [0, 100, 200, 300, 400]


@pytest.mark.parametrize(("distance", "shown"), [(APART - 1, 1), (APART, 2)])
def test_neighbours_are_not_shown_beside_one_another(distance, shown):
    best = np.zeros(100, dtype=int)
    best[[30, 30 + distance]] = 20
    assert len(contest(best, [0] * 100).shown) == shown


def decoded(image):
    kind, data = image.get("src").split(",", 1)
    assert kind == "data:image/jpeg;base64"
    return cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_UNCHANGED)


def shade(level):
    return np.full((12, 16), level, dtype=np.uint8)


def page(examples, queries=lambda row: shade(100 + row), references=lambda column: shade(column)):
    return ElementTree.fromstring(render_gallery(examples, queries, references))


def test_each_figure_shows_the_query_then_global_retrieval_then_ours():
    (figure,) = page(contest([0, 40], [0, 2])).iter("figure")
    levels = [int(np.median(decoded(image))) for image in figure.iter("img")]
    np.testing.assert_allclose(levels, [101, 40, 2], atol=1)
    _, retrieved, ours = [panel.findtext("p") for panel in figure.iter("div") if panel.get("class")[:6] == "panel "]
    assert "200.0 m away, cosine 0.900" in retrieved
    assert "10.0 m away, cosine 0.100" in ours


def test_a_picture_that_is_not_there_is_told():
    (figure,) = page(contest([40], [0]), queries=lambda row: None).iter("figure")
    assert next(text.text for text in figure.iter("p")) == "no picture"
    assert len(list(figure.iter("img"))) == 2


def test_only_pictures_that_are_shown_are_asked_for():
    asked = []

    def look(row):
        asked.append(row)

    render_gallery(contest([20] * 90, [0] * 90, (2, 0)), look, lambda column: None)
    assert asked == [0, 89]


def test_a_caption_means_itself():
    assert (
        ElementTree.fromstring(panels([], "<b>&\"'\x00")).findtext("figcaption") == "<b>&\"'\N{REPLACEMENT CHARACTER}"
    )
