"""A wrong match or a wrong start is overruled soon, moving or parked, with and without a pose head."""

from dataclasses import replace

import numpy as np
import pytest

from descriptor_field import CONDITIONS
from taught import METHODS, RECOVERY, WORLD, error, restarted, without_apr
from tmapr.artifacts.percepts import Recording
from tmapr.system import build
from tmapr.tracking import RouteModel
from tmapr.types import NANOSECONDS, Fault, Reason, Status

both_methods = pytest.mark.parametrize("system", METHODS.values(), ids=METHODS.keys())
LATER = NANOSECONDS // 10
FAR, WITHIN_THE_GATE = np.array([-60.0, 55.0]), np.array([-17.0, 0.0])


def with_perfect_apr(recording):
    """Without jitter, whose displacement would widen the continuity gate."""
    pairs = zip(recording.percepts, recording.truth, strict=True)
    return replace(recording, percepts=tuple(replace(percept, position=truth) for percept, truth in pairs))


with_and_without_apr = pytest.mark.parametrize(
    "strip", [lambda recording: recording, without_apr], ids=["with APR", "without APR"]
)


def parked(stream, row, count):
    """The camera stands where it was at `row`; only noise changes."""
    rng = np.random.default_rng(row)
    positions = np.tile(stream.truth[row], (count, 1))
    return Recording.from_arrays(
        "parked",
        stream.percepts[row].stamp + LATER * np.arange(count),
        WORLD.descriptors(positions, CONDITIONS["noon"], rng),
        truth=positions,
        positions=positions + 2.0 * rng.normal(size=(count, 2)),
    )


def moving(stream, row, count):
    rows = slice(row, row + count)
    return replace(stream, percepts=stream.percepts[rows], truth=stream.truth[rows], known=stream.known[rows])


motions = pytest.mark.parametrize("motion", [moving, parked])


def misled(percept, memory, target):
    """The same frame looking like the reference nearest to `target`: what a repeated facade does."""
    row = np.argmin(np.hypot(*(memory.positions - target).T))
    descriptor = memory.descriptors[row].astype(float)
    return replace(percept, descriptor=descriptor / np.linalg.norm(descriptor))


def recovered(localizer, recording):
    """Reasons and errors of the frames after the first."""
    estimates = [localizer.observe(percept) for percept in recording.percepts[1:]]
    errors = [error(estimate, truth) for estimate, truth in zip(estimates, recording.truth[1:], strict=True)]
    return [estimate.verdict.reason for estimate in estimates], errors


@motions
def test_one_wrong_accept_beside_the_apr_position_is_soon_overruled(motion, gated, stream):
    recording = with_perfect_apr(motion(stream, 40, 30))
    beside = recording.truth[0] + WITHIN_THE_GATE
    wrong = gated.observe(misled(recording.percepts[0], gated.memory, beside))
    assert wrong.verdict.accepted
    assert np.hypot(*(wrong.candidate.position - recording.truth[0])) > 10.0
    reasons, errors = recovered(gated, recording)
    assert reasons[: RECOVERY - 1] == [Reason.JUMPS] * (RECOVERY - 1)
    assert Reason.ACCEPTED in reasons[: RECOVERY + 1]
    assert max(errors[RECOVERY + 5 :]) < 10.0


@motions
def test_one_wrong_accept_without_an_apr_position_is_soon_overruled(motion, gated, stream):
    recording = without_apr(motion(stream, 40, 30))
    wrong = gated.observe(misled(recording.percepts[0], gated.memory, FAR))
    assert wrong.verdict.accepted
    assert error(wrong, recording.truth[0]) > 30.0
    reasons, errors = recovered(gated, recording)
    assert reasons[: RECOVERY - 1] == [Reason.FAR_FROM_BELIEF] * (RECOVERY - 1)
    assert Reason.RELOCALIZED in reasons[: RECOVERY + 1]
    assert max(errors[RECOVERY + 5 :]) < 10.0


@motions
def test_one_wrong_match_is_never_claimed_and_soon_overruled(motion, localizer, stream):
    recording = without_apr(motion(stream, 40, 30))
    wrong = localizer.observe(misled(recording.percepts[0], localizer.memory, FAR))
    assert error(wrong, recording.truth[0]) > 30.0
    assert wrong.status is not Status.LOCALIZED
    estimates = [localizer.observe(percept) for percept in recording.percepts[1:]]
    assert error(estimates[-1], recording.truth[-1]) < 10.0


@both_methods
@pytest.mark.parametrize("stop", [1, RECOVERY - 1, RECOVERY])
def test_a_restart_does_not_interrupt_the_recovery(system, stop, block, stream, run):
    localizer = build(system, block)
    recording = without_apr(moving(stream, 40, 10))
    percepts = [misled(recording.percepts[0], localizer.memory, FAR), *recording.percepts[1:]]
    for percept in percepts[:stop]:
        localizer.observe(percept)
    again = restarted(localizer, system, run)
    for percept in percepts[stop:]:
        assert again.observe(percept).verdict == localizer.observe(percept).verdict


@pytest.mark.parametrize("interval", [0.5, 1.0, 3.0])
def test_without_apr_a_slow_camera_recovers_from_a_wrong_accept_too(interval, gated, stream):
    every = max(1, round(interval / 0.1))
    slow = without_apr(stream).percepts[::every][: RECOVERY + 4]
    truth = stream.truth[::every]
    wrong = gated.observe(misled(slow[0], gated.memory, FAR))
    assert error(wrong, truth[0]) > 30.0
    reasons = [gated.observe(percept).verdict.reason for percept in slow[1:]]
    assert {Reason.ACCEPTED, Reason.RELOCALIZED} & set(reasons[: RECOVERY + 1])


@motions
@with_and_without_apr
def test_a_wrong_start_is_soon_overruled_by_matches_that_agree(motion, strip, gated, stream):
    recording = strip(motion(stream, 40, 40))
    gated.start_at(recording.percepts[0].stamp, FAR, 2.0)
    reasons, errors = recovered(gated, recording)
    assert {Reason.ACCEPTED, Reason.RELOCALIZED} & set(reasons[: RECOVERY + 1])
    assert max(errors[2 * RECOVERY + 5 :]) < 10.0


@with_and_without_apr
def test_a_wrong_start_is_overruled_by_new_views(strip, localizer, stream):
    recording = strip(moving(stream, 40, 60))
    localizer.start_at(recording.percepts[0].stamp, FAR, 2.0)
    estimates = [localizer.observe(percept) for percept in recording.percepts[1:]]
    assert estimates[-1].status is Status.LOCALIZED
    assert error(estimates[-1], recording.truth[-1]) < 10.0


@motions
def test_after_a_wrong_start_nobody_is_certain_and_wrong(motion, localizer, stream):
    recording = motion(stream, 40, 40)
    localizer.start_at(recording.percepts[0].stamp, FAR, 2.0)
    estimates = [localizer.observe(percept) for percept in recording.percepts[1:]]
    for estimate, truth in zip(estimates, recording.truth[1:], strict=True):
        lost = error(estimate, truth) > 3 * max(estimate.belief.semi_axis, 5.0)
        assert not (lost and estimate.status is Status.LOCALIZED)
        assert np.hypot(*estimate.belief.mean[2:]) < 40.0


def test_a_parked_camera_proves_nothing_in_a_minute(localizer, stream):
    seen, begun = parked(stream, 40, 90).percepts, stream.percepts[40].stamp
    slow = [replace(each, stamp=begun + number * 2 * NANOSECONDS // 3) for number, each in enumerate(seen)]
    estimates = [localizer.observe(each) for each in slow]
    assert Status.LOCALIZED not in {each.status for each in estimates}
    assert localizer.arrays()["track.proof"][0] < RouteModel().proof / 2


def test_one_absurd_pose_does_not_move_the_estimate(tracked, stream):
    believed = tracked.observe(stream.percepts[30])
    absurd = replace(stream.percepts[31], position=stream.truth[31] + 500.0)
    estimate = tracked.observe(absurd)
    assert error(estimate, believed.position) < 2.0
    assert estimate.percept is absurd


def test_a_start_is_where_somebody_said(localizer, stream):
    localizer.start_at(stream.percepts[0].stamp, FAR, 2.0)
    estimate = localizer.observe(replace(stream.percepts[1], fault=Fault.FROZEN))
    np.testing.assert_array_equal(estimate.position, FAR)


def test_a_start_forgets_the_correction_before_it(tracked, stream):
    tracked.start_at(stream.percepts[30].stamp, stream.truth[30], 2.0)
    estimate = tracked.observe(replace(stream.percepts[31], fault=Fault.FROZEN))
    assert estimate.status is Status.PREDICTING


def test_a_start_may_lie_before_the_last_frame(tracked, stream):
    tracked.start_at(stream.percepts[10].stamp, stream.truth[10], 2.0)
    assert tracked.observe(stream.percepts[11]).verdict.accepted
