"""Laps of a closed way: rounded corners, wandering, stops and the stamps of the frames."""

import numpy as np
import pytest

from tmapr.simulation.route import RECORDED, Wave, Way, frame_times, sample_lap
from tmapr.types import NANOSECONDS

TURN = 3.0
SQUARE = Way(np.array([[0.0, 0.0], [60.0, 0.0], [60.0, 40.0], [0.0, 40.0], [0.0, 0.0]]), TURN)
LENGTH = 200.0
AROUND = np.linspace(30.0, 230.0, 4001)
NO_STOP, STOPS = 0, 2
"""Seeds of laps without a stop and with some."""


def on_polygon(along):
    """Where one is on the square itself, as often around as it takes."""
    ends = np.array([0.0, 60.0, 100.0, 160.0, 200.0])
    return np.stack([np.interp(along % LENGTH, ends, axis) for axis in SQUARE.corners.T], axis=-1)


def distance_to(corners, points):
    """From each point to the nearest leg."""
    starts, legs = corners[:-1], np.diff(corners, axis=0)
    shares = np.sum((points[:, None] - starts) * legs, axis=-1) / np.sum(legs**2, axis=-1)
    nearest = starts + np.clip(shares, 0, 1)[..., None] * legs
    return np.linalg.norm(points[:, None] - nearest, axis=-1).min(axis=1)


def driven(seed, speed=5.0, wander=0.4):
    return sample_lap(SQUARE, speed, wander, np.random.default_rng(seed))


def waits_of(motion):
    """Seconds of each stop."""
    pauses = np.diff(motion.seconds)[np.diff(motion.along) == 0]
    return pauses[pauses > 1e-6]


def test_the_rounded_way_is_the_moving_average_of_the_route():
    half = 3 / np.sqrt(2) * TURN
    offsets = np.linspace(-half, half, 20001)
    weights = 1 - (offsets / half) ** 2
    along = np.array([30.0, 55.0, 60.0, 63.0, 98.0, 199.0, 203.0])
    averages = [np.average(on_polygon(at - offsets), axis=0, weights=weights) for at in along]
    np.testing.assert_allclose(SQUARE.round_corners(along)[0], averages, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_its_derivatives_are_those_of_the_points(order):
    step = 1e-5
    before, after = (SQUARE.round_corners(AROUND + shift)[order - 1] for shift in (-step, step))
    np.testing.assert_allclose(SQUARE.round_corners(AROUND)[order], (after - before) / (2 * step), atol=2e-5)


def test_a_right_angle_is_taken_at_the_radius_of_the_turn():
    np.testing.assert_allclose(np.max(SQUARE.curvature(AROUND)), 1 / TURN, rtol=1e-3)


def test_rounded_corners_stay_near_the_route():
    # In the middle of a right angle, by 3 h / 16 with h = 3/√2 turns.
    furthest = distance_to(SQUARE.corners, SQUARE.round_corners(AROUND)[0]).max()
    np.testing.assert_allclose(furthest, 9 / 16 / np.sqrt(2) * TURN, rtol=1e-3)


def test_headings_are_the_direction_in_which_positions_go():
    motion, step = driven(1), 1e-5
    headings = motion.poses_at(AROUND)[1]
    moved = motion.poses_at(AROUND + step)[0] - motion.poses_at(AROUND - step)[0]
    turned = np.exp(1j * headings) * (moved[:, 0] - 1j * moved[:, 1])
    np.testing.assert_allclose(np.angle(turned), 0, atol=1e-5)


def test_headings_have_no_steps_although_the_vehicle_wanders():
    fine = np.linspace(50.0, 70.0, 20_001)
    changes = np.diff(np.unwrap(driven(1).poses_at(fine)[1]))
    assert np.abs(changes).max() < 0.001 * 2 / TURN


def test_wandering_stays_within_its_bound_and_uses_it():
    motion = driven(3, wander=0.4)
    aside = np.linalg.norm(motion.poses_at(AROUND)[0] - SQUARE.round_corners(AROUND)[0], axis=1)
    assert 0.2 < aside.max() <= 0.4


def test_the_slope_of_a_wave_is_its_derivative(rng):
    wave, along = Wave.sample(rng, 0.5, shortest=10.0), np.linspace(0, 100, 50)
    np.testing.assert_allclose(wave.slope(along), (wave.at(along + 1e-5) - wave.at(along - 1e-5)) / 2e-5, atol=1e-8)


def test_the_lap_is_driven_once_from_the_middle_of_the_first_leg():
    motion = driven(1)
    assert motion.along[0] == 30.0
    np.testing.assert_allclose(motion.along[-1], 30.0 + LENGTH)


def test_in_a_stop_time_goes_on_and_the_pose_stays():
    motion = driven(STOPS)
    row = int(np.flatnonzero((np.diff(motion.along) == 0) & (np.diff(motion.seconds) > 1))[0])
    within = np.linspace(motion.seconds[row], motion.seconds[row + 1], 20)
    assert len(np.unique(motion.distance_at(within))) == 1


def test_before_a_stop_the_vehicle_brakes_no_harder_than_a_car():
    motion = driven(STOPS, speed=8.0)
    times = np.arange(0, motion.duration, 0.5)
    speeds = np.diff(motion.distance_at(times)) / 0.5
    assert np.abs(np.diff(speeds) / 0.5).max() < 4


def test_bends_are_taken_at_about_half_the_speed():
    motion = driven(NO_STOP)
    assert len(waits_of(motion)) == 0
    corner, straight = ([at - 0.5, at + 0.5] for at in (60.0, 80.0))
    ends = np.interp([*corner, *straight], motion.along, motion.seconds)
    metres = [np.hypot(*np.diff(motion.poses_at(np.array(part))[0], axis=0)[0]) for part in (corner, straight)]
    slow, fast = metres / np.diff(ends)[::2]
    assert 0.35 < slow / fast < 0.65


def test_frames_are_spread_over_the_whole_duration(rng):
    times = frame_times(100.0, 250, rng) / NANOSECONDS
    np.testing.assert_allclose(times, np.arange(250) * 0.4, atol=3.0)
    assert times[0] == 0
    assert 98 < times[-1] < 100


def test_as_many_frames_as_the_camera_takes_come_at_its_two_intervals(rng):
    count = round(100.0 / RECORDED)
    gaps = np.diff(frame_times(100.0, count, rng)) / NANOSECONDS
    short, long = gaps[gaps < RECORDED], gaps[gaps > RECORDED]
    np.testing.assert_allclose(short, 0.066, rtol=0.1)
    np.testing.assert_allclose(long, 2 * short[0], rtol=1e-6)


@pytest.mark.parametrize("count", [2, 17, 1000, 5000])
def test_stamps_rise_however_many_frames_are_asked_for(count, rng):
    times = frame_times(60.0, count, rng)
    assert len(times) == count
    assert np.all(np.diff(times) > 0)


def test_a_way_that_does_not_close_is_refused():
    with pytest.raises(ValueError, match="must end where it starts"):
        Way(SQUARE.corners[:-1], TURN)
