"""The Kalman filter beside the route filter: what it takes from a frame, when it starts again, and when it stands."""

from dataclasses import replace

import numpy as np
import pytest

from routes import SPEED, look, ring
from tmapr.fusion.capf import Fusion
from tmapr.retrieval.memory import remember
from tmapr.track import RouteTracker
from tmapr.track.standing import find_best
from tmapr.tracking import Tracking
from tmapr.types import NANOSECONDS, Comparison, Odometry, Percept, Reason, Recognition, Status

WAY = ring(120)
VIEWS = look(WAY, np.random.default_rng(1))
RADIUS, RATE = 10.0, 4
AROUND = float(np.hypot(*WAY[0]))
ROWS = np.arange(len(WAY))
HEADINGS = np.arctan2(*WAY.T[::-1]) + np.pi / 2
STAMPS = ROWS * round(2.0 / SPEED * NANOSECONDS)
MEMORY = remember(VIEWS, WAY, ROWS // 8, STAMPS, frames=ROWS, headings=HEADINGS, probes=256)


def track():
    return RouteTracker(Tracking(radius=RADIUS), Fusion(), MEMORY)


def place_at(metres):
    turn = np.asarray(metres) / AROUND
    return AROUND * np.column_stack([np.cos(turn), np.sin(turn)])


def film(positions, first=0, motion=None):
    seen = look(positions, np.random.default_rng(2))
    stamps = [10**12 + number * NANOSECONDS // RATE for number in range(first, first + len(seen))]
    return [Percept(stamp, view, motion=motion) for stamp, view in zip(stamps, seen, strict=True)]


def compare(descriptor):
    cosines = VIEWS @ descriptor
    return Comparison((cosines - np.median(cosines)) / 0.2, np.zeros(len(VIEWS)))


def advance(tracker, percepts):
    return [tracker.advance(each, Recognition(comparison=compare(each.descriptor))) for each in percepts]


def copy(tracker):
    again = track()
    again.restore(tracker.arrays())
    return again


DRIVE = film(place_at(SPEED / RATE * np.arange(60)))


@pytest.fixture(scope="module")
def followed():
    tracker = track()
    return tracker, advance(tracker, DRIVE)


def test_a_followed_drive_is_corrected_from_the_first_frame_on_and_localized_in_the_end(followed):
    _, estimates = followed
    assert {estimate.verdict.reason for estimate in estimates} == {Reason.ACCEPTED}
    assert {estimate.status for estimate in estimates[-20:]} == {Status.LOCALIZED}


def test_a_frame_that_shows_little_new_makes_the_position_less_certain_than_a_new_view(followed):
    tracker, _ = followed
    last, stamp = DRIVE[-1].descriptor, DRIVE[-1].stamp + NANOSECONDS // 20
    spreads = []
    for share in (0.1, 1.0):
        change = share * tracker.placer.route.view
        across = VIEWS[80] - (VIEWS[80] @ last) * last
        view = (1.0 - change) * last + np.sqrt(1.0 - (1.0 - change) ** 2) * across / np.linalg.norm(across)
        again = copy(tracker)
        advance(again, [Percept(stamp, view)])
        spreads.append(float(np.trace(again.belief.covariance[:2, :2])))
    assert spreads[0] > spreads[1]


def test_who_stops_after_a_long_drive_is_soon_seen_to_stand(followed):
    tracker = copy(followed[0])
    stopped = [replace(DRIVE[-1], stamp=DRIVE[-1].stamp + n * NANOSECONDS // RATE) for n in range(1, 4 * RATE)]
    advance(tracker, stopped)
    assert np.hypot(*followed[0].belief.mean[2:]) > SPEED / 2
    assert np.hypot(*tracker.belief.mean[2:]) < SPEED / 4


def test_after_a_jump_the_belief_starts_again_at_the_place_that_is_seen(followed):
    tracker = copy(followed[0])
    there = place_at(SPEED / RATE * np.arange(60, 100) + np.pi * AROUND)
    estimates = advance(tracker, film(there, first=60))
    again = [estimate.route for estimate in estimates if estimate.verdict.reason is Reason.RELOCALIZED]
    assert again
    assert all(route.p_place > route.p_off_map for route in again)
    assert np.hypot(*(estimates[-1].position - there[-1])) < RADIUS


def test_off_the_map_a_pose_head_moves_the_belief_the_less_the_farther_from_the_map_it_points():
    tracker, driving = track(), Odometry(SPEED, SPEED / AROUND)
    tracker.expect_head(2.0)
    advance(tracker, [replace(each, motion=driving) for each in DRIVE])
    ahead = place_at(SPEED / RATE * 60) + 2.0 * np.arange(30)[:, None] * place_at(SPEED / RATE * 60) / AROUND
    for percept in film(1000.0 + ahead, first=60, motion=Odometry(SPEED, 0.0)):
        (estimate,) = advance(tracker, [percept])
    assert estimate.verdict.reason is Reason.OFF_MAP
    moved, (last,) = [], film(1000.0 + ahead[-1:] + 9.0, first=90, motion=Odometry(SPEED, 0.0))
    (alone,) = advance(copy(tracker), [last])
    outwards = alone.position / np.hypot(*alone.position)
    for metres in (20.0, 200.0):
        said = alone.position + metres * outwards
        (estimate,) = advance(copy(tracker), [replace(last, position=said)])
        moved.append(float((estimate.position - alone.position) @ outwards) / metres)
    assert 0.0 < 2.0 * moved[1] < moved[0]


def test_a_candidate_is_the_first_of_those_that_look_most_alike_with_their_places(rng):
    similarity, place = rng.normal(size=(2, 50)).round(1)
    near = np.sort(rng.permutation(50)[:20])
    assert find_best(similarity, place, near) == near[np.argmax((similarity + place)[near])]
