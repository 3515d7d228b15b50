"""What fooled a user or lost results once, through the command, each with the line that it gets now.

The other failures of that kind are in the tables beside this file: bad files, a program's values, places to run.
"""

import json
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest

from commandline import command
from interruptions import results_of
from tmapr.artifacts.lock import writing
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import load_estimates
from tmapr.experiment import dump_experiment, read_experiment
from walked import COUNT, write_list, write_walk

MAP, RUN = ("map", "walk.toml", "--run", "run"), ("run", "walk.toml", "--run", "run")
EVALUATE, REPORT = ("evaluate", "run"), ("report", "run")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of images, evaluated, with a page."""
    home = write_walk(tmp_path_factory.mktemp("finished"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        (home / "walk.toml").write_text((home / "walk.toml").read_text().replace(f"{home}/", ""))
        for arguments in (MAP, RUN, EVALUATE, REPORT):
            assert command(*arguments) == 0
    return home


@pytest.fixture
def home(finished, tmp_path, monkeypatch):
    """A copy of it, in which the shell is."""
    shutil.copytree(finished, tmp_path / "home", symlinks=True)
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def error_of(home):
    """Metres, as errors.json has them."""
    return json.loads((home / "run/errors.json").read_text())["test"]["night"]["fused"]["rmse"]


def test_positions_that_were_corrected_by_12_m_count_at_once(home, capsys):
    write_list(home / "data/night", range(COUNT), shift=12.0)
    assert command(*EVALUATE) == 0
    said = capsys.readouterr()
    assert said.err == "night: positions changed since its percepts were made; what the recording says counts\n"
    assert said.out.endswith(
        "run/report/index.html: shows other results than these; `tmapr report run` makes it anew\n"
    )
    estimated = load_estimates(home / "run/estimates/night.csv").positions
    corrected = np.column_stack([2.0 * np.arange(COUNT) + 12.0, np.full(COUNT, 5.0)])
    off = np.hypot(*(estimated - corrected).T)
    assert error_of(home) == pytest.approx(float(np.sqrt(np.mean(off**2))), abs=1e-6)
    assert error_of(home) > 11
    assert command(*RUN) == 0
    said = capsys.readouterr()
    assert said.err == "night: positions changed; 0 of 16 images are encoded again\n"
    assert said.out.endswith("run/report/index.html: shows the run before this one; `tmapr report run` makes it anew\n")


@pytest.mark.parametrize("arguments", [RUN, EVALUATE, REPORT, ("report", "run", "--table", "fusion")], ids=" ".join)
def test_nobody_takes_a_copy_of_the_positions_for_the_recording(arguments, home, capsys):
    (home / "data").rename(home / "away")
    assert command(*arguments) == 0
    told = "{0}: is not in data; the percepts and positions kept in run/percepts/{0}.npz are used\n"
    assert capsys.readouterr().err == told.format("noon") + told.format("night")


def test_a_table_of_an_ablation_is_not_shown_of_recordings_that_changed(home, capsys):
    made_from = {}
    for name in ("noon", "night"):
        marks = Recording.load(home / f"run/percepts/{name}.npz").marks
        made_from[name] = {"percepts": marks.percepts, "truth": marks.truth}
    rows = [{"key": "full", "title": "full", "kind": "system", "test": {"night": {"frames": 16, "rmse": 0.5}}}]
    tree = {"kind": "ablation", "experiment": "walk", "settings_sha256": "0" * 64, "made_from": made_from, "rows": rows}
    (home / "run/ablation.json").write_text(json.dumps(tree))
    (home / "run/ablate/full").mkdir(parents=True)
    made = read_experiment(Path("run/experiment.toml"))
    (home / "run/ablate/full/experiment.toml").write_text(dump_experiment(made, Path("run/ablate/full")))
    assert command(*REPORT, "--table", "system") == 0
    assert capsys.readouterr().err == ""
    write_list(home / "data/night", range(COUNT), shift=12.0)
    assert command(*REPORT, "--table", "system") == 2
    again = "make it anew with `tmapr ablate run/experiment.toml --run run`"
    assert capsys.readouterr().err == f"tmapr: run/ablation.json: night has changed since it was made; {again}\n"


def test_a_table_of_compared_methods_is_not_shown_of_positions_that_changed(home, capsys):
    truth = {"night": Recording.load(home / "run/percepts/night.npz").marks.truth}
    (home / "run/compare").mkdir()
    tree = {"test": {"night": [{"name": "APR", "rmse": 1.5}]}, "truth": truth}
    (home / "run/compare/comparison.json").write_text(json.dumps(tree))
    assert command(*REPORT, "--table", "localization") == 0
    capsys.readouterr()
    write_list(home / "data/night", range(COUNT), shift=12.0)
    assert command(*REPORT, "--table", "localization") == 2
    said = "run/compare/comparison.json: the positions of night have changed since it was made"
    assert said in capsys.readouterr().err


def test_a_run_into_a_folder_that_is_being_written_changes_nothing(home, capsys):
    before = results_of(home / "run")
    with writing(home / "run"):
        assert command(*RUN, "--learn", "fused") == 2
    assert capsys.readouterr().err.startswith("tmapr: run: is being written by process ")
    assert results_of(home / "run") == before


@pytest.mark.parametrize("largest", [500, 5000, 50_000])
def test_a_full_disk_leaves_the_finished_run(largest, home, capsys):
    before = results_of(home / "run")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        assert command(*RUN, "--quiet", "--learn", "fused") == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = capsys.readouterr().err
    assert "cannot be written, the disk is full (File too large); make room and run the command again\n" in said
    assert results_of(home / "run") == before
    assert command(*EVALUATE, "--quiet") == 0


def test_two_sequences_share_no_file(home):
    for name in ("a/b", "a__b"):
        shutil.copytree(home / "data/noon", home / "data" / name)
    (home / "walk.toml").write_text((home / "walk.toml").read_text().replace('"night"', '"a/b", "a__b"'))
    write_list(home / "data/a__b", range(4, COUNT))
    assert command(*RUN, "--quiet") == 0
    frames = {name: len(Recording.load(home / f"run/percepts/{name}.npz")) for name in ("a__b", "___a%5F%5Fb")}
    assert frames == {"a__b": COUNT, "___a%5F%5Fb": COUNT - 4}


@pytest.mark.parametrize("url", ["http://dl.fbaipublicfiles.com/x", "file:///etc/passwd", "ftp://a/x", "x"])
def test_weights_come_by_https_alone(url, home, capsys):
    assert command("weights", "pull", "dinov2", "--from", url, "--yes") == 2
    assert capsys.readouterr().err == f"tmapr: {url}: only https addresses are fetched\n"
    assert not (home / "weights").exists()


def test_a_check_refuses_positions_that_a_run_refuses(home, capsys):
    rows = [f"{10**18 + row * 10**8},{row:02}.png,127.{row:05},36.3" for row in range(COUNT)]
    (home / "data/noon/frames.csv").write_text("\n".join(["stamp,file,lon,lat", *rows]) + "\n")
    for arguments in (("check", "walk.toml"), RUN):
        assert command(*arguments, "--quiet") == 2
        assert capsys.readouterr().err == (
            "tmapr: data/night/frames.csv: has positions as x,y in a frame of their own, the map as longitude and"
            " latitude; give lon,lat here, or map with x,y\n"
        )
