"""The whole way of a frame on a small made-up world: what moves the estimate, what learns, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from taught import DIM, METHODS, PAPER, SYSTEM, error, without_apr
from tmapr.artifacts.arrays import digest
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.labels import Labels, Teacher
from tmapr.localizer import Localizer
from tmapr.running.progressive import localize
from tmapr.stages import Stages
from tmapr.system import build
from tmapr.types import NANOSECONDS, Fault, Frame, Odometry, Percept, Reason, Status

YEAR = 365 * 24 * 3600 * NANOSECONDS
both_methods = pytest.mark.parametrize("system", METHODS.values(), ids=METHODS.keys())
LEARNED = ("classifier.", "lessons.", "track.labelled", "track.head")


def unlearned(localizer):
    """Everything but the classifier, and what labels said of evidence."""
    return {name: array for name, array in localizer.arrays().items() if not name.startswith(LEARNED)}


with_and_without_apr = pytest.mark.parametrize(
    "strip", [lambda recording: recording, without_apr], ids=["with APR", "without APR"]
)


@with_and_without_apr
@both_methods
def test_a_known_street_is_followed(system, strip, block, stream):
    rows = range(180, 250)
    found = zip(localize(build(system, block), strip(stream), rows).estimates, rows, strict=True)
    errors = [error(estimate, stream.truth[row]) for estimate, row in found if estimate.status is not Status.LOST]
    assert len(errors) >= 0.7 * len(rows)
    assert max(errors) < 10.0


@both_methods
def test_a_filter_that_ignores_the_pose_head_goes_as_without_one(system, block, stream):
    ignoring = localize(build(changed(system, {"fusion.apr": False}), block), stream, range(25)).estimates
    without = localize(build(system, block), without_apr(stream), range(25)).estimates
    assert [each.position.tolist() for each in ignoring] == [each.position.tolist() for each in without]
    assert ignoring[-1].percept is stream.percepts[24]


@both_methods
def test_only_an_accepted_reference_surprises(system, block, stream):
    rows = range(190, 260)
    estimates = localize(build(system, block), stream, rows).estimates
    assert {each.nis for each in estimates if each.verdict.reason is not Reason.ACCEPTED} == {None}
    surprising = [each.nis is not None for each in estimates if each.verdict.reason is Reason.ACCEPTED]
    assert all(surprising) if system is PAPER else any(surprising)


def test_observing_never_changes_the_classifier(localizer, stream):
    before = digest(localizer.classifier.arrays())
    for percept in stream.percepts[:40]:
        localizer.observe(percept)
    assert digest(localizer.classifier.arrays()) == before


def test_learning_never_moves_the_estimate(tracked, stream):
    before = digest(unlearned(tracked))
    for row in range(30, 60):
        tracked.learn(stream.percepts[row], stream.truth[row] + 100.0)
    assert digest(unlearned(tracked)) == before


def test_what_is_learned_late_is_learned_as_it_was_seen(block, stream):
    """By then the drive's condition is known better: an estimate still says how its frame was seen."""
    localizer, plain = build(SYSTEM, block), block.classifier()
    seen = [localizer.observe(percept) for percept in stream.percepts[:40]]
    lessons = [localizer.learn(each, stream.truth[row], scored=False) for row, each in enumerate(seen)]
    for row, each in enumerate(seen):
        plain.learn(each.recognition.view, stream.truth[row])
    assert digest(localizer.classifier.arrays()) == digest(plain.arrays())
    assert not np.allclose(seen[-1].recognition.view, stream.percepts[39].descriptor, atol=1e-3)
    for lesson in reversed(lessons):
        localizer.unlearn(lesson)
    untaught = block.classifier().ridge.weights
    np.testing.assert_allclose(localizer.classifier.ridge.weights[:, : untaught.shape[1]], untaught, atol=1e-8)


def test_localizers_of_one_map_learn_apart(block, stream):
    one, other = build(SYSTEM, block), build(SYSTEM, block)
    before = digest(other.classifier.arrays())
    one.learn(stream.percepts[0], stream.truth[0])
    assert digest(other.classifier.arrays()) == before


@pytest.mark.parametrize(
    ("offset", "reason"),
    [(0, Reason.REPEATED_STAMP), (-1, Reason.OLDER_STAMP), (-YEAR, Reason.OLDER_STAMP)],
)
def test_a_frame_that_comes_too_late_is_answered_and_changes_nothing(offset, reason, tracked, stream):
    def moved():
        """Everything but the clock, which counts late frames."""
        return {name: array for name, array in tracked.arrays().items() if not name.startswith("clock.")}

    before = digest(moved())
    estimate = tracked.observe(replace(stream.percepts[30], stamp=stream.percepts[29].stamp + offset))
    assert estimate.verdict.reason is reason
    assert digest(moved()) == before


def test_a_frame_that_comes_too_late_is_told_the_newest_position(tracked, stream):
    newest = tracked.observe(stream.percepts[30])
    late = tracked.observe(stream.percepts[10])
    np.testing.assert_array_equal(late.belief.mean, newest.belief.mean)
    np.testing.assert_array_equal(late.belief.covariance, newest.belief.covariance)
    assert (newest.status, late.status) == (Status.LOCALIZED, Status.PREDICTING)


UNUSABLE = {
    "frozen": lambda percept: replace(percept, fault=Fault.FROZEN),
    "NaN in the descriptor": lambda percept: replace(percept, descriptor=np.full(DIM, np.nan)),
    "one NaN in the descriptor": lambda percept: replace(
        percept, descriptor=np.where(np.arange(DIM), percept.descriptor, np.nan)
    ),
    "an infinite descriptor": lambda percept: replace(percept, descriptor=np.full(DIM, np.inf)),
    "a zero descriptor": lambda percept: replace(percept, descriptor=np.zeros(DIM)),
    "NaN for a position": lambda percept: replace(percept, position=np.array([np.nan, 0.0])),
    "NaN for a heading": lambda percept: replace(percept, heading=float("nan")),
    "a position beyond the Earth": lambda percept: replace(percept, position=np.array([1e300, 0.0])),
    "an infinite position": lambda percept: replace(percept, position=np.array([0.0, np.inf])),
}
unusable = pytest.mark.parametrize("spoilt", UNUSABLE.values(), ids=UNUSABLE.keys())


@unusable
def test_an_unusable_frame_is_called_faulty_and_only_makes_the_estimate_less_certain(spoilt, tracked, stream):
    before = tracked.observe(stream.percepts[30]).belief
    estimate = tracked.observe(spoilt(stream.percepts[31]))
    assert (estimate.verdict.reason, estimate.candidate) == (Reason.FAULTY_FRAME, None)
    assert estimate.belief.semi_axis > before.semi_axis
    np.testing.assert_allclose(estimate.position, before.position, atol=2.0)


@unusable
def test_an_unusable_frame_cannot_be_learned(spoilt, block, stream):
    localizer = build(changed(SYSTEM, {"labels": Labels(mode="truth", delay=0)}), block)
    before = digest(localizer.arrays())
    with pytest.raises(InputError, match=f"percept at {stream.percepts[0].stamp}"):
        localizer.learn(spoilt(stream.percepts[0]), stream.truth[0])
    assert digest(localizer.arrays()) == before
    estimate = localizer.observe(spoilt(stream.percepts[0]))
    assert localizer.teach(estimate, stream.truth[0]) == []
    assert estimate.status is Status.LOST
    assert np.isfinite(estimate.covariance).all()


def test_after_a_frozen_shutter_the_street_is_found_again(tracked, stream):
    for row in range(30, 60):
        tracked.observe(replace(stream.percepts[row], fault=Fault.FROZEN))
    estimates = [tracked.observe(stream.percepts[row]) for row in range(60, 70)]
    assert estimates[-1].status is Status.LOCALIZED
    assert error(estimates[-1], stream.truth[69]) < 10.0


@pytest.mark.parametrize("label", [np.array([np.nan, 0.0]), np.array([0.0, np.inf])])
def test_a_label_that_is_not_finite_is_refused(label, tracked, stream):
    with pytest.raises(InputError, match="not finite"):
        tracked.learn(stream.percepts[30], label)


@pytest.mark.parametrize(
    ("wrong", "value"),
    [
        ({"descriptor": np.ones(DIM + 1)}, f"{DIM + 1} dimensions.* {DIM}"),
        ({"descriptor": np.zeros(0)}, f"0 dimensions.* {DIM}"),
        ({"descriptor": np.full(DIM, 2 / np.sqrt(DIM))}, "length 2"),
        ({"descriptor": np.full(DIM, 0.98 / np.sqrt(DIM))}, r"length 0\.98"),
        ({"stamp": 2**70}, "63 bits"),
    ],
)
def test_a_percept_of_another_kind_is_refused_and_changes_nothing(wrong, value, tracked, stream):
    before = digest(tracked.arrays())
    with pytest.raises(InputError, match=value):
        tracked.observe(replace(stream.percepts[30], **wrong))
    assert digest(tracked.arrays()) == before


def test_a_descriptor_may_be_rounded(tracked, stream):
    rounded = stream.percepts[30].descriptor.astype(np.float16).astype(float)
    assert tracked.observe(replace(stream.percepts[30], descriptor=rounded)).verdict.accepted


def test_after_a_year_nothing_is_certain(tracked, stream):
    later = replace(stream.percepts[30], stamp=stream.percepts[30].stamp + YEAR, fault=Fault.EMPTY)
    estimate = tracked.observe(later)
    assert estimate.status is Status.LOST
    assert np.isfinite(estimate.covariance).all()


@with_and_without_apr
def test_after_a_year_the_street_is_found_again(strip, tracked, stream):
    percepts = [replace(percept, stamp=percept.stamp + YEAR) for percept in strip(stream).percepts[100:130]]
    estimates = [tracked.observe(percept) for percept in percepts]
    assert estimates[0].status is not Status.LOCALIZED
    assert error(estimates[-1], stream.truth[129]) < 10.0
    assert estimates[-1].status is Status.LOCALIZED


def frame(stream, row):
    return Frame(stream.sequence, row, stream.percepts[row].stamp, lambda: np.zeros((2, 2), dtype=np.uint16))


def test_a_camera_frame_without_perception_is_refused(localizer, stream):
    with pytest.raises(InputError, match="own percepts; give them to `observe`"):
        localizer.step(frame(stream, 0))


def test_a_step_observes_what_is_perceived(block, localizer, stream):
    stepping = build(SYSTEM, block, begin_stream=lambda: lambda frame: stream.percepts[frame.index])
    for row in range(5):
        stepped, observed = stepping.step(frame(stream, row)), localizer.observe(stream.percepts[row])
        np.testing.assert_array_equal(stepped.belief.mean, observed.belief.mean)


def test_a_place_first_seen_online_invents_no_candidate(gated, rng):
    elsewhere = rng.normal(size=DIM)
    percept = Percept(1, elsewhere / np.linalg.norm(elsewhere))
    for _ in range(20):
        gated.learn(percept, np.array([1000.0, 1000.0]))
    narrow = Localizer(
        Stages(changed(PAPER.retrieval, {"best_places": 1}), PAPER.tracking, PAPER.fusion, "", ""),
        gated.memory,
        gated.classifier,
        Teacher(Labels(), dual_constraints=False),
    )
    assert narrow.observe(percept).verdict.reason is Reason.NO_CANDIDATE


def test_motion_beside_the_frames_is_passed_on_and_changes_no_estimate_of_the_papers(block, stream):
    plain, told = build(PAPER, block), build(PAPER, block)
    moving = stream.with_motion(np.tile([8.0, 0.1], (len(stream), 1)))
    for one, other in zip(stream.percepts[:60], moving.percepts[:60], strict=True):
        expected, found = plain.observe(one), told.observe(other)
        assert found.percept.motion == Odometry(8.0, 0.1)
        assert found.belief.mean.tolist() == expected.belief.mean.tolist()
        assert (found.status, found.verdict) == (expected.status, expected.verdict)


def see(frame):
    """A made-up perception: the counts are the descriptor."""
    return Percept(frame.stamp, frame.image().ravel() / np.linalg.norm(frame.image()), motion=frame.motion)


def show(descriptor):
    """Counts that `see` makes such a descriptor of, but for what 16 bits lose; negative parts are gone."""
    return np.round(65535 * np.clip(descriptor, 0, 1)).astype(np.uint16)[None]


def test_an_array_and_its_stamp_are_a_frame(block, stream):
    framed, arrayed = (build(SYSTEM, block, begin_stream=lambda: see) for _ in range(2))
    for percept in stream.percepts[:10]:
        counts, motion = show(percept.descriptor), Odometry(speed=8.0)
        a_frame = Frame("drive", 0, percept.stamp, lambda counts=counts: counts, motion=motion)
        first, second = framed.step(a_frame), arrayed.step(counts, percept.stamp, motion)
        np.testing.assert_array_equal(first.belief.mean, second.belief.mean)
        assert second.percept.motion == motion


def test_an_array_may_be_filled_anew(block, stream):
    kept = []
    localizer = build(SYSTEM, block, begin_stream=lambda: lambda frame: kept.append(frame) or see(frame))
    buffer = show(stream.percepts[0].descriptor)
    localizer.step(buffer, stream.percepts[0].stamp)
    was = buffer.copy()
    buffer[:] = 7
    np.testing.assert_array_equal(kept[0].image(), was)


def test_a_new_drive_keeps_what_was_learned_and_nothing_of_the_way(block, stream):
    begun = []
    localizer = build(SYSTEM, block, begin_stream=lambda: begun.append(None) or see)
    for row in range(20):
        localizer.learn(
            localizer.step(show(stream.percepts[row].descriptor), stream.percepts[row].stamp), stream.truth[row]
        )
    learned, fresh = localizer.classifier.arrays(), localizer.fork()
    assert localizer.new_drive() is localizer
    again = localizer.step(show(stream.percepts[0].descriptor), stream.percepts[0].stamp)
    assert again.verdict.reason is not Reason.OLDER_STAMP
    np.testing.assert_array_equal(again.belief.mean, fresh.observe(again.percept).belief.mean)
    assert len(begun) == 2, "a new drive begins a stream of its own"
    for name, array in localizer.classifier.arrays().items():
        np.testing.assert_array_equal(array, learned[name])


def test_what_is_shown_of_values_fits_a_line(block, localizer, stream):
    estimate = localizer.observe(stream.percepts[0])
    for value in (localizer, estimate, estimate.percept, frame(stream, 0)):
        assert len(repr(value)) < 200
        assert "\n" not in repr(value)
    assert str(estimate.status) in repr(estimate)
    assert f"{len(block.memory)} references" in repr(localizer)
