"""Calibration: what it finds is better on the validation, and its gates keep out what they are told to."""

from dataclasses import replace

import numpy as np
import pytest

from made_up import record_percepts, with_detour
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.fusion.capf import Fusion
from tmapr.gating import Gating
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.studies.calibration import SEARCHED, CalibrationData, calibrate
from tmapr.studies.odds import log_odds
from tmapr.studies.scoring import gather_evidence, score_drives
from tmapr.system import System

SYSTEM = System(
    places=Places(cell=15.0, use=(), projection=Projection(dimension=32)),
    gating=Gating(min_similarity=0.0),
    fusion=Fusion(noise="acceleration", correction_variance=0.01, min_correction_variance=0.01),
)
WORLD = DescriptorField.from_seed(4, dimension=32)
CORNERS = block_loop(60.0, 40.0)


def traverse(name, seed, corners=CORNERS):
    rng = np.random.default_rng(seed)
    return record_percepts(WORLD, name, drive(corners, 20.0, rng), CONDITIONS[name], rng)


@pytest.fixture(scope="module")
def material():
    away = traverse("night", 3, with_detour(CORNERS, 2, 60.0))
    return CalibrationData((traverse("noon", 1),), (traverse("dusk", 2),), (away,))


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def found(material, told):
    return calibrate(SYSTEM, material, tell=told.append)


def test_the_truth_is_less_surprising_afterwards(found):
    assert found.after.surprise < found.before.surprise
    assert found.after.coverage95 > found.before.coverage95


def test_the_scores_are_those_of_the_settings(found, material):
    assert found.before == score_drives(material.drives(SYSTEM), SYSTEM.gating, SYSTEM.fusion)
    assert found.after == score_drives(material.drives(found.system), found.system.gating, found.system.fusion)


def test_the_odds_tell_right_candidates_from_wrong_ones(found, material):
    evidence = gather_evidence(material.drives(found.system))
    believed = log_odds(found.system.gating.odds, evidence) >= found.system.gating.min_odds
    assert (~evidence.right).sum() > 20
    assert (believed & ~evidence.right).sum() <= 0.02 * (~evidence.right).sum()
    assert (believed & evidence.right).sum() > 0.3 * evidence.right.sum()


def test_the_similarity_is_that_of_the_best_f1(found, material):
    evidence = gather_evidence(material.drives(found.system))

    def f1(threshold):
        accepted = evidence.similarity >= threshold
        return 2 * (accepted & evidence.right).sum() / (accepted.sum() + evidence.opportunities)

    assert f1(found.system.gating.min_similarity) == max(f1(value) for value in evidence.similarity)


def test_without_wrong_candidates_there_are_no_odds(material):
    told = []
    home = replace(material, validation=(traverse("noon", 7),))
    found = calibrate(SYSTEM, home, tell=told.append)
    assert found.system.gating.odds is None
    assert "add a drive that leaves the map" in told[1]


def test_a_system_without_retrieval_has_only_a_filter_to_calibrate(material):
    told = []
    alone = changed(SYSTEM, {"retrieval.mode": "off"})
    found = calibrate(alone, material, tell=told.append)
    assert [line.partition(":")[0] for line in told] == ["filter"]
    assert found.system.gating.odds is None
    assert found.after.surprise <= found.before.surprise


def test_nothing_is_changed_but_what_is_searched(found):
    for section in SYSTEM.model_dump():
        old, new = SYSTEM.__dict__[section].model_dump(), found.system.__dict__[section].model_dump()
        assert {key for key in old if old[key] != new[key]} <= set(SEARCHED.get(section, ()))


def test_each_search_says_what_it_found(found, told):
    assert found.system is not None
    assert [line.partition(":")[0] for line in told] == ["ranking", "gates", "filter"]


def test_without_true_positions_there_is_nothing_to_learn_from(material):
    recording = material.validation[0]
    blind = replace(recording, known=np.zeros(len(recording), dtype=bool))
    with pytest.raises(InputError, match="no true positions"):
        calibrate(SYSTEM, replace(material, validation=(blind,)))
