"""A row of an ablation chooses what it decides by: the best threshold there is on its own validation, and G weighs."""

import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from made_up import car_fusion, paper_tracking, record_percepts
from tmapr.config import changed, differences
from tmapr.config.tree import as_tree
from tmapr.evaluation.loops import correct_candidates, opportunities, score_loops
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.studies.calibration import LIKELIHOOD_WEIGHTS, CalibrationData
from tmapr.studies.row_calibration import calibrate_row, keep_likelihoods
from tmapr.system import System

PLACES = Places(cell=15.0, projection=Projection(dimension=32), mixture=Mixture(dimension=8))
ROUTE = System(places=PLACES)
PAPER = System(places=PLACES, tracking=paper_tracking(min_similarity=0.9), fusion=car_fusion())
WORLD, CORNERS = DescriptorField.from_seed(4, dimension=32, repetition=0.7), block_loop(60.0, 40.0)
THRESHOLD, WEIGHT = "tracking.gates.min_similarity", "retrieval.likelihood_weight"


def traverse(name, seed):
    rng = np.random.default_rng(seed)
    return record_percepts(WORLD, name, drive(CORNERS, 20.0, rng), CONDITIONS[name], rng)


@pytest.fixture(scope="module")
def material():
    return CalibrationData((traverse("noon", 1),), (traverse("dusk", 2),), (traverse("night", 3),))


def scorer(system, material):
    """Gives the F1 of the loops on the validation at a threshold, by what is recognised there with these settings."""
    (recognised,), memory = material.drives(system), material.localizer(system).memory
    recording = recognised.recording
    found = np.array([seen is not None and seen.first is not None for seen in recognised.recognitions])
    firsts = [seen.first for seen in recognised.recognitions if seen and seen.first]
    positions, similarities = np.full((len(found), 2), np.nan), np.zeros(len(found))
    positions[found], similarities[found] = [each.position for each in firsts], [each.similarity for each in firsts]
    correct = correct_candidates(positions, recording.truth)
    chances = opportunities(recording.truth, memory.positions)
    return lambda threshold: (
        score_loops(similarities, found=found, correct=correct, opportunity=chances, threshold=threshold).f1 or 0.0
    )


@pytest.mark.parametrize("system", [ROUTE, PAPER], ids=["route", "paper"])
@pytest.mark.parametrize("use", [(), ("unscented",)], ids=["acil", "u"])
def test_no_other_threshold_has_a_better_f1_on_the_validation(system, use, material):
    given = changed(system, {"places.use": use})
    chosen = calibrate_row(given, material)
    score = scorer(chosen, material)
    best = score(chosen.tracking.gates.min_similarity)
    assert max(map(score, np.linspace(-1, 1, 2001))) <= best
    assert [line.split(" = ")[0] for line in differences(as_tree(given), as_tree(chosen), "")] == [f".{THRESHOLD}"]


def test_with_G_the_weight_of_its_likelihoods_is_chosen_and_never_zero(material):  # noqa: N802
    given = changed(ROUTE, {"places.use": ["mixture"], WEIGHT: 0.0})
    chosen = calibrate_row(given, material)
    assert chosen.retrieval.likelihood_weight in LIKELIHOOD_WEIGHTS[1:]
    assert 0.0 not in LIKELIHOOD_WEIGHTS[1:]


def test_without_a_validation_G_still_weighs_something():  # noqa: N802
    silent = changed(ROUTE, {WEIGHT: 0.0})
    assert keep_likelihoods(silent) == ROUTE
    assert keep_likelihoods(changed(silent, {"places.use": []})).retrieval.likelihood_weight == 0.0


def test_a_row_without_retrieval_has_nothing_to_choose(material):
    off = changed(PAPER, {"retrieval.mode": "off"})
    assert calibrate_row(off, material) == off
