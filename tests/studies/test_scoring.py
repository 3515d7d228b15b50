"""The score of drives is the textbook's, and their evidence that of first candidates."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tmapr.studies.scoring import gather_evidence, score_drives


@pytest.fixture
def settings(noon_detour):
    """Gates and filter."""
    return noon_detour.system.tracking, noon_detour.system.fusion


@pytest.fixture
def recording(noon_detour):
    return noon_detour.recording


@pytest.fixture
def recognised(noon_detour):
    return noon_detour.recognised


def test_the_score_is_that_of_the_estimates(noon_detour, recording, recognised, settings):
    estimates = recognised.replay(*settings)
    found = score_drives([recognised], *settings)
    away = np.array([each.position for each in estimates]) - recording.truth
    assert found.rmse == pytest.approx(np.sqrt((away**2).sum(axis=1).mean()))
    near = (
        np.hypot(*(recording.truth[:, None] - noon_detour.environment.memory.positions).transpose(2, 0, 1)).min(axis=1)
        <= 10
    )
    right = [
        each.candidate is not None and np.hypot(*(each.candidate.position - truth)) <= 10
        for each, truth in zip(estimates, recording.truth, strict=True)
    ]
    accepted = np.array([each.verdict.accepted for each in estimates])
    assert found.precision == pytest.approx((accepted & right).sum() / accepted.sum())
    assert found.recall == pytest.approx((accepted & right).sum() / near.sum())
    assert found.passed == pytest.approx((accepted & ~np.array(right)).sum() / (~np.array(right)).sum())


def test_the_surprise_is_the_negative_log_likelihood_with_a_limit(recording, recognised, settings):
    estimates = recognised.replay(*settings)
    expected = []
    for each, truth in zip(estimates, recording.truth, strict=True):
        away = each.position - truth
        deviations = away @ np.linalg.inv(each.covariance) @ away
        surprise = -multivariate_normal.logpdf(truth, each.position, each.covariance)
        expected.append(surprise - max(deviations - 50.0, 0.0) / 2)
    assert score_drives([recognised], *settings).surprise == pytest.approx(np.mean(expected), rel=1e-9)


def test_several_drives_are_one(recognised, settings):
    once = score_drives([recognised], *settings)
    assert score_drives([recognised, recognised], *settings).surprise == pytest.approx(once.surprise)
    one, two = gather_evidence([recognised]), gather_evidence([recognised] * 2)
    assert two.opportunities == 2 * one.opportunities
    assert len(two.right) == len(two.margin) == 2 * len(one.right)


def test_faulty_frames_and_unknown_positions_are_no_evidence(recording, recognised):
    usable = sum(
        1 for percept, known in zip(recording.percepts, recording.known, strict=True) if known and not percept.fault
    )
    assert len(gather_evidence([recognised]).right) == usable < len(recording)
