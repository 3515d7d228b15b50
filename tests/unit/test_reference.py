"""What the mapped traverses say of themselves, and what the filter and the gates make of it."""

import numpy as np
import pytest

from made_up import CAR_FUSION, CAR_GATES
from tmapr.fusion.capf import Fusion
from tmapr.labels import Labels
from tmapr.reference import Reference, measure_reference, suspect_top_speed
from tmapr.tracking import Gates
from tmapr.types import NANOSECONDS


def measured(*ways, seconds=0.5):
    """Of traverses east, each given by how far along its references lie."""
    positions = np.array([[along, 7.0] for way in ways for along in way], dtype=float)
    counts = [len(way) for way in ways]
    stamps = np.concatenate([np.arange(count) for count in counts]) * round(seconds * NANOSECONDS)
    drives = np.split(np.arange(len(positions)), np.cumsum(counts)[:-1])
    return measure_reference(drives, positions, stamps)


def test_spacing_speed_and_extent_of_a_steady_drive():
    found = measured(np.arange(0, 60, 3.0))
    assert (found.spacing, found.speed, found.top_speed, found.interval) == pytest.approx((3.0, 6.0, 6.0, 0.5))
    assert found.extent == pytest.approx(57.0)


def test_a_stop_changes_neither():
    still = np.full(200, 30.0) + np.linspace(0, 0.05, 200)
    stopped = measured([*np.arange(0, 30, 3.0), *still, *np.arange(33, 60, 3.0)])
    assert (stopped.spacing, stopped.speed) == pytest.approx((3.0, 6.0))


def test_the_way_between_two_traverses_is_no_step():
    found = measured(np.arange(0, 30, 3.0), np.arange(900, 930, 3.0))
    assert found.top_speed == pytest.approx(6.0)


def test_one_jump_is_no_top_speed():
    assert measured([*np.arange(0, 600, 3.0), *np.arange(2000, 2600, 3.0)]).top_speed == pytest.approx(6.0)


def test_the_top_speed_is_the_99th_percentile_of_the_steps_that_moved():
    steps = np.arange(1.0, 102.0)
    assert measured(np.cumsum([0.0, *steps, 0.0, 0.0, 0.0]), seconds=1.0).top_speed == pytest.approx(
        np.percentile(steps[steps > 5.1], 99)
    )


@pytest.mark.parametrize("jump", [30.0, 3000.0])
@pytest.mark.parametrize("frames", [30, 600])
def test_a_few_jumps_are_no_top_speed_of_a_recording_that_nobody_has_looked_at(frames, jump):
    ahead = 3.0 * np.arange(frames) + jump * np.searchsorted([3, 9, 15, 20, 25], np.arange(frames), side="right")
    positions = np.column_stack([ahead, np.zeros(frames)])
    stamps = np.arange(frames) * NANOSECONDS // 2
    assert suspect_top_speed(stamps, positions) == pytest.approx(6.0)
    assert measure_reference([np.arange(frames)], positions, stamps).top_speed > 6.5 or frames > 500


@pytest.mark.parametrize("frames", [0, 1, 2, 9])
def test_too_few_steps_tell_no_top_speed(frames):
    assert suspect_top_speed(np.arange(frames) * NANOSECONDS, np.arange(2.0 * frames).reshape(-1, 2)) is None


@pytest.mark.parametrize("way", [[5.0], [5.0] * 9])
def test_a_single_spot_has_a_speed_to_divide_by(way):
    found = measured(way)
    assert found.extent == 0.0
    assert min(found.spacing, found.speed, found.top_speed, found.interval) > 0


def test_stamps_that_do_not_move_give_no_speed():
    assert np.isfinite(measured(np.arange(0, 60, 3.0), seconds=0.0).speed)


@pytest.mark.parametrize(("spacing", "place"), [(0.5, 10.0), (5.0, 10.0), (8.0, 16.0)])
def test_a_place_is_ten_metres_or_two_references(spacing, place):
    assert Reference(spacing, 8.0, 12.0, 0.1, 100.0).place == place


def test_a_velocity_is_believed_for_ten_places_and_at_least_for_three_references():
    assert Reference(1.0, 8.0, 12.0, 0.1, 100.0).straight == pytest.approx(100.0 / 8.0)
    assert Reference(1.0, 8.0, 12.0, 60.0, 100.0).straight == pytest.approx(180.0)


CAR = Reference(spacing=1.0, speed=8.0, top_speed=12.0, interval=0.125, extent=500.0)


def test_what_is_left_to_the_reference_is_what_it_says():
    fusion, gates = Fusion().fit(CAR), Gates().fit(CAR)
    assert fusion.noise == "acceleration"
    assert (fusion.velocity_noise, fusion.initial_speed) == pytest.approx((64.0 / 5.0, 24.0))
    assert (fusion.max_gap, fusion.correction_lifetime) == pytest.approx((12.5, 6.25))
    assert (fusion.correction_range, fusion.max_semi_axis) == pytest.approx((15.0, 10.0))
    assert fusion.apr_variance == pytest.approx(9.0)
    assert Labels().fit(CAR).max_semi_axis == 10.0
    assert (gates.max_speed, gates.max_jump, gates.max_innovation) == pytest.approx((18.0, 10.0, 20.0))
    assert gates.expiry == pytest.approx(6.25)


def test_what_a_user_sets_is_kept():
    assert Fusion(**CAR_FUSION).fit(CAR) == Fusion(**CAR_FUSION)
    assert Gates(**CAR_GATES).fit(CAR) == Gates(**CAR_GATES)
    assert Labels(max_semi_axis=3.0).fit(CAR) == Labels(max_semi_axis=3.0)


def test_the_lifetime_of_a_correction_follows_a_gap_that_is_set():
    assert Fusion(max_gap=40.0).fit(CAR).correction_lifetime == 20.0


def test_fitting_twice_is_fitting_once():
    slower = Reference(1.0, 1.0, 2.0, 1.0, 20.0)
    assert Fusion().fit(CAR).fit(slower) == Fusion().fit(CAR)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_drive_at_another_pace_has_the_same_beliefs_at_another_pace(factor):
    """In units of its own time everything is the same: no number of a car is left."""
    other = Reference(CAR.spacing, factor * CAR.speed, factor * CAR.top_speed, CAR.interval / factor, CAR.extent)
    one, two = Fusion().fit(CAR), Fusion().fit(other)
    assert two.max_gap * factor == pytest.approx(one.max_gap)
    assert two.initial_speed / factor == pytest.approx(one.initial_speed)
    assert two.correction_range == one.correction_range
