"""What the stated uncertainty is worth: ellipses, confidence, reliability, each against plain arithmetic."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from drives import FRAMES, TRACE, ellipses, everywhere, retold, sequence
from tmapr.artifacts.beliefs import RouteBeliefs
from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.alignment import PlanarTransform
from tmapr.reports.figures.confidence import draw_confidence
from tmapr.reports.figures.ellipse import Ellipses, state_ellipses
from tmapr.reports.figures.reliability import BINS, Reliability, draw_reliability
from tmapr.types import CHI2_95

UNKNOWN = Column(np.full((FRAMES, 2), np.nan), np.zeros(FRAMES, dtype=bool))


def words(svg):
    return [text.text for text in ElementTree.fromstring(svg).findall(".//{*}text")]


def test_every_point_of_an_ellipse_satisfies_its_equation(rng):
    roots = rng.normal(size=(20, 2, 2))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(2)
    found = Ellipses.of(covariances)
    for row, covariance in enumerate(covariances):
        around = np.linspace(0, 2 * np.pi, 37)
        flat = np.stack([found.longer[row] * np.cos(around), found.shorter[row] * np.sin(around)])
        cosine, sine = np.cos(found.angles[row]), np.sin(found.angles[row])
        points = np.array([[cosine, -sine], [sine, cosine]]) @ flat
        np.testing.assert_allclose((points * np.linalg.solve(covariance, points)).sum(axis=0), CHI2_95)
    assert (found.longer >= found.shorter).all()


def test_ellipses_turn_with_a_track_that_was_fitted_to_the_truth():
    turned = PlanarTransform(0.7, np.array([3.0, -2.0]))
    drive = sequence()
    fitted = replace(drive, fused=everywhere(turned(drive.table.positions)))
    np.testing.assert_allclose(state_ellipses(fitted).angles - state_ellipses(drive).angles, 0.7)


@pytest.fixture
def doubted():
    """Stated 4 m; off by 1 m, then 9 m; the last ten frames are lost."""
    aside = np.repeat([1.0, 9.0], [25, 15])
    fused = everywhere(TRACE + aside[:, None] * [0, 1])
    return sequence(fused=fused, covariances=ellipses(np.full(FRAMES, 4.0)))


def test_frames_that_are_farther_off_than_stated_are_counted_by_status(doubted):
    told = words(draw_confidence(doubted))
    assert "localized: 5 of 30 above the line (16.7 %)" in told
    assert "not localized: 10 of 10 above the line (100.0 %)" in told


def test_without_truth_there_is_nothing_to_hold_the_confidence_against():
    assert draw_confidence(sequence(truth=UNKNOWN)) is None


def test_reliability_is_that_of_a_plain_loop(rng):
    probabilities, right = rng.uniform(size=500), rng.uniform(size=500) < 0.6
    probabilities[:3] = [0.0, 1.0, 0.3]
    found = Reliability.of(probabilities, right)
    bins = [[] for _ in range(BINS)]
    for probability, hit in zip(probabilities.tolist(), right.tolist(), strict=True):
        bins[min(int(probability * BINS), BINS - 1)].append((probability, hit))
    filled = [np.array(each, dtype=float) for each in bins if each]
    assert found.counts.tolist() == [len(each) for each in filled]
    np.testing.assert_allclose(found.stated, [each[:, 0].mean() for each in filled])
    np.testing.assert_allclose(found.right, [each[:, 1].mean() for each in filled])


def test_a_bin_without_frames_is_left_out():
    found = Reliability.of(np.array([0.05, 0.95, 0.97]), np.array([False, True, False]))
    assert (found.counts.tolist(), found.right.tolist()) == ([1, 2], [0.0, 0.5])


def test_an_interval_is_where_the_share_is_as_likely_as_its_ends_allow():
    """Wilson: the ends are the shares p for which |found − p| is 1.96 standard deviations of p."""
    found = Reliability.of(np.full(40, 0.55), np.arange(40) < 13)
    for end in found.intervals[0]:
        assert abs(found.right[0] - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / 40))


def believing(drive, stated):
    beliefs = RouteBeliefs(np.zeros(FRAMES + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    told = retold(drive, p_place=everywhere(stated))
    return replace(told, trial=replace(told.trial, beliefs=beliefs))


def test_without_a_belief_or_without_truth_there_is_no_reliability():
    assert draw_reliability(sequence()) is None
    assert draw_reliability(believing(sequence(truth=UNKNOWN), np.full(FRAMES, 0.9))) is None
