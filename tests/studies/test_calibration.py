"""Calibration: what it finds is better by its own objectives, and never worse on the validation."""

from dataclasses import replace

import numpy as np
import pytest

from made_up import record_percepts, with_detour
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.fusion.capf import Fusion
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.studies.calibration import SEARCHED, CalibrationData, calibrate, is_taken
from tmapr.studies.scoring import Outcome, gather_evidence, score_drives
from tmapr.system import System
from tmapr.tracking import Gates, Tracking

SYSTEM = System(
    places=Places(cell=15.0, use=(), projection=Projection(dimension=32)),
    tracking=Tracking(gates=Gates(min_similarity=0.0)),
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
    assert found.after.outcome.coverage95 > found.before.outcome.coverage95


def test_the_scores_are_those_of_the_settings(found, material):
    assert found.before == score_drives(material.drives(SYSTEM), SYSTEM)
    assert found.after == score_drives(material.drives(found.system), found.system)


def test_the_validation_is_not_worse_afterwards(found):
    assert not found.after.outcome.is_worse_than(found.before.outcome)
