"""`tmapr ablate` and `tmapr calibrate` through the command: rows side by side, resumed, the same bit for bit."""

import json
import shutil
import tomllib

import numpy as np
import pytest

from commandline import command
from made_up import thin_percepts, write_block
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import load_estimates
from tmapr.config import changed
from tmapr.config.tree import as_tree
from tmapr.evaluation.errors import position_errors, summarize_errors
from tmapr.experiment import read_experiment
from tmapr.running.finished import FinishedRun
from tmapr.studies.ablation import plan_jobs
from tmapr.studies.calibration import CalibrationData
from tmapr.studies.row_calibration import calibrate_row


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    assert command("ablate", home / "block.toml", "--run", home / "runs/block", "--workers", "2", "--quiet") == 0
    return home


@pytest.fixture(scope="module")
def found(home):
    return json.loads((home / "runs/block/ablation.json").read_text())


def row(found, key):
    return next(each for each in found["rows"] if each["key"] == key)["test"]["night"]


def test_there_are_eight_subsets_and_six_systems(found):
    kinds = [(each["key"], each["kind"]) for each in found["rows"]]
    subsets = ["acil", "u", "g", "h", "ug", "uh", "gh", "ugh"]
    systems = ["apr", "apr+capf", "global", "global+capf", "apr+global+capf", "full"]
    assert kinds == [*((key, "subset") for key in subsets), *((key, "system") for key in systems)]


def test_a_row_is_a_run_and_its_figures_are_those_of_the_run(home, found):
    folder = RunFolder(home / "runs/block/ablate/apr+global+capf")
    recording = Recording.load(folder.percepts("night"))
    errors = position_errors(load_estimates(folder.estimates("night")).positions, recording.truth)
    assert row(found, "apr+global+capf")["rmse"] == summarize_errors(errors).rmse
    assert command("evaluate", folder.path, "--quiet") == 0


def test_rows_without_a_filter_are_the_inputs_of_those_with_one(home, found):
    percepts = Recording.load(RunFolder(home / "runs/block").percepts("night"))
    seen = [number for number, each in enumerate(percepts.percepts) if not each.fault]
    assert row(found, "apr")["frames"] == row(found, "apr")["frames"] == len(percepts)
    assert row(found, "global")["frames"] == len(seen)
    assert row(found, "global+capf")["frames"] == len(percepts)
    assert row(found, "apr")["loops"] is None
    assert row(found, "apr+capf")["loops"] is None


def test_differences_are_full_less_the_row_and_the_subset_less_plain(found):
    full, without = row(found, "full"), row(found, "global+capf")
    assert without["difference"]["value"] == pytest.approx(full["rmse"] - without["rmse"])
    assert full["difference"] is None
    plain, everything = row(found, "acil"), row(found, "ugh")
    assert everything["difference"]["value"] == pytest.approx(everything["loops"]["f1"] - plain["loops"]["f1"])
    low, high = everything["difference"]["low"], everything["difference"]["high"]
    assert low <= everything["difference"]["value"] <= high


def test_what_is_there_is_not_run_again_and_what_changed_is(home, found, capsys):
    run, file = home / "runs/block", home / "block.toml"
    stamps = {path: path.stat().st_mtime_ns for path in run.glob("ablate/*/provenance.json")}
    shutil.rmtree(run / "ablate/uh")
    assert command("ablate", file, "--run", run) == 0
    assert "11 runs, 10 of them there already" in capsys.readouterr().err
    again = {path: path.stat().st_mtime_ns for path in run.glob("ablate/*/provenance.json")}
    assert {path.parent.name for path in again if again[path] != stamps.get(path)} == {"uh"}
    assert json.loads((run / "ablation.json").read_text()) == found


def test_other_percepts_make_every_row_anew(home, found, tmp_path):
    run = tmp_path / "runs/block"
    shutil.copytree(home / "runs/block", run, symlinks=True)
    jobs = plan_jobs(read_experiment(home / "block.toml"), RunFolder(run))
    assert all(job.is_done() for job in jobs.values())
    recording = Recording.load(RunFolder(run).percepts("night"))
    Recording("night", recording.percepts, recording.truth + 1.0, recording.known, recording.frame).save(
        RunFolder(run).percepts("night")
    )
    assert not any(job.is_done() for job in jobs.values())


def test_the_table_has_the_places_and_how_often_they_constrained(home, found):
    run = FinishedRun.load(RunFolder(home / "runs/block/ablate/ugh"))
    assert row(found, "ugh")["classes"] == run.provenance.classes == len(np.unique(run.environment.memory.places))
    constrained = load_estimates(run.folder.estimates("night")).constrained
    assert row(found, "ugh")["constrained"] == constrained.values[constrained.known].mean()
    assert row(found, "ugh")["threshold"] == 0.4
    assert row(found, "global")["constrained"] == 0.0
    assert row(found, "apr+capf")["threshold"] is None


def test_with_a_validation_each_row_has_a_threshold_of_its_own(home, tmp_path, capsys):
    run, file = tmp_path / "runs/block", home / "block.toml"
    shutil.copytree(home / "runs/block/percepts", run / "percepts")
    thin_percepts(RunFolder(run), 4)
    said = ("data.adapt=[]", "data.validation=['dusk']", "retrieval.likelihood_weight=0")
    overrides = [each for one in said for each in ("--set", one)]
    assert command("ablate", file, "--run", run, "--workers", "2", "--quiet", *overrides) == 0
    found = json.loads((run / "ablation.json").read_text())
    assert found["calibrated_on"] == ["dusk"]
    given = read_experiment(file, said).system
    recordings = (Recording.load(RunFolder(run).percepts(name)) for name in ("noon", "dusk"))
    reference, validation = ((recording,) for recording in recordings)
    for key, use in {"acil": (), "g": ("mixture",)}.items():
        system = changed(given, {"places.use": use})
        wanted = calibrate_row(system, CalibrationData(reference, (), validation))
        assert read_experiment(RunFolder(run / "ablate" / key).experiment).system == wanted
        assert row(found, key)["threshold"] == wanted.tracking.gates.min_similarity != 0.4
    assert command("ablate", file, "--run", run, *overrides) == 0
    assert "11 runs, 11 of them there already" in capsys.readouterr().err


def test_rows_are_the_same_bit_for_bit_however_many_work(home, found, tmp_path):
    run = tmp_path / "runs/block"
    shutil.copytree(home / "runs/block/percepts", run / "percepts")
    assert command("ablate", home / "block.toml", "--run", run, "--workers", "1", "--quiet") == 0
    assert (run / "ablation.json").read_bytes() == (home / "runs/block/ablation.json").read_bytes()
    for name in ("acil", "ugh", "global+capf"):
        table = RunFolder(run / "ablate" / name).estimates("night").read_bytes()
        assert table == RunFolder(home / "runs/block/ablate" / name).estimates("night").read_bytes()


@pytest.mark.parametrize(
    ("settings", "message"),
    [("data.test=[]", "data.test is empty"), ("data.reference=nowhere", "nowhere")],
)
def test_what_cannot_be_ablated_is_refused_in_one_line(settings, message, home, capsys):
    assert command("ablate", home / "block.toml", "--run", home / "runs/block", "--set", settings) == 2
    assert message in capsys.readouterr().err


SEARCHED = {"route": {"places", "retrieval", "fusion"}, "paper": {"places", "retrieval", "fusion", "tracking"}}


@pytest.mark.parametrize("method", SEARCHED)
def test_a_calibration_is_a_file_that_an_experiment_includes(method, home, tmp_path, capsys):
    run = tmp_path / "runs/block"
    shutil.copytree(home / "runs/block/percepts", run / "percepts")
    thin_percepts(RunFolder(run), 5)
    file = tmp_path / "block.toml"
    file.write_text((home / "block.toml").read_text().replace('test = ["night"]', 'validation = ["night"]'))
    chosen = ("--set", f"tracking.method={method}", "--out", tmp_path / "calibrated.toml")
    assert command("calibrate", file, "--run", run, *chosen) == 0
    told = capsys.readouterr()
    assert "before:" in told.out
    assert "ranking:" in told.err
    values = tomllib.loads((tmp_path / "calibrated.toml").read_text())
    including = tmp_path / "other.toml"
    including.write_text('include = ["calibrated.toml"]\nname = "other"\n[places]\nprojection = { dimension = 64 }\n')
    read = read_experiment(including)
    assert values.keys() == SEARCHED[method]
    tree = as_tree(read)
    gates = values.pop("tracking", {"gates": {}})["gates"]
    assert {key: tree["tracking"]["gates"][key] for key in gates} == gates
    assert gates.keys() == ({"min_similarity", "max_innovation"} if method == "paper" else set())
    for section, keys in values.items():
        assert {key: tree[section][key] for key in keys} == keys
    assert read.system.places.projection.dimension == 64


@pytest.mark.parametrize(
    ("settings", "message"),
    [("data.validation=[]", "data.validation"), ('data.validation=["dusk"]', "other sequences than")],
)
def test_a_calibration_without_its_own_data_is_refused(settings, message, home, capsys):
    assert command("calibrate", home / "block.toml", "--run", home / "runs/block", "--set", settings) == 2
    assert message in capsys.readouterr().err
