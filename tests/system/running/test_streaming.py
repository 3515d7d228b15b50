"""Streaming: a sequence is scored while its late labels are learned, what was learned stays, and the earlier are asked.

The second version here is a plain loop with a list for the labels that wait; it knows no teacher and no new drives.
"""

import shutil
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from interruptions import results_of
from made_up import record_percepts, run_block, write_block
from tmapr.artifacts.documents.runs import Provenance
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import load_estimates, save_estimates
from tmapr.config import changed
from tmapr.evaluation.assessment import assess
from tmapr.evaluation.loops import RADIUS
from tmapr.evaluation.trial import Trial
from tmapr.exceptions import InputError
from tmapr.experiment import read_experiment
from tmapr.running.evaluating import evaluate_run
from tmapr.running.finished import FinishedRun
from tmapr.running.progressive import localize
from tmapr.running.running import run_experiment
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, build, resume

SIZE = 40.0
STREAM = ("data.adapt=[]", "data.test=[]", "data.stream=['dusk', 'night']")
ENOUGH = 10**6
"""Frames by which a label comes after every sequence has ended."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The block with a fourth drive, at half its frames; every ninth frame's position is not known."""
    home = tmp_path_factory.mktemp("home")
    write_block(home, SIZE)
    folder, rng = RunFolder(home / "runs/block"), np.random.default_rng(6)
    evening = drive(block_loop(SIZE, 0.6 * SIZE), speed=8.0, rng=rng)
    record_percepts(DescriptorField.from_seed(5), "evening", evening, CONDITIONS["dusk"], rng).save(
        folder.percepts("evening")
    )
    for path in folder.percepts_folder.iterdir():
        whole = Recording.load(path)
        truth, known = whole.truth[::2].copy(), whole.known[::2].copy()
        if path.stem != "noon":
            truth[4::9], known[4::9] = np.nan, False
        replace(whole, truth=truth, known=known, percepts=whole.percepts[::2]).save(path)
    return home


def run_copy(home, *overrides):
    """A run in a folder of its own."""
    folder = RunFolder(home / "runs" / f"copy-{len(list((home / 'runs').iterdir()))}")
    shutil.copytree(home / "runs/block/percepts", folder.path / "percepts")
    return run_block(home, *overrides, folder=folder)


@pytest.fixture(scope="module")
def streamed(home):
    """dusk, then night, with the default method and labels thirty frames late."""
    return run_copy(home, *STREAM, "labels.delay=30")


def stream_by_hand(folder, delay, names=("dusk", "night")):
    """What a stream says, and the classifier that it leaves."""
    experiment = read_experiment(folder.experiment)
    environment = Map.load(folder.map, experiment.system)
    classifier, learned, said = environment.classifier(), {}, {}
    for name in names:
        recording = Recording.load(folder.percepts(name))
        localizer = build(experiment.system, environment, classifier)
        if learned:
            localizer.tracker.restore_learned(learned)
        waiting, said[name] = [], []
        for percept, truth, known in zip(recording.percepts, recording.truth, recording.known, strict=True):
            estimate = localizer.observe(percept)
            waiting.append((estimate.recognition.view, truth) if known and not percept.fault else None)
            due = waiting.pop(0) if len(waiting) > delay else None
            if due:
                classifier.learn(*due)
            said[name].append((estimate, bool(due)))
        for due in filter(None, waiting):
            classifier.learn(*due)
        learned = localizer.tracker.learned()
    return said, classifier


def state_of(folder):
    experiment = read_experiment(folder.experiment)
    return resume(experiment.system, Map.load(folder.map, experiment.system), folder.state)


def assert_same(arrays, others):
    assert set(arrays) == set(others)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


@pytest.mark.parametrize(("method", "delay"), [("route", 0), ("route", 30), ("route", ENOUGH), ("paper", 30)])
def test_a_stream_is_what_a_plain_loop_says_bit_for_bit(home, tmp_path, method, delay):
    folder = run_copy(home, *STREAM, f"tracking.method='{method}'", f"labels.delay={delay}")
    said, classifier = stream_by_hand(folder, delay)
    for name, rows in said.items():
        save_estimates(tmp_path / "by_hand.csv", tmp_path / "by_hand.tum", *zip(*rows, strict=True))
        assert folder.estimates(name).read_text() == (tmp_path / "by_hand.csv").read_text()
        assert folder.trajectory(name).read_text() == (tmp_path / "by_hand.tum").read_text()
    assert_same(state_of(folder).classifier.arrays(), classifier.arrays())


@pytest.mark.parametrize("mode", ["off", "fused"])
def test_two_sequences_leave_what_one_leaves_and_another_goes_on_from(home, mode):
    settings = (f"labels.mode='{mode}'", "labels.delay=30")
    whole = run_copy(home, *STREAM, *settings)
    half = run_copy(home, *STREAM, "data.stream=['dusk']", *settings)
    experiment = read_experiment(half.experiment)
    learning = changed(experiment.system, {"labels": experiment.system.labels.streamed})
    localizer = resume(learning, Map.load(half.map, experiment.system), half.state)
    night = Recording.load(half.percepts("night"))
    localize(localizer, night, range(len(night)))
    localizer.end_drive()
    assert_same(state_of(whole).arrays(), localizer.fork().arrays())
    assert load_estimates(whole.estimates("night")).learned.any()


def test_the_state_holds_no_label_that_waits_and_no_track(streamed):
    arrays = state_of(streamed).arrays()
    assert not len(arrays["labels.held"])
    assert not any(name.startswith("track.belief") for name in arrays)


def test_a_test_starts_from_what_the_stream_left(home):
    folder = run_copy(home, *STREAM, "data.test=['evening']")
    evening = Recording.load(folder.percepts("evening"))
    again = localize(state_of(folder), evening, range(len(evening)))
    table = load_estimates(folder.estimates("evening"))
    np.testing.assert_array_equal(table.positions, [estimate.position for estimate in again.estimates])
    assert not table.learned.any()
    made = Provenance.load(folder.provenance, "")
    told = {name: (entry.protocol_name, entry.labels, entry.trained) for name, entry in made.sequences.items()}
    assert told == {
        "dusk": ("stream truth+120", "truth+120", False),
        "night": ("stream truth+120", "truth+120", False),
        "evening": ("test", "off", False),
    }


@pytest.mark.parametrize("mode", ["off", "fused"])
def test_the_last_sequence_asked_again_is_a_test_from_the_final_state(home, tmp_path, mode):
    folder = run_copy(home, *STREAM, f"labels.mode='{mode}'")
    made = Provenance.load(folder.provenance, "")
    run = FinishedRun.load(folder)
    night, system = Recording.load(folder.percepts("night")), changed(run.experiment.system, {"labels.mode": "off"})
    progress = localize(resume(system, run.environment, folder.state), night, range(len(night)))
    save_estimates(tmp_path / "a.csv", tmp_path / "a.tum", progress.estimates, progress.learned.tolist())
    trial = Trial(load_estimates(tmp_path / "a.csv"), night, run.environment.memory, run.trial("night").threshold)
    found, asked = assess(trial, made.sequences["night"], None, None), made.stream.asked_again["night"]["night"]
    assert asked.rmse == pytest.approx(found.fused.rmse, rel=1e-12)
    scores = (found.loops.precision, found.loops.recall, found.loops.f1)
    assert (asked.precision, asked.recall, asked.f1) == scores
    assert asked.frames == int(night.known.sum())
    chances = trial.queries.opportunity
    assert asked.recall_at_1 == trial.queries.correct[chances].mean()


def test_what_is_asked_is_a_triangle_and_what_comes_later_does_not_change_it(home, streamed):
    asked = Provenance.load(streamed.provenance, "").stream.asked_again
    assert {after: list(found) for after, found in asked.items()} == {"dusk": ["dusk"], "night": ["dusk", "night"]}
    alone = run_copy(home, *STREAM, "data.stream=['dusk']", "labels.delay=30")
    assert asked["dusk"] == Provenance.load(alone.provenance, "").stream.asked_again["dusk"]
    assert asked["dusk"]["dusk"] != asked["night"]["dusk"]


def test_thirds_are_those_of_the_frames_and_scored_as_they_went(streamed):
    errors = evaluate_run(FinishedRun.load(streamed))
    night, mapped = Recording.load(streamed.percepts("night")), Recording.load(streamed.percepts("noon"))
    usable = [not percept.fault for percept in mapped.percepts]
    table, count = load_estimates(streamed.estimates("night")), len(night)
    bounds = [0, -(-count // 3), -(-count // 3) + -(-(count - 1) // 3), count]
    for third, (begin, end) in zip(errors.stream.while_learning["night"].thirds, pairwise(bounds), strict=True):
        rows = [row for row in range(begin, end) if night.known[row]]
        near = [np.hypot(*(mapped.truth[usable] - night.truth[row]).T).min() <= RADIUS for row in rows]
        firsts = table.first.positions.values
        right = [np.hypot(*(firsts[row] - night.truth[row])) <= RADIUS for row in rows]
        squares = [((table.positions[row] - night.truth[row]) ** 2).sum() for row in rows]
        assert third.frames == len(rows)
        assert third.rmse == pytest.approx(np.sqrt(np.mean(squares)))
        chances = [hit for hit, possible in zip(right, near, strict=True) if possible]
        assert third.recall_at_1 == (pytest.approx(np.mean(chances)) if chances else None)


def test_a_streamed_sequence_is_scored_like_any_other_but_for_its_ranking(streamed):
    errors = evaluate_run(FinishedRun.load(streamed))
    assert list(errors.test) == ["dusk", "night"]
    for name, entry in errors.test.items():
        whole = errors.stream.while_learning[name].whole
        assert (whole.f1, whole.precision, whole.recall) == (entry.loops.f1, entry.loops.precision, entry.loops.recall)
        assert whole.rmse == pytest.approx(entry.fused.rmse)
        assert entry.loops.recall_at == {"1": whole.recall_at_1, "5": None, "10": None}
        assert entry.loops.global_recall_at["1"] is not None
        assert (entry.protocol, entry.labels, entry.trained) == ("stream", "truth+30", False)
    assert (errors.stream.order, errors.stream.labels, errors.labels) == (("dusk", "night"), "truth+30", "off")


def test_a_fitted_trajectory_is_fitted_as_a_whole(streamed):
    run = FinishedRun.load(streamed)
    plain, fitted = evaluate_run(run), evaluate_run(run, "planar")
    for name, entry in fitted.test.items():
        assert fitted.stream.while_learning[name].whole.rmse == pytest.approx(entry.fused.rmse)
        assert entry.fused.rmse < plain.test[name].fused.rmse
    assert fitted.stream.asked_again == plain.stream.asked_again


def test_a_run_that_is_cut_off_in_the_stream_leaves_the_last_one(home):
    folder = run_copy(home, *STREAM)
    before, passes = results_of(folder.path), []

    def watch(rows):
        passes.append(rows)
        for row in rows:
            if len(passes) == 4 and row == len(rows) // 2:
                raise KeyboardInterrupt
            yield row

    experiment = read_experiment(home / "block.toml", [*STREAM, "labels.delay=5"])
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, folder, watch)
    assert results_of(folder.path) == before
    run_experiment(experiment, folder)
    assert Provenance.load(folder.provenance, "").stream.labels == "truth+5"


def test_nothing_to_score_is_refused(home):
    with pytest.raises(InputError, match=r"data.test is empty, and so is data.stream; name the sequences to localize"):
        run_copy(home, *STREAM, "data.stream=[]")


def test_positions_that_were_learned_may_not_change_afterwards(home):
    folder = run_copy(home, *STREAM, "data.test=['evening']")
    dusk = Recording.load(folder.percepts("dusk"))
    folder.percepts("dusk").unlink()
    replace(dusk, truth=dusk.truth + 1.0).save(folder.percepts("dusk"))
    with pytest.raises(InputError, match="dusk: its positions have changed since the estimates were made"):
        FinishedRun.load(folder)


def test_a_drive_that_networks_saw_is_marked(home):
    folder = run_copy(home, *STREAM, "data.train=['dusk']", "data.stream=['dusk']", "labels.mode='fused'")
    (entry,) = evaluate_run(FinishedRun.load(folder)).test.values()
    assert (entry.trained, entry.protocol_name) == (True, "stream fused, trained on")
