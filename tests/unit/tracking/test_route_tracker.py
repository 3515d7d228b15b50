"""Drives along a mapped route: when they are localized, how well, and that no stop, pace or restart changes that."""

from dataclasses import replace

import numpy as np
import pytest

from routes import LOOP, RATE, SPEED, STEP, around, film, follow, line, look, remember_drives
from tmapr.fusion.capf import Fusion
from tmapr.tracking import RouteModel, RouteTracker, Tracking
from tmapr.tracking.proof import Proof
from tmapr.tracking.route_filter import Motion, Peak
from tmapr.types import CHI2_95, NANOSECONDS, Odometry, Reason, Status

MEMORY = remember_drives(LOOP)
RADIUS = MEMORY.reference.place
WAY = around(STEP * np.arange(70))
DRIVE = film(WAY)


def track(memory=MEMORY):
    return RouteTracker(Tracking(), Fusion(), memory)


def drive(percepts, tracker=None, memory=MEMORY):
    return follow(tracker or track(memory), memory, percepts)


def is_localized(estimates):
    return np.array([each.status is Status.LOCALIZED for each in estimates])


def measure_errors(estimates, way):
    return np.hypot(*(np.array([each.position for each in estimates]) - way).T)


def copy(tracker, memory=MEMORY):
    again = track(memory)
    again.restore({name: array.copy() for name, array in tracker.arrays().items()})
    return again


@pytest.fixture(scope="module")
def followed():
    """A tracker that has driven 140 m of the loop, and its estimates."""
    tracker = track()
    return tracker, drive(DRIVE, tracker)


@pytest.mark.parametrize("pace", [0.5, 0.75, 1.0, 2.0, 3.0])
def test_a_mapped_way_is_localized_within_forty_metres_at_any_pace(pace):
    way = around(pace * STEP * np.arange(round(100.0 / pace / STEP)))
    estimates = drive(film(way))
    late = np.arange(len(way)) * pace * STEP > 40.0
    assert is_localized(estimates)[late].all()
    assert measure_errors(estimates, way)[late].max() < 4.0


def test_every_third_frame_is_enough():
    estimates = drive(DRIVE[::3])
    assert is_localized(estimates)[7:].all()
    assert measure_errors(estimates, WAY[::3])[7:].max() < 4.0


def test_nothing_is_localized_from_a_single_view_and_each_frame_has_its_reason(followed):
    _, estimates = followed
    assert not is_localized(estimates)[:3].any()
    assert {each.verdict.reason for each in estimates[20:]} == {Reason.ACCEPTED}
    assert all(each.verdict.confidence == each.route.p_place for each in estimates)


def test_the_ellipse_holds_the_camera(followed):
    _, estimates = followed
    localized = is_localized(estimates)
    off = np.array([each.position for each in estimates]) - WAY
    squared = [each @ np.linalg.inv(one.covariance) @ each for each, one in zip(off, estimates, strict=True)]
    assert (np.array(squared)[localized] <= CHI2_95).mean() >= 0.85
    assert max(each.belief.semi_axis for each in np.array(estimates)[localized]) < RADIUS


def test_the_candidate_lies_at_the_place_and_the_masses_are_the_map_s(followed):
    _, estimates = followed
    last = estimates[-1]
    assert np.hypot(*(last.candidate.position - WAY[-1])) < 4.0
    assert last.route.masses @ MEMORY.positions[last.route.rows] == pytest.approx(WAY[-1], abs=4.0)
    assert last.candidate.support > 0.5


def test_the_velocity_is_that_of_the_drive(followed):
    _, estimates = followed
    ahead = (WAY[-1] - WAY[-2]) * RATE
    np.testing.assert_allclose(estimates[-1].belief.mean[2:], ahead, atol=2.0)


STOP = 60 * RATE


@pytest.fixture(scope="module")
def stopped(followed):
    """A tracker that stood for a minute where it was, its estimates, and its proofs."""
    tracker, proofs, estimates = copy(followed[0]), [], []
    for percept in film(np.repeat(WAY[-1:], STOP, axis=0), start=DRIVE[-1].stamp + NANOSECONDS // RATE):
        estimates += drive([percept], tracker)
        proofs.append(tracker.arrays()["proof"][0])
    return tracker, estimates, np.array(proofs)


def test_standing_for_a_minute_adds_no_proof(stopped):
    proofs = stopped[2][3 * RATE :]  # it is not seen to stand at once
    assert np.ptp(proofs) < 2.0


def test_standing_for_a_minute_shows_no_new_view_and_forgets_only_a_part_of_the_proof(followed, stopped):
    assert sum(each.route.new_view for each in stopped[1]) <= 1
    assert stopped[2][-1] > 0.1 * followed[0].arrays()["proof"][0]
    assert 10 < sum(each.route.new_view for each in followed[1]) < 60


def test_a_stop_of_a_minute_loses_nothing(stopped):
    tracker, estimates, _ = stopped
    assert is_localized(estimates[3 * RATE :]).all()  # where it may have driven on, it is not certain for a moment
    assert is_localized(estimates).sum() >= len(estimates) - RATE
    assert measure_errors(estimates, WAY[-1]).max() < RADIUS / 2
    onwards = around(STEP * np.arange(70, 90))
    assert (
        is_localized(drive(film(onwards, start=10**12 + (70 + STOP) * NANOSECONDS // RATE), copy(tracker))).mean() > 0.7
    )


def test_who_stops_is_soon_seen_to_stand(followed, stopped):
    assert np.hypot(*followed[0].belief.mean[2:]) > SPEED / 2
    assert np.hypot(*stopped[1][4 * RATE].belief.mean[2:]) < SPEED / 4


STREET = line(120)
THERE, BACK = STREET, line(120, beside=1.5)[::-1]


def look_ahead(drive, seed):
    """Views along a drive: the street looks like another one from its other end."""
    onwards = np.diff(drive[:, 0], append=2 * drive[-1, 0] - drive[-2, 0])
    return look(drive + 1e3 * np.sign(onwards)[:, None] * [0.37, 0.61], np.random.default_rng(seed), noise=0.1)


BOTH_WAYS = remember_drives(THERE, BACK, views=np.concatenate([look_ahead(THERE, 1), look_ahead(BACK, 2)]))


def film_street(metres, start=10**12):
    way = np.column_stack([metres, np.full(len(metres), 0.5)])
    percepts = film(way, start=start)
    return way, [replace(one, descriptor=view) for one, view in zip(percepts, look_ahead(way, 3), strict=True)]


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_street_mapped_both_ways_is_localized_both_ways(direction):
    way, percepts = film_street(120.0 + direction * STEP * np.arange(-25, 25))
    estimates = drive(percepts, memory=BOTH_WAYS)
    assert is_localized(estimates)[25:].all()
    assert measure_errors(estimates, way)[25:].max() < 4.0


def test_what_was_proven_needs_less_to_go_on():
    peak, proof = Peak(1.0, np.zeros(2), np.eye(2), 0, np.zeros(1, dtype=int)), Proof(10.0, 0.9, RouteModel())
    step = Motion(0.1, 1.0, None, 0.2)
    assert [proof.judge(peak, gain, step) for gain in (6.5, 1.0, -3.0, -1.0, 2.0)] == [False, True, True, False, False]


def test_where_both_directions_look_alike_a_drive_is_localized_too():
    """Later than elsewhere: there a block that is driven the other way round looks like the map."""
    memory = remember_drives(THERE, BACK)
    estimates = drive(film(THERE[10:60]), memory=memory)
    assert is_localized(estimates)[40:].all()


def test_after_a_u_turn_it_is_localized_again_and_hardly_wrong():
    metres = np.concatenate([STEP * np.arange(20, 60), STEP * np.arange(60, 20, -1)])
    way, percepts = film_street(metres)
    estimates = drive(percepts, memory=BOTH_WAYS)
    localized, errors = is_localized(estimates), measure_errors(estimates, way)
    assert localized[20:40].all()
    assert localized[-15:].all()
    assert errors[localized].max() < 1.5 * RADIUS


def test_a_start_that_somebody_told_is_proven_sooner():
    told, alone = track(), track()
    told.start_at(DRIVE[0].stamp - 1, WAY[0], 2.0)
    firsts = [int(np.argmax(is_localized(drive(DRIVE[:30], each)))) for each in (told, alone)]
    assert 0 < firsts[0] < firsts[1]


def test_from_a_wrong_start_it_recovers_and_never_claims_it():
    tracker = track()
    tracker.start_at(DRIVE[0].stamp - 1, -WAY[0], 2.0)
    estimates = drive(DRIVE, tracker)
    localized = is_localized(estimates)
    assert localized[30:].all()
    assert measure_errors(estimates, WAY)[localized].max() < 4.0


def test_a_carried_camera_is_found_again_and_hardly_localized_where_it_was():
    way = np.concatenate([WAY[:40], around(150.0 + STEP * np.arange(40, 90))])
    estimates = drive(film(way))
    localized, errors = is_localized(estimates), measure_errors(estimates, way)
    assert localized[39]
    assert localized[-20:].all()
    assert errors[-20:].max() < 4.0
    assert STEP * np.count_nonzero(localized & (errors > RADIUS)) <= RADIUS


def test_a_place_that_was_jumped_to_is_proven_anew():
    tracker = RouteTracker(Tracking(model=RouteModel(believed=0.0)), Fusion(), MEMORY)
    way = np.concatenate([WAY[:40], around(150.0 + STEP * np.arange(40, 75))])
    estimates = drive(film(way), tracker)
    found = np.flatnonzero(measure_errors(estimates, way)[40:] < 4.0)[0] + 40
    assert not is_localized(estimates)[found : found + 2].any()
    assert is_localized(estimates)[-5:].all()


def test_after_a_gap_of_minutes_it_may_be_anywhere_and_what_was_reckoned_contradicts_nothing():
    there = around(150.0 + STEP * np.arange(40, 80))
    later = film(there, start=DRIVE[39].stamp + 90 * NANOSECONDS)
    estimates = drive([*DRIVE[:40], *later])[40:]
    assert not is_localized(estimates)[:2].any()
    assert is_localized(estimates)[15:].all()


@pytest.mark.parametrize("told", [Odometry(0.0, 0.0), Odometry(0.0), Odometry(0.3, 0.3)])
def test_odometry_that_never_changes_has_no_say(told):
    plain, stuck = (drive([replace(each, motion=motion) for each in DRIVE[:40]]) for motion in (None, told))
    for one, other in zip(plain, stuck, strict=True):
        assert one.status is other.status
        np.testing.assert_array_equal(one.position, other.position)


@pytest.mark.parametrize("at", [0, 1, 12, 45])
def test_stopped_anywhere_and_resumed_it_goes_on_bit_for_bit(at):
    rng = np.random.default_rng(5)
    percepts = [
        replace(
            each, motion=Odometry(SPEED + rng.normal(), 0.1 * rng.normal()), position=spot + rng.normal(0.0, 3.0, 2)
        )
        for each, spot in zip(film(np.concatenate([WAY[:40], 1e4 + WAY[:20]])), WAY, strict=False)
    ]
    whole, first = track(), track()
    for tracker in (whole, first):
        tracker.expect_head(4.0)
    drive(percepts[:at], whole)
    drive(percepts[:at], first)
    second = copy(first)
    for one, other in zip(drive(percepts[at:], whole), drive(percepts[at:], second), strict=True):
        assert (one.status, one.verdict) == (other.status, other.verdict)
        np.testing.assert_array_equal(one.belief.mean, other.belief.mean)
        np.testing.assert_array_equal(one.belief.covariance, other.belief.covariance)
    arrays = second.arrays()
    assert arrays.keys() == whole.arrays().keys()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def test_what_was_learned_is_the_pose_head_s_error_and_the_last_labelled_view(followed):
    tracker = copy(followed[0])
    tracker.expect_head(4.0)
    assert tracker.score_label(DRIVE[0], followed[1][0].recognition, WAY[0])
    assert not tracker.score_label(DRIVE[0], followed[1][0].recognition, WAY[0])  # seen
    assert not tracker.score_label(DRIVE[30], followed[1][30].recognition, WAY[30] + 1e3)  # off the map
    again = track()
    again.restore_learned(tracker.learned())
    assert again.belief is None
    assert again.learned().keys() == {"head", "labelled"}
    assert not again.score_label(DRIVE[0], followed[1][0].recognition, WAY[0])
    assert np.sqrt(2.0 * again.head.variance) == pytest.approx(4.0)
