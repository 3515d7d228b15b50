"""Poses between poses, against a loop over exact integers; directions and turns of a track."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from tmapr.data.poses import MAX_BEYOND, MAX_GAP, Poses, fit_rotation, track_direction, wrap_angles
from tmapr.types import NANOSECONDS

EPOCH = 1_628_215_174_691_250_698
STANDING = 2.0
NONE = (None, None, None)


def poses(*rows):
    """From (stamp since EPOCH, x, y, heading or None)."""
    stamps = np.array([EPOCH + row[0] for row in rows], dtype=np.int64)
    headings = np.array([np.nan if row[3] is None else row[3] for row in rows], dtype=float)
    return Poses(stamps, np.array([row[1:3] for row in rows], dtype=float).reshape(-1, 2), headings)


def pose_at(known, since, **limits):
    found = known.at(np.array([EPOCH + since]), **limits)
    return (*found.positions[0].tolist(), float(found.headings[0]))


def between(rows, since, standing):
    """Exactly, in integers: the rows around an instant and how far it is on the way from one to the other."""
    before = max((row for row in rows if row[0] <= since), default=None)
    after = min((row for row in rows if row[0] >= since), default=None)
    if before is None or after is None:
        end = before or after
        return (end, end, 0) if end and abs(end[0] - since) <= MAX_BEYOND * NANOSECONDS else None
    gap, step = after[0] - before[0], np.hypot(after[1] - before[1], after[2] - before[2])
    if gap > MAX_GAP * NANOSECONDS and not step < standing:
        return None
    return before, after, Fraction(since - before[0], gap) if gap else 0


def brute(rows, since, standing):
    first = list({row[0]: row for row in reversed(rows)}.values())
    around, turning = (
        between(first, since, standing),
        between([row for row in first if row[3] is not None], since, standing),
    )
    if around is None:
        return NONE
    before, after, share = around
    x, y = (float(before[axis] + share * (after[axis] - before[axis])) for axis in (1, 2))
    if turning is None:
        return x, y, None
    before, after, share = turning
    turn = (after[3] - before[3] + np.pi) % (2 * np.pi) - np.pi
    return x, y, before[3] + float(share) * turn


# Headings on a grid whose differences are never exactly half a turn, which has no shorter way round.
ROWS = st.tuples(
    st.integers(0, 60).map(lambda tick: tick * 100_000_001),
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.none() | st.integers(-31, 31).map(lambda tenths: tenths / 10),
)


@budget(derandomize=True)
@given(
    rows=st.lists(ROWS, max_size=12),
    since=st.integers(-200_000_000, 6_300_000_000) | st.integers(0, 60).map(lambda tick: tick * 100_000_001),
    standing=st.sampled_from([0.0, STANDING, 6.0]),
)
def test_a_pose_is_what_a_loop_over_integers_says(rows, since, standing):
    x, y, heading = pose_at(poses(*rows), since, standing=standing)
    expected = brute(rows, since, standing)
    if expected[0] is None:
        assert np.isnan([x, y, heading]).all()
        return
    np.testing.assert_allclose([x, y], expected[:2], atol=1e-12)
    if expected[2] is None:
        assert np.isnan(heading)
        return
    assert -np.pi <= heading <= np.pi
    assert abs(np.exp(1j * heading) - np.exp(1j * expected[2])) < 1e-12


@budget(derandomize=True)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=12, unique_by=lambda row: row[0]), order=st.randoms(use_true_random=False)
)
def test_the_order_of_poses_does_not_matter(rows, order):
    shuffled = list(rows)
    order.shuffle(shuffled)
    asked = EPOCH + np.arange(0, 6_000_000_000, 70_000_003)
    one, other = poses(*rows).at(asked), poses(*shuffled).at(asked)
    np.testing.assert_array_equal(one.positions, other.positions)
    np.testing.assert_array_equal(one.headings, other.headings)


def test_a_nanosecond_counts_although_the_epoch_is_long_ago():
    fast = poses((0, 0, 0, None), (4, 4, 0, None))
    assert [pose_at(fast, since)[0] for since in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("before", "after", "middle"), [(3.0, -3.0, np.pi), (-3.0, 3.0, np.pi), (-0.1, 0.1, 0.0), (3.1, -2.9, 3.1 + 0.1416)]
)
def test_a_heading_turns_the_shorter_way(before, after, middle):
    *_, heading = pose_at(poses((0, 0, 0, before), (1000, 1, 0, after)), 500)
    assert np.cos(heading - middle) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("gap", "bridged"), [(2_000_000_000, True), (2_000_000_001, False)])
def test_a_gap_is_bridged_up_to_its_limit(gap, bridged):
    assert np.isfinite(pose_at(poses((0, 0, 0, 0.0), (gap, 9, 0, 0.0)), gap // 2)).all() == bridged


@pytest.mark.parametrize(("metres", "bridged"), [(1.99, True), (2.0, False)])
def test_a_stop_is_bridged_however_long_if_its_ends_are_close(metres, bridged):
    stop = poses((0, 0, 0, 0.0), (3600 * NANOSECONDS, metres, 0, 0.0))
    x, _, heading = pose_at(stop, 1800 * NANOSECONDS, standing=STANDING)
    assert (x == pytest.approx(metres / 2), heading == 0.0) == (bridged, bridged)


def test_fixes_that_repeat_each_other_bridge_nothing_unless_they_are_those_of_a_stop():
    frozen = poses((0, 5, 5, 0.0), (60 * NANOSECONDS, 5, 5, 0.0))
    assert np.isnan(pose_at(frozen, 30 * NANOSECONDS)).all()


@pytest.mark.parametrize(
    ("since", "x"), [(-100_000_000, 1.0), (-100_000_001, None), (1_100_000_000, 2.0), (1_100_000_001, None)]
)
def test_beyond_the_ends_the_last_pose_holds_for_a_tenth_of_a_second_and_nothing_is_extrapolated(since, x):
    found, *_ = pose_at(poses((0, 1, 0, 0.0), (NANOSECONDS, 2, 0, 0.0)), since)
    assert np.isnan(found) if x is None else found == x


def test_a_heading_is_bridged_over_poses_that_have_none():
    sparse = poses((0, 0, 0, 0.0), (NANOSECONDS, 1, 0, None), (2 * NANOSECONDS, 2, 0, 1.0))
    assert pose_at(sparse, NANOSECONDS) == (1.0, 0.0, 0.5)


def test_where_the_position_is_unknown_so_is_the_heading():
    away = poses((0, 0, 0, 0.0), (30 * NANOSECONDS, 99, 0, None), (60 * NANOSECONDS, 1, 0, 0.0))
    assert np.isnan(pose_at(away, 10 * NANOSECONDS, standing=STANDING)).all()


@budget(derandomize=True)
@given(angle=st.floats(-50, 50))
def test_a_wrapped_angle_is_the_same_direction_within_half_a_turn(angle):
    (found,) = wrap_angles(np.array([angle]))
    assert -np.pi <= found <= np.pi
    assert abs(np.exp(1j * found) - np.exp(1j * angle)) < 1e-13


def test_half_a_turn_is_positive():
    np.testing.assert_array_equal(wrap_angles(np.array([np.pi, -np.pi, 3 * np.pi])), [np.pi] * 3)


def circle(count, radius=50.0):
    angles = np.linspace(0, np.pi, count)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1), wrap_angles(angles + np.pi / 2)


def test_the_track_of_a_circle_is_tangential():
    positions, headings = circle(400)
    found = track_direction(positions)
    assert np.abs(wrap_angles(found - headings)[10:-10]).max() < 1e-6


def test_the_noise_of_a_standing_vehicle_has_no_direction(rng):
    stood = rng.normal(0, 0.1, (300, 2))
    assert np.isnan(track_direction(stood)).all()


def test_before_and_after_a_stop_there_is_a_direction(rng):
    x = np.concatenate([np.linspace(-20, 0, 50), np.zeros(300), np.linspace(0, 20, 50)])
    found = track_direction(np.stack([x, np.zeros(400)], axis=1))
    assert np.isnan(found[200])
    np.testing.assert_allclose(found[np.r_[:40, 360:400]], 0.0)


@budget(derandomize=True)
@given(angle=st.floats(-3.1, 3.1), x=st.floats(-1000, 1000), y=st.floats(-1000, 1000), stretch=st.floats(0.5, 2.0))
def test_a_turned_and_shifted_track_tells_by_how_much(angle, x, y, stretch):
    positions, _ = circle(40)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert fit_rotation(positions, stretch * positions @ turn.T + [x, y]) == pytest.approx(angle, abs=1e-9)


def test_the_turn_is_that_of_the_best_fit(rng):
    """No other angle brings noisy tracks nearer to each other."""
    source = circle(60)[0] + rng.normal(0, 5, (60, 2))
    target = circle(60)[0][:, ::-1] + rng.normal(0, 5, (60, 2))
    source, target = source - source.mean(axis=0), target - target.mean(axis=0)

    def misfit(angle):
        return np.sum(np.abs(source @ [1, 1j] * np.exp(1j * angle) - target @ [1, 1j]) ** 2)

    best = fit_rotation(source, target)
    assert misfit(best) <= min(misfit(angle) for angle in np.linspace(-np.pi, np.pi, 200))


@pytest.mark.parametrize(("source", "target"), [(0.1, 50.0), (50.0, 0.1)])
def test_a_track_that_goes_nowhere_has_no_turn(source, target):
    assert fit_rotation(circle(40, source)[0], circle(40, target)[0]) is None
