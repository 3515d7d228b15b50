"""Which frame is learned from, with which position, and when."""

import numpy as np
import pytest

from tmapr.labels import Labels, Teacher
from tmapr.types import CHI2_95, Belief, Candidate, Estimate, Fault, Percept, Reason, Status, Verdict

DIM = 8
FRAMES = 12


def estimate(
    stamp, *, reason=Reason.ACCEPTED, semi_axis=1.0, fault=None, support=1.0, margin=1.0, status=Status.LOCALIZED
):
    variance = semi_axis**2 / CHI2_95
    belief = Belief(stamp, np.array([stamp, -stamp, 0.0, 0.0]), np.diag([variance, variance, 1.0, 1.0]))
    percept = Percept(stamp, np.eye(DIM)[stamp % DIM], fault=fault)
    candidate = Candidate(0, np.zeros(2), 0, 0.9, 0.0, support, margin)
    return Estimate(belief, percept, candidate, Verdict(reason), status)


def truth(stamp):
    return np.array([stamp + 0.25, 1.0])


def teacher(*, dual_constraints=False, **labels):
    fixed = {"max_semi_axis": 5.0, "min_support": 0.5, "min_margin": 0.5}
    return Teacher(Labels(**fixed | labels), dual_constraints)


def taught(teacher, stamps, *, faulty=(), unlabelled=()):
    """The stamp that each frame brought a label for, or None."""
    labels = []
    for stamp in stamps:
        frozen = {"fault": Fault.FROZEN, "reason": Reason.FAULTY_FRAME} if stamp in faulty else {}
        due = teacher.due(estimate(stamp, **frozen), None if stamp in unlabelled else truth(stamp))
        labels.append(due[0][0].stamp if due else None)
    return labels


def test_labels_that_are_off_never_come():
    assert taught(teacher(mode="off"), range(FRAMES)) == [None] * FRAMES


@pytest.mark.parametrize("delay", [0, 1, 3, FRAMES])
def test_a_true_label_comes_so_many_frames_late(delay):
    expected = [None] * min(delay, FRAMES) + list(range(FRAMES - delay))
    assert taught(teacher(mode="truth", delay=delay), range(FRAMES)) == expected


def test_a_late_label_is_the_percept_and_the_truth_of_its_own_frame():
    late = teacher(mode="truth", delay=3)
    ((percept, position),) = [late.due(estimate(stamp), truth(stamp)) for stamp in range(FRAMES)][7]
    np.testing.assert_array_equal(percept.descriptor, estimate(4).percept.descriptor)
    np.testing.assert_array_equal(position, truth(4))


@pytest.mark.parametrize("missing", ["faulty", "unlabelled"])
@pytest.mark.parametrize("delay", [0, 3])
def test_a_frame_without_a_label_is_skipped_and_shifts_no_other(missing, delay):
    labels = taught(teacher(mode="truth", delay=delay), range(FRAMES), **{missing: {2, 3, 5}})
    whole = [None] * delay + list(range(FRAMES - delay))
    assert labels == [None if stamp in {2, 3, 5} else stamp for stamp in whole]


@pytest.mark.parametrize("reason", [Reason.LOOKS_DIFFERENT, Reason.NO_CANDIDATE, Reason.OLDER_STAMP])
def test_a_true_label_needs_no_accepted_candidate(reason):
    ((_, position),) = teacher(mode="truth", delay=0).due(estimate(1, reason=reason, semi_axis=100.0), truth(1))
    np.testing.assert_array_equal(position, truth(1))


@pytest.mark.parametrize("reason", [Reason.FAULTY_FRAME, Reason.REPEATED_STAMP])
def test_a_frame_that_shows_nothing_new_is_not_learned(reason):
    assert teacher(mode="truth", delay=0).due(estimate(1, reason=reason), truth(1)) == []


def test_after_the_delay_was_shortened_the_overdue_labels_come_at_once():
    first, second = teacher(mode="truth", delay=5), teacher(mode="truth", delay=2)
    taught(first, range(5))
    second.restore(first.arrays())
    assert [percept.stamp for percept, _ in second.due(estimate(5), truth(5))] == [0, 1, 2, 3]


def fused(seen, *, dual_constraints=False):
    return teacher(mode="fused", dual_constraints=dual_constraints).due(seen, truth(1)) != []


def test_a_fused_label_is_the_estimate_not_the_truth():
    ((percept, position),) = teacher(mode="fused").due(estimate(3), truth(3))
    assert percept.stamp == 3
    np.testing.assert_array_equal(position, [3.0, -3.0])


@pytest.mark.parametrize("reason", Reason)
def test_a_fused_label_needs_an_accepted_candidate(reason):
    assert fused(estimate(1, reason=reason)) is (reason in {Reason.ACCEPTED, Reason.RELOCALIZED})


@pytest.mark.parametrize(("semi_axis", "learned"), [(4.99, True), (5.01, False)])
def test_a_fused_label_needs_a_small_covariance(semi_axis, learned):
    assert fused(estimate(1, semi_axis=semi_axis)) is learned


@pytest.mark.parametrize(
    ("support", "margin", "learned"),
    [(0.5, 0.5, True), (0.49, 0.5, False), (0.5, 0.49, False), (1.0, float("inf"), True)],
)
def test_with_dual_constraints_a_fused_label_needs_support_and_margin(support, margin, learned):
    assert fused(estimate(1, support=support, margin=margin), dual_constraints=True) is learned


def test_without_dual_constraints_support_and_margin_do_not_matter():
    assert fused(estimate(1, support=0.0, margin=0.0))


@pytest.mark.parametrize("stop", range(FRAMES))
def test_labels_still_waiting_survive_a_restart(stop):
    unlabelled = {0, 4, 5, 8}
    whole = taught(teacher(mode="truth", delay=4), range(FRAMES), unlabelled=unlabelled)
    first, second = teacher(mode="truth", delay=4), teacher(mode="truth", delay=4)
    before = taught(first, range(stop), unlabelled=unlabelled)
    second.restore(first.arrays())
    assert before + taught(second, range(stop, FRAMES), unlabelled=unlabelled) == whole


def test_restoring_forgets_what_waited_before():
    used = teacher(mode="truth", delay=2)
    taught(used, range(2))
    used.restore(teacher(mode="truth", delay=2).arrays())
    assert taught(used, range(10, 13)) == [None, None, 10]


@pytest.mark.parametrize("status", Status)
def test_only_a_localized_estimate_teaches_itself(status):
    due = teacher(mode="fused").due(estimate(1, status=status), None)
    assert bool(due) is (status is Status.LOCALIZED)


@pytest.mark.parametrize("delay", [0, 3, 2 * FRAMES])
def test_labels_that_wait_when_a_drive_ends_come_at_once_and_in_order(delay):
    late = teacher(mode="truth", delay=delay)
    came = taught(late, range(FRAMES), faulty=(9,), unlabelled=(10,))
    rest = late.hand_over()
    assert [stamp for stamp in (*came, *(seen.stamp for seen, _ in rest)) if stamp is not None] == [*range(9), 11]
    for seen, position in rest:
        np.testing.assert_array_equal(position, truth(seen.stamp))
        np.testing.assert_array_equal(seen.descriptor, estimate(seen.stamp).percept.descriptor)
    assert late.hand_over() == []
    assert taught(late, range(delay)) == [None] * delay


@pytest.mark.parametrize("mode", ["off", "fused"])
def test_only_true_labels_wait_for_the_end_of_a_drive(mode):
    waiting = teacher(mode="truth", delay=FRAMES)
    taught(waiting, range(FRAMES))
    other = teacher(mode=mode)
    other.restore(waiting.arrays())
    assert other.hand_over() == []


@pytest.mark.parametrize(("mode", "streamed"), [("off", "truth+7"), ("truth", "truth+7"), ("fused", "fused")])
def test_a_stream_learns_from_the_truth_unless_it_teaches_itself(mode, streamed):
    assert Labels(mode=mode, delay=7).streamed.description == streamed
