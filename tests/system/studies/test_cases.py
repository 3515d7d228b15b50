"""What a place is asked, on made-up percepts of two blocks: at home, at a rate, disturbed, and on the other's map."""

import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from made_up import record_percepts, with_detour
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.perception.settings import OWN, Perception
from tmapr.running.progressive import adapt, localize
from tmapr.simulation.route import block_loop, drive
from tmapr.studies.cases import ask_place, list_cases
from tmapr.studies.study_plan import AskedMethod, StudyPlan
from tmapr.studies.worlds import StudyPlace
from tmapr.system import build, make_map
from tmapr.types import Status

CORNERS = block_loop(45.0, 30.0)
WAYS = {"day": CORNERS, "other": CORNERS, "night": CORNERS, "away": with_detour(CORNERS, leg=2, depth=30.0)}
WEATHERS = {"day": "noon", "other": "dusk", "night": "night", "away": "night"}
FROZEN = 20
"""Frames of each drive."""
SMALL = "places.projection.dimension = 48"
METHODS = (
    AskedMethod(name="small", set=(SMALL,)),
    AskedMethod(name="sure", set=(SMALL, "tracking.certainty = 0.999")),
    AskedMethod(name="coarse", set=(SMALL, "places.cell = 30.0")),
    AskedMethod(name="first", baseline="first", set=(SMALL,)),
    AskedMethod(name="sequence", baseline="sequence", set=(SMALL,)),
)


def make_place(home, name, seed):
    folder, rng = RunFolder(home / name), np.random.default_rng(seed)
    field = DescriptorField.from_seed(seed, 32)
    for drive_name, weather in WEATHERS.items():
        way = drive(WAYS[drive_name], 8.0, rng)
        recording = record_percepts(field, drive_name, way, CONDITIONS[weather], rng)
        recording.save(folder.percepts(drive_name))
    roles = Data(root=str(home), reference="day", adapt=("other",), test=("night", "away"))
    experiment = Experiment(name=name, data=roles, perception=Perception(encoder=OWN))
    return StudyPlace(name, "block", name, ("night", "away"), experiment, folder)


def make_plan(**given):
    worlds = {"first_style": 2, "seed": 1}
    return StudyPlan.model_validate({"name": "trial", "purpose": "choose", "worlds": worlds} | given)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    home = tmp_path_factory.mktemp("blocks")
    return [make_place(home, name, seed) for name, seed in (("one", 1), ("two", 2))]


@pytest.fixture(scope="module")
def found(places):
    """What each method makes of every case of the first block."""
    plan = make_plan(every=(1, 3), foreign=True, disturbance=({"name": "frames of another place"},))
    return {method.name: drives for method, drives, _ in ask_place(list_cases(plan, places[0], places), METHODS)}


def test_every_drive_is_asked_at_every_rate_and_the_other_s_as_foreign(found):
    rates = ("", ", every 3")
    own = [f"{name}{rate}" for name in ("night", "away") for rate in rates]
    own += [f"night, frames of another place{rate}" for rate in rates]
    assert list(found["small"]) == [*own, *(f"two: {name}{rate}" for name in ("night", "away") for rate in rates)]


def test_a_method_s_figures_are_those_of_the_localizer_that_streams(places, found):
    opened, system = places[0].open(), METHODS[0].system
    localizer = build(system, make_map(system, opened.reference))
    adapt(localizer, opened.adapted, range(len(opened.adapted)))
    night = opened.drives["night"]
    estimates = localize(localizer, night, range(len(night))).estimates
    localized = np.array([each.status is Status.LOCALIZED for each in estimates])
    errors = np.hypot(*(np.array([each.position for each in estimates]) - night.truth).T)[localized]
    row = found["small"]["night"]
    assert row.localized == localized.mean()
    assert row.median_m == pytest.approx(np.median(errors), abs=1e-12)
    assert row.localized_rmse == pytest.approx(np.sqrt(np.mean(errors**2)), abs=1e-12)


def test_nothing_of_a_foreign_drive_is_on_the_map(found):
    for drives in found.values():
        asked = [each for each in drives.values() if each.away]
        assert all((each.on_map, each.off_map) == (0, each.frames) for each in asked)


def test_the_first_candidate_s_median_is_that_of_the_method_that_answers_it(found):
    first = found["first"]["night"]
    assert first.localized == pytest.approx(1 - FROZEN / first.frames)
    assert first.median_m == first.first_median_m


def test_a_line_of_ten_frames_is_right_more_often_than_one_frame(found):
    assert found["sequence"]["night"].wrong <= found["first"]["night"].wrong


def test_settings_of_the_tracking_are_tried_on_the_same_matches_and_others_on_their_own(found):
    firsts = {name: found[name]["night"].first_right for name in ("small", "sure", "coarse")}
    assert firsts["small"] == firsts["sure"]
    assert found["sure"]["night"].localized < found["small"]["night"].localized


def test_a_lone_place_cannot_be_shown_frames_of_another(places):
    with pytest.raises(InputError, match="has no other place"):
        list_cases(make_plan(foreign=True), places[0], places[:1])
