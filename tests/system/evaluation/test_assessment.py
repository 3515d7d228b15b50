"""What errors.json says of a small made-up run, each figure taken again from its files by other means."""

import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from evo.core import metrics, sync
from evo.core.trajectory import PoseTrajectory3D
from evo.core.units import Unit
from evo.tools import file_interface
from scipy.stats import chi2
from sklearn.metrics import average_precision_score

from made_up import run_block, thin_percepts, write_block
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.artifacts.trajectory import load_estimates
from tmapr.evaluation.alignment import PlanarTransform
from tmapr.evaluation.assessment import assess
from tmapr.evaluation.loops import RADIUS
from tmapr.exceptions import InputError
from tmapr.localizer import Localizer
from tmapr.places.classifier import Classifier
from tmapr.retrieval.memory import Memory
from tmapr.retrieval.search import Retrieval
from tmapr.running.evaluating import evaluate_run, read_errors
from tmapr.running.finished import FinishedRun
from tmapr.studies.comparison import Standing
from tmapr.studies.pairing import compare_runs
from tmapr.system import resume
from tmapr.types import CoordinateFrame, Fault

GATES = "tracking.method=paper"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Every third frame of a block whose night lacks some true positions, freezes, and has a frame that comes late."""
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    thin_percepts(RunFolder(home / "runs/block"), 3)
    path = RunFolder(home / "runs/block").percepts("night")
    night = Recording.load(path)
    truth = night.truth.copy()
    truth[40:55] = np.nan
    percepts = list(night.percepts)
    percepts[20:23] = [replace(percept, fault=Fault.FROZEN) for percept in percepts[20:23]]
    percepts[90] = replace(percepts[90], stamp=percepts[70].stamp)
    replace(night, truth=truth, known=~np.isnan(truth).any(axis=1), percepts=tuple(percepts)).save(path)
    return home


@pytest.fixture(scope="module")
def folder(home):
    return run_block(home)


def evaluated(folder, align="none"):
    """errors.json as another program reads it."""
    evaluate_run(FinishedRun.load(folder), align).save(folder.errors)
    return json.loads(folder.errors.read_text())


def restated(folder, **changes):
    """The run with another provenance."""
    stated = json.loads(folder.provenance.read_text())
    folder.provenance.write_text(json.dumps(stated | changes))


def compared(a, b):
    return compare_runs(FinishedRun.load(a), FinishedRun.load(b))


@pytest.fixture(scope="module")
def night(folder):
    return evaluated(folder)["test"]["night"]


@pytest.fixture(scope="module")
def material(folder):
    return load_estimates(folder.estimates("night")), Recording.load(folder.percepts("night"))


@pytest.fixture
def copy(folder, tmp_path):
    """The same run in a folder that may be changed."""
    return RunFolder(shutil.copytree(folder.path, tmp_path / "copy"))


def distances(positions, recording):
    return np.linalg.norm(positions - recording.truth, axis=1)[recording.known]


def test_the_detour_is_counted(night):
    assert night["off_map"]["count"] == 1
    assert night["off_map"]["metres"] > 50
    assert night["decisions"]["on_map"] < night["decisions"]["frames"]


def test_percentiles_and_the_largest_error_are_numpys(night, material):
    table, recording = material
    errors = distances(table.positions, recording)
    found = [night["fused"][key] for key in ("p75", "p95", "p99", "max")]
    assert found == pytest.approx([*np.percentile(errors, [75, 95, 99]), errors.max()])
    assert set(night["apr"]) == set(night["retrieval"]) == set(night["fused"]) - {"rmse_interval"}


def test_the_heading_error_is_that_of_the_pose_head_against_the_way_travelled(night, material):
    table, recording = material
    errors = []
    for stretch in (range(40), range(55, len(recording))):
        for row in stretch:
            # The nearest frames half a metre away, found by looking at one after the other.
            back = [j for j in stretch if j < row and np.hypot(*(recording.truth[j] - recording.truth[row])) >= 0.5]
            ahead = [j for j in stretch if j > row and np.hypot(*(recording.truth[j] - recording.truth[row])) >= 0.5]
            x, y = recording.truth[ahead[0] if ahead else row] - recording.truth[back[-1] if back else row]
            turn = table.apr_headings.values[row] - np.arctan2(y, x)
            errors.append(np.degrees(np.abs(np.angle(np.exp(1j * turn)))))
    found = night["heading"]
    assert found["frames"] == len(errors)
    assert found["mean_deg"] == pytest.approx(np.mean(errors))
    assert found["rmse_deg"] == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert (found["median_deg"], found["p95_deg"]) == pytest.approx(tuple(np.percentile(errors, [50, 95])))


def test_a_fit_turns_the_headings_too(copy, night):
    run = FinishedRun.load(copy)
    timings = run.provenance.sequences["night"]
    turned = assess(run.trial("night"), timings, None, None, lambda source, target: PlanarTransform(0.5, np.zeros(2)))
    assert turned.heading.median_deg == pytest.approx(np.degrees(0.5), abs=2 * night["heading"]["p95_deg"])
    assert turned.heading.median_deg > 2 * night["heading"]["median_deg"]


def evos(folder, recording):
    """What evo reads of our trajectory file, with the orientations left out, and of the truth."""
    estimate = file_interface.read_tum_trajectory_file(str(folder.trajectory("night")))
    level = np.tile([1.0, 0.0, 0.0, 0.0], (estimate.num_poses, 1))
    estimate = PoseTrajectory3D(estimate.positions_xyz, level, estimate.timestamps)
    rows = np.flatnonzero(recording.known & (np.arange(len(recording)) != 90))
    truth = np.column_stack([recording.truth[rows], np.zeros(len(rows))])
    reference = PoseTrajectory3D(truth, np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1)), recording.stamps[rows] / 1e9)
    return sync.associate_trajectories(reference, estimate)


def test_ape_and_rpe_of_our_own_trajectory_file_are_those_of_evo(folder, night, material):
    pair = evos(folder, material[1])
    absolute = metrics.APE()
    absolute.process_data(pair)
    found = dict(night["ape"])
    assert (found.pop("alignment"), found.pop("poses")) == ("none", len(absolute.error))
    assert found == pytest.approx(absolute.get_all_statistics(), rel=1e-9)
    deltas = [(1, "frames", Unit.frames), (10.0, "metres", Unit.meters)]
    for found, (value, unit, named) in zip(map(dict, night["rpe"]), deltas, strict=True):
        relative = metrics.RPE(delta=value, delta_unit=named)
        relative.process_data(pair)
        assert (found.pop("delta"), found.pop("unit"), found.pop("all_pairs")) == (value, unit, False)
        assert (found.pop("alignment"), found.pop("pairs")) == ("none", len(relative.error))
        assert found == pytest.approx(relative.get_all_statistics(), rel=1e-9)


def test_an_alignment_is_written_beside_the_errors_it_made(copy, night):
    errors = evaluated(copy, "planar")
    found = errors["test"]["night"]
    assert (errors["alignment"], found["ape"]["alignment"]) == ("planar", "planar")
    assert found["ape"]["rmse"] < night["ape"]["rmse"]
    assert found["rpe"] == night["rpe"]


def test_a_way_too_short_for_ten_metres_has_a_count_of_none(copy):
    path = copy.percepts("night")
    recording = Recording.load(path)
    few = np.arange(len(recording)) < 4
    replace(recording, truth=np.where(few[:, None], recording.truth, np.nan), known=few).save(path)
    found = evaluated(copy)["test"]["night"]["rpe"]
    assert found[0]["pairs"] == 3
    assert found[1] == {"delta": 10.0, "unit": "metres", "all_pairs": False, "alignment": "none", "pairs": 0}


def test_consistency_is_also_told_by_status(night, material):
    table, recording = material
    by_status = night["nees"]["by_status"]
    assert set(by_status) == set(np.array(table.statuses)[recording.known].tolist())
    assert len(by_status) > 1
    for name, found in by_status.items():
        rows = [row for row in np.flatnonzero(recording.known) if table.statuses[row] == name]
        error = table.positions[rows] - recording.truth[rows]
        nees = [e @ np.linalg.inv(P) @ e for e, P in zip(error, table.covariances[rows], strict=True)]
        inside = np.mean(np.array(nees) <= chi2.ppf(0.95, df=2))
        assert found == pytest.approx({"frames": len(rows), "mean": np.mean(nees), "coverage95": inside})


def test_innovations_are_those_of_the_accepted_corrections(night, material):
    nis = material[0].nis
    accepted = np.array([reason in ("accepted", "relocalized") for reason in material[0].reasons])
    assert nis.known.sum() > 0
    assert not (nis.known & ~accepted).any()
    inside = np.mean(nis.values[nis.known] <= chi2.ppf(0.95, df=2))
    assert night["nis"] == pytest.approx(
        {"mean": nis.values[nis.known].mean(), "inside95": inside, "count": nis.known.sum()}
    )


def test_average_precision_of_the_run_is_that_of_scikit_learn(night, material):
    table, recording = material
    rows = np.flatnonzero(recording.known & table.first.similarities.known)
    right = np.linalg.norm(table.first.positions.values - recording.truth, axis=1)[rows] <= RADIUS
    expected = average_precision_score(right, table.first.similarities.values[rows])
    assert night["loops"]["average_precision"] == pytest.approx(expected, rel=1e-12)
    assert 0 < expected < 1


def test_recall_at_one_is_the_share_of_opportunities_whose_first_candidate_is_right(folder, night, material):
    table, recording = material
    references = FinishedRun.load(folder).environment.memory.positions
    nearest = np.linalg.norm(recording.truth[:, None] - references, axis=2).min(axis=1)
    right = np.linalg.norm(table.first.positions.values - recording.truth, axis=1) <= RADIUS
    hits, possible = right.sum(), (nearest <= RADIUS).sum()
    # The frame that came late was not searched for by the run; its ranking may add one.
    assert night["loops"]["recall_at"]["1"] in (hits / possible, (hits + 1) / possible)
    assert 0 < hits < possible < recording.known.sum()


def drive_again(run, recording):
    """The positions of the ten best references of each frame, by a second drive and by every cosine."""
    memory, localizer = run.environment.memory, resume(run.experiment.system, run.environment, run.folder.state)
    for percept in recording.percepts:
        searched = () if percept.fault else localizer.recognise(percept, 10).candidates
        cosines = memory.descriptors @ percept.descriptor.astype(np.float32)
        best = [] if percept.fault else np.argsort(-cosines)[:10]
        yield [each.position for each in searched], memory.positions[best]
        localizer.observe(percept)


def recall_again(near, recording, references):
    """Recall@1, 5 and 10 of lists of positions, by NumPy's norm."""
    possible = [row for row in np.flatnonzero(recording.known) if _closest(references, recording.truth[row]) <= RADIUS]
    closest = [[_closest(near[row][:count], recording.truth[row]) for row in possible] for count in (1, 5, 10)]
    return dict(zip(("1", "5", "10"), (np.mean(np.array(each) <= RADIUS) for each in closest), strict=True))


def _closest(positions, truth):
    return np.linalg.norm(np.reshape(positions, (-1, 2)) - truth, axis=1).min(initial=np.inf)


@pytest.mark.parametrize("overrides", [(), (GATES,), (GATES, "retrieval.candidates=8"), ("retrieval.mode=global",)])
def test_the_kept_rankings_and_their_recalls_are_those_of_a_second_drive(home, tmp_path, overrides):
    shutil.copytree(home / "runs/block/percepts", tmp_path / "run/percepts")
    folder = run_block(home, *overrides, folder=RunFolder(tmp_path / "run"))
    run = FinishedRun.load(folder)
    recording, kept, references = run.trial("night").recording, run.load_candidates("night"), run.environment.memory
    searched, plain = zip(*drive_again(run, recording), strict=True)
    for rows, expected in ((kept.searched, searched), (kept.cosine, plain)):
        for ranked, positions in zip(rows, expected, strict=True):
            found = ranked[ranked >= 0]
            np.testing.assert_array_equal(references.positions[found], np.reshape(positions, (-1, 2)))
            assert (ranked[len(found) :] == -1).all()
    assert {len(each) for each in searched} == {0, 10}
    loops = evaluated(folder)["test"]["night"]["loops"]
    assert loops["recall_at"] == recall_again(searched, recording, references.positions)
    assert loops["global_recall_at"] == recall_again(plain, recording, references.positions)


def test_a_run_that_learned_claims_no_rank_of_its_own(copy, night):
    restated(copy, labels="fused")
    loops = evaluated(copy)["test"]["night"]["loops"]
    assert loops["recall_at"] is None
    assert loops["global_recall_at"] == night["loops"]["global_recall_at"]


@pytest.mark.parametrize("change", [lambda state: state.unlink(), lambda state: state.write_bytes(b"another")])
def test_what_becomes_of_the_state_after_the_run_changes_nothing(copy, night, change):
    change(copy.state)
    assert evaluated(copy)["test"]["night"] == night


def test_an_evaluation_searches_nothing_and_asks_no_classifier(copy, night, monkeypatch):
    for owner, name in (
        (Localizer, "__init__"),
        (Classifier, "predict"),
        (Retrieval, "search"),
        (Memory, "similarities"),
        (Memory, "rank_by_cosine"),
    ):
        monkeypatch.setattr(owner, name, lambda *_, name=name: pytest.fail(f"{name} was called"))
    assert evaluated(copy)["test"]["night"] == night


def test_a_run_of_a_version_that_kept_no_candidates_is_refused_with_the_way_out(copy):
    copy.candidates("night").unlink()
    run = FinishedRun.load(copy)
    with pytest.raises(InputError, match=r"night.candidates.npz: no such file, .*; run `tmapr run` again"):
        evaluate_run(run)
    assert run.trial("night").table.stamps.size


def test_without_retrieval_there_is_nothing_to_rank_or_to_score(home, tmp_path):
    shutil.copytree(home / "runs/block/percepts", tmp_path / "run/percepts")
    found = evaluated(run_block(home, "retrieval.mode=off", folder=RunFolder(tmp_path / "run")))["test"]["night"]
    loops = found["loops"]
    assert loops["recall_at"] is loops["average_precision"] is loops["best_f1"] is loops["f1_interval"] is None
    assert loops["recall_at_full_precision"] == 0.0
    assert loops["global_recall_at"]["1"] > 0
    assert found["nis"] is None


def test_off_the_map_no_recall_is_claimed(copy):
    path = copy.percepts("night")
    recording = Recording.load(path)
    replace(recording, truth=recording.truth + 5000.0).save(path)
    loops = evaluated(copy)["test"]["night"]["loops"]
    names = ["recall", "average_precision", "recall_at_full_precision", "decision_recall_at_full_precision"]
    names += ["best_f1", "best_f1_threshold", "recall_at", "global_recall_at", "f1_interval"]
    assert [name for name in names if loops[name] is not None] == []


@pytest.fixture
def worse(copy, material):
    """The same run with errors half as large again, every fifth frame lost and every third match less similar."""
    recording = material[1]
    with copy.estimates("night").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for number, row in enumerate(rows):
        if recording.known[number]:
            for axis, true in zip("xy", recording.truth[number].tolist(), strict=True):
                row[axis] = repr(true + 1.5 * (float(row[axis]) - true))
        row["status"] = "lost" if number % 5 == 0 else "localized"
        if row["first_similarity"] and number % 3 == 0:
            row["first_similarity"] = "0.1"
    with copy.estimates("night").open("w", newline="") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    return copy


def test_a_run_that_is_worse_everywhere_is_told_so_and_the_other_better(folder, worse):
    (there,), (back,) = compared(folder, worse), compared(worse, folder)
    names = ["RMSE m", "mean m", "RMSE m, all", "F1, all"]
    assert [measure.name for measure in there.measures] == [measure.name for measure in back.measures] == names
    assert {measure.standing for measure in there.measures} == {Standing.BETTER}
    assert {measure.standing for measure in back.measures} == {Standing.WORSE}
    for one, reverse in zip(there.measures, back.measures, strict=True):
        assert (one.a, one.b) == (reverse.b, reverse.a)
        assert one.difference.value == pytest.approx(-reverse.difference.value)
        assert one.difference.interval.low == pytest.approx(-reverse.difference.interval.high)
    assert there.measures[2].b == pytest.approx(1.5 * there.measures[2].a)


def test_a_run_is_not_told_apart_from_itself(folder, copy):
    (found,) = compared(folder, copy)
    assert {measure.standing for measure in found.measures} == {Standing.UNDECIDED}
    assert found.refusal is None


def test_errors_are_compared_on_the_frames_that_both_localize(folder, worse, material):
    table, recording = material
    (found,) = compared(folder, worse)
    localized = np.array([status == "localized" for status in table.statuses])
    both = recording.known & localized & (np.arange(len(recording)) % 5 != 0)
    assert 0 < both.sum() < (recording.known & localized).sum() < recording.known.sum()
    counts = [measure.frames for measure in found.measures]
    assert counts == [both.sum(), both.sum(), recording.known.sum(), recording.known.sum()]
    errors = np.linalg.norm(table.positions - recording.truth, axis=1)[both]
    assert found.measures[0].a == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert found.measures[1].difference.value == pytest.approx(-0.5 * errors.mean())


@pytest.mark.parametrize("what", ["stamps", "coordinates", "true positions"])
def test_a_sequence_that_is_not_the_same_is_left_out_with_a_line(folder, copy, what):
    path = copy.percepts("night")
    recording = Recording.load(path)
    if what == "stamps":
        recording = replace(recording, percepts=tuple(replace(p, stamp=p.stamp + 1) for p in recording.percepts))
        text = copy.estimates("night").read_text()
        for percept in recording.percepts:
            text = text.replace(f"\n{percept.stamp - 1},", f"\n{percept.stamp},")
        copy.estimates("night").write_text(text)
        marks = json.loads(copy.provenance.read_text())["made_from"]
        marks["night"]["percepts"] = recording.marks.percepts
        restated(copy, made_from=marks)
    if what == "coordinates":
        recording = replace(recording, frame=CoordinateFrame("utm", "52N", (1.0, 2.0)))
    if what == "true positions":
        recording = replace(recording, truth=recording.truth + 0.1)
    recording.save(path)
    (found,) = compared(folder, copy)
    assert found.measures == ()
    assert found.refusal.startswith("night: ")
    assert what in found.refusal


def test_a_run_that_does_not_say_what_it_was_made_from_is_refused(folder, copy):
    restated(copy, made_from={})
    with pytest.raises(InputError, match="does not say what noon was made from; run `tmapr run` again"):
        compared(folder, copy)


def test_runs_on_other_sequences_are_refused(folder, copy):
    text = copy.experiment.read_text().replace('test = ["night"]', 'test = ["evening"]')
    copy.experiment.write_text(text)
    timings = json.loads(copy.provenance.read_text())["sequences"]["night"]
    restated(copy, experiment_sha256=file_digest(copy.experiment), sequences={"evening": timings})
    with pytest.raises(InputError, match=r"evening.*night"):
        compared(folder, copy)


def test_errors_of_these_estimates_are_read_and_not_made_again(copy):
    evaluated(copy)
    text = copy.errors.read_text().replace('"frames": ', '"frames": 9')
    copy.errors.write_text(text)
    assert str(read_errors(FinishedRun.load(copy)).test["night"].frames).startswith("9")
    assert copy.errors.read_text() == text


@pytest.mark.parametrize("what", ["missing", "estimates", "truth", "run"])
def test_errors_of_anything_else_are_evaluated_in_memory_and_nothing_is_written(copy, what):
    evaluated(copy)
    text = copy.errors.read_text().replace('"frames": ', '"frames": 9')
    copy.errors.write_text(text)
    if what == "missing":
        copy.errors.unlink()
    if what == "estimates":
        copy.estimates("night").write_bytes(copy.estimates("night").read_bytes().replace(b"\n", b"\r\n"))
    if what == "truth":
        recording = Recording.load(copy.percepts("night"))
        replace(recording, truth=recording.truth + 1.0).save(copy.percepts("night"))
    if what == "run":
        restated(copy, numpy="another")
    before = copy.errors.read_text() if copy.errors.exists() else None
    run = FinishedRun.load(copy)
    assert read_errors(run).test["night"].frames == len(run.trial("night").recording)
    assert (copy.errors.read_text() if copy.errors.exists() else None) == before


def test_errors_that_are_evaluated_again_keep_their_alignment(copy):
    evaluated(copy, "planar")
    restated(copy, numpy="another")
    assert read_errors(FinishedRun.load(copy)).alignment == "planar"


def test_retrieval_and_loops_are_about_the_candidate_that_ranked_first_and_not_the_judged_one(copy, night):
    with copy.estimates("night").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        if row["reference"]:
            row |= {"ref_x": "9e5", "ref_y": "9e5", "similarity": "-1.0"}
    with copy.estimates("night").open("w", newline="") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)
    found = evaluated(copy)["test"]["night"]
    assert (found["retrieval"], found["loops"]) == (night["retrieval"], night["loops"])


def test_where_a_later_candidate_is_accepted_the_first_one_is_still_what_retrieval_is_judged_by(home, tmp_path):
    shutil.copytree(home / "runs/block/percepts", tmp_path / "run/percepts")
    open_gates = ("tracking.gates.min_similarity=-1.0", "tracking.gates.max_innovation=5.0")
    folder = run_block(home, GATES, "retrieval.candidates=8", *open_gates, folder=RunFolder(tmp_path / "run"))
    run = FinishedRun.load(folder)
    trial, ranked = run.trial("night"), run.load_candidates("night").searched
    table, recording = trial.table, trial.recording
    searched = np.flatnonzero(table.first.references.known)
    accepted = np.array([reason == "accepted" for reason in table.reasons])
    later = accepted & (table.references.values != table.first.references.values)
    assert 0 < later.sum() < accepted.sum()
    for row in searched[::5]:
        np.testing.assert_array_equal(trial.memory.positions[ranked[row, 0]], table.first.positions.values[row])
    errors = distances(table.first.positions.values, recording)
    assert evaluated(folder)["test"]["night"]["retrieval"]["max"] == pytest.approx(np.nanmax(errors))
