"""A replay is the localizer itself, and its score the textbook's."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tmapr.evaluation.progressive import localize
from tmapr.evaluation.replay import Drive, Evidence, score
from tmapr.fusion.capf import Fusion
from tmapr.gating import Gating
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.percepts import CONDITIONS, World, record
from tmapr.simulation.route import block_loop, drive, with_detour
from tmapr.system import System, build, make_map

PLACES = Places(cell=15.0, projection=Projection(dimension=64), mixture=Mixture(dimension=8))
SYSTEM = System(places=PLACES, gating=Gating(min_similarity=0.7), fusion=Fusion(noise="acceleration"))
WORLD = World.seeded(3, dimension=32)
CORNERS = block_loop(120.0, 60.0)


def traverse(seed, corners=CORNERS):
    rng = np.random.default_rng(seed)
    return record(WORLD, f"noon-{seed}", drive(corners, 8.0, rng), CONDITIONS["noon"], rng)


@pytest.fixture(scope="module")
def environment():
    return make_map(SYSTEM, traverse(1))


@pytest.fixture(scope="module")
def recording():
    return traverse(2, with_detour(CORNERS, 2, 60.0))


@pytest.fixture(scope="module")
def recognised(environment, recording):
    return Drive.of(build(SYSTEM, environment), recording)


def test_a_replay_is_what_the_localizer_says_bit_for_bit(environment, recording, recognised):
    streamed = localize(build(SYSTEM, environment), recording, range(len(recording))).estimates
    replayed = recognised.replayed(SYSTEM.gating, SYSTEM.fusion)
    assert [each.position.tobytes() for each in replayed] == [each.position.tobytes() for each in streamed]
    assert [each.covariance.tobytes() for each in replayed] == [each.covariance.tobytes() for each in streamed]
    assert [each.verdict for each in replayed] == [each.verdict for each in streamed]
    assert {each.verdict.accepted for each in streamed} == {True, False}


def test_the_score_is_that_of_the_estimates(recording, recognised, environment):
    estimates = recognised.replayed(SYSTEM.gating, SYSTEM.fusion)
    found = score([recognised], SYSTEM.gating, SYSTEM.fusion)
    away = np.array([each.position for each in estimates]) - recording.truth
    assert found.rmse == pytest.approx(np.sqrt((away**2).sum(axis=1).mean()))
    near = np.hypot(*(recording.truth[:, None] - environment.memory.positions).transpose(2, 0, 1)).min(axis=1) <= 10
    right = [
        each.candidate is not None and np.hypot(*(each.candidate.position - truth)) <= 10
        for each, truth in zip(estimates, recording.truth, strict=True)
    ]
    accepted = np.array([each.verdict.accepted for each in estimates])
    assert found.precision == pytest.approx((accepted & right).sum() / accepted.sum())
    assert found.recall == pytest.approx((accepted & right).sum() / near.sum())
    assert found.passed == pytest.approx((accepted & ~np.array(right)).sum() / (~np.array(right)).sum())
    assert found.f1 == pytest.approx(2 * found.precision * found.recall / (found.precision + found.recall))


def test_the_surprise_is_the_negative_log_likelihood_with_a_limit(recording, recognised):
    estimates = recognised.replayed(SYSTEM.gating, SYSTEM.fusion)
    expected = []
    for each, truth in zip(estimates, recording.truth, strict=True):
        away = each.position - truth
        deviations = away @ np.linalg.inv(each.covariance) @ away
        surprise = -multivariate_normal.logpdf(truth, each.position, each.covariance)
        expected.append(surprise - max(deviations - 50.0, 0.0) / 2)
    assert score([recognised], SYSTEM.gating, SYSTEM.fusion).surprise == pytest.approx(np.mean(expected), rel=1e-9)


def test_several_drives_are_one(recognised):
    once = score([recognised], SYSTEM.gating, SYSTEM.fusion)
    assert score([recognised, recognised], SYSTEM.gating, SYSTEM.fusion).surprise == pytest.approx(once.surprise)
    joined = Evidence.joined([recognised.evidence()] * 2)
    assert joined.opportunities == 2 * recognised.evidence().opportunities
    assert len(joined.right) == len(joined.margin) == 2 * len(recognised.evidence().right)


def test_faulty_frames_and_unknown_positions_are_no_evidence(recording, recognised):
    usable = sum(
        1 for percept, known in zip(recording.percepts, recording.known, strict=True) if known and not percept.fault
    )
    assert len(recognised.evidence().right) == usable < len(recording)
