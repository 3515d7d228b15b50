"""Calibration: what it finds is better by its own objectives, and never worse on the validation."""

from dataclasses import replace

import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from made_up import car_fusion, paper_tracking, record_percepts, with_detour
from tmapr.config import changed, differences
from tmapr.config.tree import as_tree
from tmapr.exceptions import InputError
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.studies.calibration import CalibrationData, calibrate, is_taken, list_choices, list_searched
from tmapr.studies.scoring import Outcome, gather_evidence, score_drives
from tmapr.system import System

SYSTEM = System(
    places=Places(cell=15.0, use=(), projection=Projection(dimension=32)),
    tracking=paper_tracking(min_similarity=0.0),
    fusion=car_fusion(noise="acceleration", correction_variance=0.01, min_correction_variance=0.01),
)
ROUTE = changed(System(), {"places": SYSTEM.places})
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


LOOSE = changed(SYSTEM, {"fusion": car_fusion(noise="acceleration", apr_variance=2500.0)})
STRICT = changed(SYSTEM, {"fusion": car_fusion(noise="acceleration"), "tracking.gates.min_similarity": 0.9})


def best_threshold(evidence):
    def f1(threshold):
        accepted = evidence.similarity >= threshold
        return 2 * (accepted & evidence.right).sum() / (accepted.sum() + evidence.opportunities)

    return max(sorted(evidence.similarity, reverse=True), key=f1)


def test_a_threshold_that_makes_nothing_worse_is_that_of_the_best_f1(material):
    told = []
    found = calibrate(LOOSE, material, tell=told.append)
    assert told[1].startswith("gates: taken")
    assert found.system.tracking.gates.min_similarity == best_threshold(gather_evidence(material.drives(found.system)))


def test_a_threshold_of_better_f1_that_lets_wrong_frames_in_is_not_taken(material):
    told = []
    found = calibrate(STRICT, material, tell=told.append)
    preferred = best_threshold(gather_evidence(material.drives(found.system)))
    assert preferred < 0.9
    with_it = changed(STRICT, {"tracking.gates.min_similarity": float(preferred)})
    then = score_drives(material.drives(with_it), with_it).outcome
    assert (found.before.outcome.wrong, then.wrong) == (0, 2)
    assert then.is_worse_than(found.before.outcome)
    assert found.system.tracking.gates.min_similarity == 0.9
    assert found.after.outcome.wrong == 0
    assert told[1].startswith("gates: kept")


WITHOUT_APR = {"retrieval.mode": "global", "fusion.apr": False}


@pytest.mark.parametrize("start", [LOOSE, STRICT, changed(STRICT, WITHOUT_APR), ROUTE, changed(ROUTE, WITHOUT_APR)])
def test_no_calibration_is_worse_on_its_validation(start, material):
    found = calibrate(start, material)
    assert not found.after.outcome.is_worse_than(found.before.outcome)


GOOD = Outcome(rmse=2.0, wrong=3, coverage95=0.94)


@pytest.mark.parametrize(
    ("found", "taken"),
    [
        (GOOD, True),
        (replace(GOOD, rmse=2.01), True),
        (replace(GOOD, rmse=2.03), False),
        (replace(GOOD, rmse=1.0, wrong=4), False),
        (replace(GOOD, wrong=2), True),
        (replace(GOOD, coverage95=0.936), True),
        (replace(GOOD, coverage95=0.934), False),
        (replace(GOOD, coverage95=0.964), True),
        (replace(GOOD, rmse=1.0, coverage95=0.97), False),
    ],
)
def test_a_finding_is_taken_if_it_is_worse_in_nothing(found, taken):
    assert is_taken(found, GOOD, GOOD) is taken


def test_little_by_little_is_not_allowed_either():
    slipped, further = replace(GOOD, rmse=2.015), replace(GOOD, rmse=2.03)
    assert is_taken(slipped, GOOD, GOOD)
    assert is_taken(further, slipped, slipped)
    assert not is_taken(further, slipped, GOOD)


def test_a_system_without_retrieval_has_only_a_filter_to_calibrate(material):
    told = []
    alone = changed(SYSTEM, {"retrieval.mode": "off"})
    found = calibrate(alone, material, tell=told.append)
    assert [line.partition(":")[0] for line in told] == ["filter"]
    assert found.after.surprise <= found.before.surprise


@pytest.fixture(scope="module")
def followed(material):
    """The calibration of a system with the route filter, and what it told."""
    told = []
    return calibrate(ROUTE, material, tell=told.append), told


def test_the_route_filter_has_no_gates_to_calibrate(followed):
    found, told = followed
    assert [line.partition(":")[0] for line in told] == ["ranking", "filter"]
    assert found.system.tracking == ROUTE.tracking


def test_with_the_route_filter_nothing_is_changed_but_what_is_searched(followed):
    found, _ = followed
    searched = {f"{section}.{key}" for section, keys in list_searched(ROUTE).items() for key in keys}
    changes = differences(as_tree(ROUTE), as_tree(found.system), "system")
    assert {line.split(" = ")[0].removeprefix("system.") for line in changes} <= searched


@pytest.mark.parametrize(
    ("start", "acts"),
    [
        (ROUTE, {"fusion.velocity_noise"}),
        (changed(ROUTE, {"retrieval.mode": "off"}), {"fusion.velocity_noise", "fusion.apr_variance"}),
    ],
)
def test_only_what_acts_is_tried(start, acts, material):
    drives = material.drives(start)
    choices = list_choices(start, drives[0].memory.reference)
    assert choices.keys() == acts
    before = score_drives(drives, start)
    for path, values in choices.items():
        assert any(score_drives(drives, changed(start, {path: value})) != before for value in values)


def test_what_is_tried_follows_the_mapped_speed(material):
    memory = material.localizer(ROUTE).memory
    reference = memory.reference
    twice = replace(reference, speed=2 * reference.speed)
    one, other = (np.array(list_choices(ROUTE, each)["fusion.velocity_noise"]) for each in (reference, twice))
    np.testing.assert_allclose(other, 4 * one)


def test_nothing_is_changed_but_what_is_searched(found):
    searched = {f"{section}.{key}" for section, keys in list_searched(SYSTEM).items() for key in keys}
    changes = differences(as_tree(SYSTEM), as_tree(found.system), "system")
    assert changes
    assert {line.split(" = ")[0].removeprefix("system.") for line in changes} <= searched


def test_each_search_says_what_it_found(found, told):
    assert found.system is not None
    assert [line.partition(":")[0] for line in told] == ["ranking", "gates", "filter"]


def test_without_true_positions_there_is_nothing_to_learn_from(material):
    recording = material.validation[0]
    blind = replace(recording, known=np.zeros(len(recording), dtype=bool))
    with pytest.raises(InputError, match="no true positions"):
        calibrate(SYSTEM, replace(material, validation=(blind,)))


def test_a_drive_that_never_comes_near_the_map_is_refused(material):
    recording = material.validation[0]
    elsewhere = replace(recording, truth=recording.truth + 1000.0)
    with pytest.raises(InputError, match=r"night: no true position is within 10 m of the map"):
        calibrate(SYSTEM, replace(material, validation=(elsewhere,)))
