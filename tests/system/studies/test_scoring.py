"""The score of drives is the textbook's, and their evidence that of first candidates."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tmapr.studies.scoring import gather_evidence, score_drives
from tmapr.types import CHI2_95, Status


@pytest.fixture
def system(noon_detour):
    return noon_detour.system


@pytest.fixture
def recording(noon_detour):
    return noon_detour.recording


@pytest.fixture
def recognised(noon_detour):
    return noon_detour.recognised


def test_the_score_is_that_of_the_estimates(noon_detour, recording, recognised, system):
    estimates = recognised.replay(system.tracking, system.fusion)
    found = score_drives([recognised], system)
    away = np.array([each.position for each in estimates]) - recording.truth
    near = (
        np.hypot(*(recording.truth[:, None] - noon_detour.environment.memory.positions).transpose(2, 0, 1)).min(axis=1)
        <= 10
    )
    apart = np.hypot(*away.T)
    localized = np.array([each.status is Status.LOCALIZED for each in estimates])
    nees = [here @ np.linalg.inv(each.covariance) @ here for here, each in zip(away, estimates, strict=True)]
    assert found.outcome.rmse == pytest.approx(np.sqrt((apart[near] ** 2).mean()))
    assert found.outcome.wrong == (localized & (apart > 10)).sum()
    assert found.outcome.coverage95 == pytest.approx((np.array(nees) <= CHI2_95).mean())
    right = [
        each.candidate is not None and np.hypot(*(each.candidate.position - truth)) <= 10
        for each, truth in zip(estimates, recording.truth, strict=True)
    ]
    accepted = np.array([each.verdict.accepted for each in estimates])
    assert found.precision == pytest.approx((accepted & right).sum() / accepted.sum())
    assert found.recall == pytest.approx((accepted & right).sum() / near.sum())
    assert found.passed == pytest.approx((accepted & ~np.array(right)).sum() / (~np.array(right)).sum())


def test_the_surprise_is_the_negative_log_likelihood_with_a_limit(recording, recognised, system):
    estimates = recognised.replay(system.tracking, system.fusion)
    expected = []
    for each, truth in zip(estimates, recording.truth, strict=True):
        away = each.position - truth
        deviations = away @ np.linalg.inv(each.covariance) @ away
        surprise = -multivariate_normal.logpdf(truth, each.position, each.covariance)
        expected.append(surprise - max(deviations - 50.0, 0.0) / 2)
    assert score_drives([recognised], system).surprise == pytest.approx(np.mean(expected), rel=1e-9)


def test_several_drives_are_one(recognised, system):
    once = score_drives([recognised], system)
    twice = score_drives([recognised, recognised], system)
    assert twice.surprise == pytest.approx(once.surprise)
    assert twice.outcome.rmse == pytest.approx(once.outcome.rmse)
    assert twice.outcome.wrong == 2 * once.outcome.wrong
    one, two = gather_evidence([recognised]), gather_evidence([recognised] * 2)
    assert two.opportunities == 2 * one.opportunities
    assert len(two.right) == len(two.similarity) == 2 * len(one.right)


def test_faulty_frames_and_unknown_positions_are_no_evidence(recording, recognised):
    usable = sum(
        1 for percept, known in zip(recording.percepts, recording.known, strict=True) if known and not percept.fault
    )
    assert len(gather_evidence([recognised]).right) == usable < len(recording)
