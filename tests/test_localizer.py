"""The whole way of a frame on a small made-up world: what moves the estimate, what learns, what survives."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import tmapr
from made_up import car_fusion, paper_tracking, record_percepts
from tmapr.artifacts.arrays import digest, load_arrays, save_arrays
from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.percepts import Recording
from tmapr.config import changed, dump_toml
from tmapr.exceptions import InputError, StateError
from tmapr.experiment import Experiment
from tmapr.labels import Labels, Teacher
from tmapr.localizer import Localizer
from tmapr.perception.settings import Perception
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.running.progressive import localize
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.stages import STATE_KIND, STATE_VERSION, Stages
from tmapr.system import Map, System, build, make_map, resume
from tmapr.tracking import Gates, Tracking
from tmapr.types import NANOSECONDS, Fault, Frame, Odometry, Percept, Reason, Status

DIM = 32
YEAR = 365 * 24 * 3600 * NANOSECONDS
LATER = NANOSECONDS // 10
PLACES = Places(cell=15.0, projection=Projection(dimension=64), mixture=Mixture(dimension=8))
RECOVERY = 5
SYSTEM = System(places=PLACES)
PAPER = System(places=PLACES, tracking=paper_tracking(min_similarity=0.82, recovery=RECOVERY), fusion=car_fusion())
METHODS = {"route": SYSTEM, "paper": PAPER}
both_methods = pytest.mark.parametrize("system", METHODS.values(), ids=METHODS.keys())
WORLD = DescriptorField.from_seed(3, dimension=DIM)


def traverse(seed):
    rng = np.random.default_rng(seed)
    return record_percepts(WORLD, f"noon-{seed}", drive(block_loop(120.0, 60.0), 8.0, rng), CONDITIONS["noon"], rng)


@pytest.fixture(scope="module")
def environment():
    return make_map(SYSTEM, traverse(1))


@pytest.fixture(scope="module")
def stream():
    """A second drive around the same block; its shutter freezes in the middle."""
    return traverse(2)


@pytest.fixture
def localizer(environment):
    return build(SYSTEM, environment)


@pytest.fixture
def gated(environment):
    """A localizer with the paper's gates."""
    return build(PAPER, environment)


@pytest.fixture
def tracked(localizer, stream):
    """A localizer that has followed the first thirty frames."""
    localize(localizer, stream, range(30))
    return localizer


def error(estimate, truth):
    return float(np.hypot(*(estimate.position - truth)))


LEARNED = ("classifier.", "lessons.", "track.placer.likelihoods", "track.placer.labelled", "track.placer.head")


def unlearned(localizer):
    """Everything but the classifier, and what labels said of evidence."""
    return {name: array for name, array in localizer.arrays().items() if not name.startswith(LEARNED)}


def without_apr(recording):
    percepts = tuple(replace(percept, position=None, heading=None) for percept in recording.percepts)
    return replace(recording, percepts=percepts)


def with_perfect_apr(recording):
    """Without jitter, whose displacement would widen the continuity gate."""
    pairs = zip(recording.percepts, recording.truth, strict=True)
    return replace(recording, percepts=tuple(replace(percept, position=truth) for percept, truth in pairs))


with_and_without_apr = pytest.mark.parametrize(
    "strip", [lambda recording: recording, without_apr], ids=["with APR", "without APR"]
)


@with_and_without_apr
@both_methods
def test_a_known_street_is_followed(system, strip, environment, stream):
    rows = range(180, 280)
    progress = localize(build(system, environment), strip(stream), rows)
    errors = [error(estimate, stream.truth[row]) for estimate, row in zip(progress.estimates, rows, strict=True)]
    assert max(errors) < 10.0


@both_methods
def test_a_filter_that_ignores_the_pose_head_goes_as_without_one(system, environment, stream):
    ignoring = localize(build(changed(system, {"fusion.apr": False}), environment), stream, range(120)).estimates
    without = localize(build(system, environment), without_apr(stream), range(120)).estimates
    assert [each.position.tolist() for each in ignoring] == [each.position.tolist() for each in without]
    assert ignoring[-1].percept is stream.percepts[119]


@both_methods
def test_only_an_accepted_reference_surprises(system, environment, stream):
    estimates = localize(build(system, environment), stream, range(len(stream))).estimates
    assert any(each.nis is not None for each in estimates)
    assert {each.nis for each in estimates if each.verdict.reason is not Reason.ACCEPTED} == {None}


def test_every_reference_that_passes_the_gates_surprises(gated, stream):
    estimates = localize(gated, stream, range(len(stream))).estimates
    assert {each.nis is not None for each in estimates if each.verdict.reason is Reason.ACCEPTED} == {True}


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


def test_what_is_learned_late_is_learned_as_it_was_seen(environment, stream):
    """By then the drive's condition is known better: an estimate still says how its frame was seen."""
    localizer, plain = build(SYSTEM, environment), environment.classifier()
    seen = [localizer.observe(percept) for percept in stream.percepts[:60]]
    lessons = [localizer.learn(each, stream.truth[row], scored=False) for row, each in enumerate(seen)]
    for row, each in enumerate(seen):
        plain.learn(each.recognition.view, stream.truth[row])
    assert digest(localizer.classifier.arrays()) == digest(plain.arrays())
    assert not np.allclose(seen[-1].recognition.view, stream.percepts[59].descriptor, atol=1e-3)
    for lesson in reversed(lessons):
        localizer.unlearn(lesson)
    untaught = environment.classifier().ridge.weights
    np.testing.assert_allclose(localizer.classifier.ridge.weights[:, : untaught.shape[1]], untaught, atol=1e-8)


def test_learning_changes_the_classifier(tracked, stream):
    before = digest(tracked.classifier.arrays())
    tracked.learn(stream.percepts[30], stream.truth[30])
    assert digest(tracked.classifier.arrays()) != before


def test_localizers_of_one_map_learn_apart(environment, stream):
    one, other = build(SYSTEM, environment), build(SYSTEM, environment)
    before = digest(other.classifier.arrays())
    one.learn(stream.percepts[0], stream.truth[0])
    assert digest(other.classifier.arrays()) == before


@pytest.fixture
def run(environment, tmp_path):
    environment.save(tmp_path / "map.npz")
    return tmp_path


def restarted(localizer, system, run):
    localizer.save(run)
    return resume(system, Map.load(run / "map.npz", system), run / "state.npz")


# Thirty frames around the frozen shutter, so that labels are held, missing and due.
OWN = Perception(encoder="own")
ROWS = range(210, 240)
LABELS = {
    "off": Labels(),
    "truth": Labels(mode="truth", delay=5),
    "fused": Labels(mode="fused", max_semi_axis=20.0, min_margin=0.0),
}


@both_methods
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("stop", [0, 1, 3, 8, 17, 29])
def test_stopping_and_continuing_equals_never_stopping(system, labels, stop, environment, stream, run):
    system = changed(system, {"labels": labels})
    steady = build(system, environment)
    whole = localize(steady, stream, ROWS)
    stopped = build(system, environment)
    first = localize(stopped, stream, ROWS[:stop])
    continued = restarted(stopped, system, run)
    second = localize(continued, stream, ROWS[stop:])
    for estimate, expected in zip(first.estimates + second.estimates, whole.estimates, strict=True):
        np.testing.assert_array_equal(estimate.belief.mean, expected.belief.mean)
        np.testing.assert_array_equal(estimate.belief.covariance, expected.belief.covariance)
        assert (estimate.verdict, estimate.status) == (expected.verdict, expected.status)
    assert digest(continued.arrays()) == digest(steady.arrays())


@pytest.mark.parametrize(("method", "labels"), [("route", "truth"), ("paper", "truth"), ("paper", "fused")])
def test_the_stream_of_that_comparison_does_teach(method, labels, environment, stream):
    """The route filter's own past takes longer: see tests/learning."""
    localizer = build(changed(METHODS[method], {"labels": LABELS[labels]}), environment)
    assert localize(localizer, stream, ROWS).learned.any()


def test_a_run_folder_is_all_that_loading_needs(tracked, stream, run):
    write_text(run / "experiment.toml", dump_toml(Experiment(perception=OWN, system=SYSTEM)))
    tracked.save(run)
    again = tmapr.load(run)
    left, right = again.observe(stream.percepts[30]), tracked.observe(stream.percepts[30])
    np.testing.assert_array_equal(left.belief.covariance, right.belief.covariance)


def test_saving_to_a_new_folder_makes_one_that_is_all_that_loading_needs(tracked, stream, run, tmp_path_factory):
    write_text(run / "experiment.toml", dump_toml(Experiment(perception=OWN, system=SYSTEM)))
    tracked.save(run)
    new = tmp_path_factory.mktemp("elsewhere") / "to" / "new"
    tmapr.load(run).save(new)
    shutil.rmtree(run)
    again = tmapr.load(new)
    left, right = again.observe(stream.percepts[30]), tracked.observe(stream.percepts[30])
    np.testing.assert_array_equal(left.belief.covariance, right.belief.covariance)


def test_a_run_folder_without_a_state_starts_from_the_map(environment, run):
    write_text(run / "experiment.toml", dump_toml(Experiment(perception=OWN, system=SYSTEM)))
    assert digest(tmapr.load(run).arrays()) == digest(build(SYSTEM, environment).arrays())


@pytest.mark.parametrize(
    ("offset", "reason"),
    [(0, Reason.REPEATED_STAMP), (-1, Reason.OLDER_STAMP), (-YEAR, Reason.OLDER_STAMP)],
)
def test_a_frame_that_comes_too_late_is_answered_and_changes_nothing(offset, reason, tracked, stream):
    before = digest(tracked.arrays())
    estimate = tracked.observe(replace(stream.percepts[30], stamp=stream.percepts[29].stamp + offset))
    assert estimate.verdict.reason is reason
    assert digest(tracked.arrays()) == before


def test_a_frame_that_comes_too_late_is_told_the_newest_position(tracked, stream):
    newest = tracked.observe(stream.percepts[30])
    late = tracked.observe(stream.percepts[10])
    np.testing.assert_array_equal(late.belief.mean, newest.belief.mean)
    np.testing.assert_array_equal(late.belief.covariance, newest.belief.covariance)
    assert late.status is newest.status is Status.LOCALIZED


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
def test_an_unusable_frame_is_called_faulty(spoilt, tracked, stream):
    estimate = tracked.observe(spoilt(stream.percepts[30]))
    assert (estimate.verdict.reason, estimate.candidate) == (Reason.FAULTY_FRAME, None)


@unusable
def test_an_unusable_frame_only_makes_the_estimate_less_certain(spoilt, tracked, stream):
    before = tracked.observe(stream.percepts[30]).belief
    after = tracked.observe(spoilt(stream.percepts[31])).belief
    assert after.semi_axis > before.semi_axis
    np.testing.assert_allclose(after.position, before.position, atol=2.0)


@unusable
def test_an_unusable_frame_cannot_be_learned(spoilt, tracked, stream):
    before = digest(tracked.arrays())
    with pytest.raises(InputError, match=f"percept at {stream.percepts[30].stamp}: a faulty frame"):
        tracked.learn(spoilt(stream.percepts[30]), stream.truth[30])
    assert digest(tracked.arrays()) == before


@unusable
def test_a_first_frame_that_is_unusable_is_answered(spoilt, localizer, stream):
    estimate = localizer.observe(spoilt(stream.percepts[0]))
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
    with pytest.raises(InputError, match=r"its label .* is not finite"):
        tracked.learn(stream.percepts[30], label)


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (np.ones(DIM + 1), f"has {DIM + 1} dimensions, this map was made with {DIM}"),
        (np.zeros(0), f"has 0 dimensions, this map was made with {DIM}"),
        (np.full(DIM, 2 / np.sqrt(DIM)), "has length 2, it must be 1"),
        (np.full(DIM, 0.98 / np.sqrt(DIM)), r"has length 0\.98, it must be 1"),
    ],
)
def test_a_descriptor_of_another_kind_is_refused_and_changes_nothing(descriptor, message, tracked, stream):
    before = digest(tracked.arrays())
    with pytest.raises(InputError, match=f"percept at {stream.percepts[30].stamp}: its descriptor {message}"):
        tracked.observe(replace(stream.percepts[30], descriptor=descriptor))
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
    percepts = [replace(percept, stamp=percept.stamp + YEAR) for percept in strip(stream).percepts[100:110]]
    estimates = [tracked.observe(percept) for percept in percepts]
    assert error(estimates[-1], stream.truth[109]) < 10.0
    assert estimates[-1].status is Status.LOCALIZED


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


def misled(percept, memory, target):
    """The same frame looking like the reference nearest to `target`: what a repeated facade does."""
    row = np.argmin(np.hypot(*(memory.positions - target).T))
    descriptor = memory.descriptors[row].astype(float)
    return replace(percept, descriptor=descriptor / np.linalg.norm(descriptor))


FAR, WITHIN_THE_GATE = np.array([-60.0, 55.0]), np.array([-17.0, 0.0])
motions = pytest.mark.parametrize("motion", [moving, parked])


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
@pytest.mark.parametrize("stop", range(1, RECOVERY + 2))
def test_a_restart_does_not_interrupt_the_recovery(system, stop, environment, stream, run):
    localizer = build(system, environment)
    recording = without_apr(moving(stream, 40, 10))
    percepts = [misled(recording.percepts[0], localizer.memory, FAR), *recording.percepts[1:]]
    for percept in percepts[:stop]:
        localizer.observe(percept)
    again = restarted(localizer, system, run)
    for percept in percepts[stop:]:
        assert again.observe(percept).verdict == localizer.observe(percept).verdict


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


def test_a_parked_camera_is_no_more_certain_after_a_minute(localizer, stream):
    estimates = [localizer.observe(percept) for percept in parked(stream, 40, 600).percepts]
    first, last = estimates[0].route, estimates[-1].route
    assert (last.p_place, last.p_off_map) == (first.p_place, first.p_off_map)


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


def frame(stream, row):
    return Frame(stream.sequence, row, stream.percepts[row].stamp, lambda: np.zeros((2, 2), dtype=np.uint16))


def test_a_camera_frame_without_perception_is_refused(localizer, stream):
    with pytest.raises(InputError, match="own percepts; give them to `observe`"):
        localizer.step(frame(stream, 0))


def test_a_step_observes_what_is_perceived(environment, localizer, stream):
    stepping = build(SYSTEM, environment, begin_stream=lambda: lambda frame: stream.percepts[frame.index])
    for row in range(5):
        stepped, observed = stepping.step(frame(stream, row)), localizer.observe(stream.percepts[row])
        np.testing.assert_array_equal(stepped.belief.mean, observed.belief.mean)


def test_labels_that_are_off_teach_nothing(tracked, stream):
    estimate = tracked.observe(stream.percepts[30])
    assert tracked.teach(estimate, stream.truth[30]) == []


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


def test_a_state_without_its_map_is_not_saved(tracked, tmp_path):
    with pytest.raises(InputError, match=r"holds no map\.npz"):
        tracked.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_folder_without_a_map_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no map\.npz; make one with `tmapr map"):
        tmapr.load(tmp_path)


def test_a_state_of_another_map_is_refused(tracked, run):
    tracked.save(run)
    with pytest.raises(InputError, match=r"state\.npz: belongs to another map"):
        resume(SYSTEM, make_map(SYSTEM, traverse(5)), run / "state.npz")


@pytest.mark.parametrize(
    ("places", "difference"),
    [
        (PLACES.model_copy(update={"cell": 10.0}), r"places\.cell = 15\.0 \(now 10\.0\); run `tmapr map` again"),
        (PLACES.model_copy(update={"projection": Projection(dimension=65)}), r"places\.projection\.dimension = 64 \("),
        (PLACES.model_copy(update={"use": ("mixture",)}), r"places\.use = \['unscented', 'mixture', 'attenuation'\]"),
    ],
)
def test_a_map_made_with_other_places_is_refused_with_what_differs(places, difference, run):
    with pytest.raises(InputError, match=rf"map\.npz: was mapped with {difference}"):
        Map.load(run / "map.npz", System(places=places))


def test_a_map_serves_any_other_gates_and_labels(run):
    system = System(places=PLACES, tracking=Tracking(gates=Gates(min_similarity=0.5)), labels=Labels(mode="fused"))
    assert len(Map.load(run / "map.npz", system).memory)


@pytest.mark.parametrize("spoil", [{"faults": ["frozen"] * 4}, {"truth": np.full((4, 2), np.nan)}])
def test_a_reference_without_a_usable_frame_is_refused(spoil, rng):
    given = {"truth": rng.normal(size=(4, 2))} | spoil
    reference = Recording.from_arrays("dark", np.arange(4), rng.normal(size=(4, DIM)), **given)
    with pytest.raises(InputError, match="dark: no frame has both a position and a usable image"):
        make_map(SYSTEM, reference)


def test_mapping_again_removes_the_state_of_the_old_map(tracked, environment, run):
    tracked.save(run)
    environment.save(run / "map.npz")
    assert not (run / "state.npz").exists()


@unusable
def test_an_unusable_frame_is_not_taught(spoilt, environment, stream):
    localizer = build(changed(SYSTEM, {"labels": Labels(mode="truth", delay=0)}), environment)
    assert localizer.teach(localizer.observe(spoilt(stream.percepts[0])), stream.truth[0]) == []


def test_a_stamp_that_no_file_could_hold_is_refused(tracked, stream):
    with pytest.raises(InputError, match="nanoseconds since the epoch in 63 bits"):
        tracked.observe(replace(stream.percepts[30], stamp=2**70))


@pytest.mark.parametrize("interval", [0.5, 1.0, 3.0])
def test_without_apr_a_slow_camera_recovers_from_a_wrong_accept_too(interval, gated, stream):
    every = max(1, round(interval / 0.1))
    slow = without_apr(stream).percepts[::every][: RECOVERY + 4]
    truth = stream.truth[::every]
    wrong = gated.observe(misled(slow[0], gated.memory, FAR))
    assert error(wrong, truth[0]) > 30.0
    reasons = [gated.observe(percept).verdict.reason for percept in slow[1:]]
    assert {Reason.ACCEPTED, Reason.RELOCALIZED} & set(reasons[: RECOVERY + 1])


def spoilt_state(tracked, run, change, system=SYSTEM, **header):
    """The state of a run with some of its arrays or its header changed."""
    tracked.save(run)
    found, arrays = load_arrays(run / "state.npz", STATE_KIND, STATE_VERSION)
    change(arrays)
    save_arrays(run / "state.npz", replace(found, **header), arrays)
    return lambda: resume(system, Map.load(run / "map.npz", system), run / "state.npz")


def set_nan(name):
    def change(arrays):
        arrays[name] = arrays[name] * np.nan

    return change


@pytest.mark.parametrize("name", ["track.belief.mean", "classifier.ridge.weights", "classifier.ridge.tiles"])
def test_a_state_with_numbers_that_are_not_finite_is_an_error_with_advice(name, tracked, run):
    resumed = spoilt_state(tracked, run, set_nan(name))
    with pytest.raises(StateError, match=rf"state\.npz: {name} holds numbers that are not finite; go back"):
        resumed()


PARTS = ("classifier.grid.cells", "labels.held", "classifier.ridge.tiles")


@pytest.mark.parametrize("name", [*PARTS, "track.standing", "track.placer.on"])
def test_a_state_that_lacks_an_array_is_refused(name, tracked, run):
    resumed = spoilt_state(tracked, run, lambda arrays: arrays.pop(name))
    with pytest.raises(InputError, match=rf"state\.npz: has no array {name!r}"):
        resumed()


@pytest.mark.parametrize("name", [*PARTS, "track.dissenters"])
def test_a_state_of_the_gates_that_lacks_an_array_is_refused(name, gated, stream, run):
    localize(gated, stream, range(10))
    resumed = spoilt_state(gated, run, lambda arrays: arrays.pop(name), PAPER)
    with pytest.raises(InputError, match=rf"state\.npz: has no array {name!r}"):
        resumed()


def test_a_state_of_version_1_goes_on_with_the_gates(gated, environment, stream, run):
    localize(gated, stream, range(30))
    resumed = spoilt_state(gated, run, lambda _: None, PAPER, version=1, notes={"map": environment.digest})()
    assert digest(resumed.arrays()) == digest(gated.arrays())


def test_of_a_state_of_version_1_the_route_filter_takes_what_was_learned(gated, environment, stream, run):
    localize(gated, stream, range(30))
    gated.learn(stream.percepts[30], stream.truth[30])
    resumed = spoilt_state(gated, run, lambda _: None, SYSTEM, version=1, notes={"map": environment.digest})()
    assert digest(resumed.classifier.arrays()) == digest(gated.classifier.arrays())
    assert digest(unlearned(resumed)) == digest(unlearned(build(SYSTEM, environment)))


RECKONED = ("track.placer.reckoned", "track.placer.turned")


def drop_reckoned(arrays):
    """What version 3 did not keep."""
    for name in RECKONED:
        del arrays[name]


def test_a_state_of_version_3_is_read_with_all_that_it_holds(tracked, run):
    resumed = spoilt_state(tracked, run, drop_reckoned, version=3)()
    held, found = (
        {name: array for name, array in localizer.arrays().items() if name not in RECKONED}
        for localizer in (tracked, resumed)
    )
    assert digest(found) == digest(held)


SINCE_VERSION_5 = ("drive.", "lessons.", "track.novelty.")


def drop_conditions(arrays):
    """What version 4 did not keep."""
    for name in [name for name in arrays if name.startswith(SINCE_VERSION_5)]:
        del arrays[name]


def test_a_state_of_version_4_is_read_and_its_drive_has_no_condition_yet(tracked, stream, run):
    resumed = spoilt_state(tracked, run, drop_conditions, version=4)()
    held, found = (
        {name: array for name, array in localizer.arrays().items() if not name.startswith(SINCE_VERSION_5)}
        for localizer in (tracked, resumed)
    )
    assert digest(found) == digest(held)
    fresh = next(percept for percept in stream.percepts if percept.stamp > tracked.tracker.belief.stamp)
    np.testing.assert_array_equal(resumed.recognise(fresh).view, fresh.descriptor)
    assert not np.array_equal(tracked.recognise(fresh).view, fresh.descriptor)


def test_a_state_of_version_3_goes_on_without_dead_reckoning(tracked, run):
    assert len(tracked.arrays()["track.placer.reckoned"])
    resumed = spoilt_state(tracked, run, drop_reckoned, version=3)()
    assert len(resumed.arrays()["track.placer.reckoned"]) == 0


def test_a_state_of_version_3_follows_the_drive_on(tracked, stream, run):
    resumed = spoilt_state(tracked, run, drop_reckoned, version=3)()
    for percept in stream.percepts[30:60]:
        wanted, found = tracked.observe(percept), resumed.observe(percept)
        assert (found.status, found.belief.mean.tolist()) == (wanted.status, wanted.belief.mean.tolist())


@pytest.mark.parametrize("count", [5, 7])
def test_a_state_whose_reckoned_position_has_another_length_is_refused(count, tracked, run):
    resumed = spoilt_state(tracked, run, lambda arrays: arrays.update({RECKONED[0]: np.zeros(count)}))
    with pytest.raises(InputError, match=rf"a reckoned position has 6 numbers, not {count}"):
        resumed()


@pytest.mark.parametrize(("before", "after"), [("route", "paper"), ("paper", "route")])
def test_with_the_other_method_a_drive_starts_anew_and_what_was_learned_stays(before, after, environment, stream, run):
    used = build(METHODS[before], environment)
    localize(used, stream, range(30))
    used.learn(stream.percepts[30], stream.truth[30])
    resumed = restarted(used, METHODS[after], run)
    assert digest(resumed.classifier.arrays()) == digest(used.classifier.arrays())
    assert digest(unlearned(resumed)) == digest(unlearned(build(METHODS[after], environment)))


def test_a_state_is_not_resumed_with_other_settings_than_its_maps(tracked, environment, run):
    tracked.save(run)
    other = System(places=PLACES.model_copy(update={"ridge": 3.0}))
    with pytest.raises(InputError, match="belongs to another map"):
        resume(other, environment, run / "state.npz")


def test_motion_beside_the_frames_is_passed_on_and_changes_no_estimate_of_the_papers(environment, stream):
    plain, told = build(PAPER, environment), build(PAPER, environment)
    moving = stream.with_motion(np.tile([8.0, 0.1], (len(stream), 1)))
    for one, other in zip(stream.percepts[:60], moving.percepts[:60], strict=True):
        expected, found = plain.observe(one), told.observe(other)
        assert found.percept.motion == Odometry(8.0, 0.1)
        assert found.belief.mean.tolist() == expected.belief.mean.tolist()
        assert (found.status, found.verdict) == (expected.status, expected.verdict)


def older_map(run, change):
    """The map of a run as a version with other settings would have written it."""
    header, arrays = load_arrays(run / "map.npz", "map", 4)
    change(header.notes["places"])
    save_arrays(run / "map.npz", replace(header, settings="0" * 64), arrays)


def test_a_map_from_before_a_setting_existed_is_read_with_its_default(run):
    older_map(run, lambda places: (places.pop("weight"), places["mixture"].pop("novelty")))
    assert len(Map.load(run / "map.npz", SYSTEM).memory)


def test_a_map_that_lacks_a_setting_now_changed_is_refused(run):
    older_map(run, lambda places: places.pop("weight"))
    with pytest.raises(InputError, match=r"places\.weight = 1\.7 \(now 1\.0\)"):
        Map.load(run / "map.npz", System(places=PLACES.model_copy(update={"weight": 1.0})))


def test_a_map_with_a_setting_nobody_knows_is_refused(run):
    older_map(run, lambda places: places.update(forgetting=0.9))
    with pytest.raises(InputError, match=r"this version does not know its places\.forgetting"):
        Map.load(run / "map.npz", SYSTEM)


def test_a_map_that_cannot_be_written_leaves_the_old_map_and_its_state(tracked, run):
    tracked.save(run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    broken = replace(make_map(SYSTEM, traverse(5)), fitted={"a": np.array([object()])})
    with pytest.raises(ValueError, match="Object arrays"):
        broken.save(run / "map.npz")
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def see(frame):
    """A made-up perception: the counts are the descriptor."""
    return Percept(frame.stamp, frame.image().ravel() / np.linalg.norm(frame.image()), motion=frame.motion)


def show(descriptor):
    """Counts that `see` makes such a descriptor of, but for what 16 bits lose; negative parts are gone."""
    return np.round(65535 * np.clip(descriptor, 0, 1)).astype(np.uint16)[None]


def test_an_array_and_its_stamp_are_a_frame(environment, stream):
    framed, arrayed = (build(SYSTEM, environment, begin_stream=lambda: see) for _ in range(2))
    for percept in stream.percepts[:10]:
        counts, motion = show(percept.descriptor), Odometry(speed=8.0)
        a_frame = Frame("drive", 0, percept.stamp, lambda counts=counts: counts, motion=motion)
        first, second = framed.step(a_frame), arrayed.step(counts, percept.stamp, motion)
        np.testing.assert_array_equal(first.belief.mean, second.belief.mean)
        assert second.percept.motion == motion


def test_an_array_may_be_filled_anew(environment, stream):
    kept = []
    localizer = build(SYSTEM, environment, begin_stream=lambda: lambda frame: kept.append(frame) or see(frame))
    buffer = show(stream.percepts[0].descriptor)
    localizer.step(buffer, stream.percepts[0].stamp)
    was = buffer.copy()
    buffer[:] = 7
    np.testing.assert_array_equal(kept[0].image(), was)


def test_a_new_drive_keeps_what_was_learned_and_nothing_of_the_way(environment, stream):
    begun = []
    localizer = build(SYSTEM, environment, begin_stream=lambda: begun.append(None) or see)
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


def test_what_is_shown_of_values_fits_a_line(environment, localizer, stream):
    estimate = localizer.observe(stream.percepts[0])
    for value in (localizer, estimate, estimate.percept, frame(stream, 0)):
        assert len(repr(value)) < 200
        assert "\n" not in repr(value)
    assert str(estimate.status) in repr(estimate)
    assert f"{len(environment.memory)} references" in repr(localizer)
