"""Recordings that changed after a run, which fooled users once: what they say counts, and old tables are refused."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from commandline import command
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import load_estimates
from tmapr.experiment import dump_experiment, read_experiment

RUN, EVALUATE = ("run", "street.toml"), ("evaluate", "runs/street")
METRES = 12.0


@pytest.fixture
def home(street_copy, monkeypatch):
    monkeypatch.chdir(street_copy)
    return Path("runs/street")


def correct(name="night"):
    """Every position of a recording 12 m farther north."""
    path = Path("data") / name / "frames.csv"
    header, *rows = (line.split(",") for line in path.read_text().splitlines())
    for row in rows:
        row[-1] = f"{float(row[-1]) + METRES / 110_950:.8f}"
    path.write_text("\n".join(",".join(row) for row in (header, *rows)) + "\n")


def test_positions_that_were_corrected_by_12_m_count_at_once(home, capsys):
    truth = Recording.load(home / "percepts/night.npz").truth
    correct()
    assert command(*EVALUATE) == 0
    said = capsys.readouterr()
    assert "night: positions changed" in said.err
    assert "`tmapr report runs/street`" in said.out
    off = np.hypot(*(load_estimates(home / "estimates/night.csv").positions - truth - [0.0, METRES]).T)
    error = json.loads((home / "errors.json").read_text())["test"]["night"]["fused"]["rmse"]
    assert error == pytest.approx(float(np.sqrt(np.mean(off**2))), abs=0.05)
    assert error > 11
    assert command(*RUN) == 0
    assert re.search(r"night: positions changed; 0 of 70 images", capsys.readouterr().err)


@pytest.mark.parametrize("arguments", [RUN, EVALUATE, ("report", "runs/street", "--table", "fusion")], ids=" ".join)
def test_nobody_takes_a_copy_of_the_positions_for_the_recording(arguments, home, capsys):
    Path("data").rename("away")
    assert command(*arguments) == 0
    told = capsys.readouterr().err
    assert all(f"runs/street/percepts/{name}.npz" in told for name in ("noon", "night"))


def write_ablation(home):
    """A table of one row, as `tmapr ablate` leaves it."""
    recordings = {name: Recording.load(home / f"percepts/{name}.npz").marks for name in ("noon", "night")}
    made_from = {name: {"percepts": marks.percepts, "truth": marks.truth} for name, marks in recordings.items()}
    rows = [{"key": "full", "title": "full", "kind": "system", "test": {"night": {"frames": 70, "rmse": 0.5}}}]
    tree = {"kind": "ablation", "experiment": "street", "settings_sha256": "0" * 64, "made_from": made_from}
    tree |= {"made_by": "tmapr", "alignment": "none", "labels": "off"}
    (home / "ablation.json").write_text(json.dumps(tree | {"rows": rows}))
    (home / "ablate/full").mkdir(parents=True)
    made = dump_experiment(read_experiment(home / "experiment.toml"), home / "ablate/full")
    (home / "ablate/full/experiment.toml").write_text(made)


def write_comparison(home):
    truth = {"night": Recording.load(home / "percepts/night.npz").marks.truth}
    (home / "compare").mkdir()
    tree = {"test": {"night": [{"name": "APR", "rmse": 1.5}]}, "truth": truth}
    (home / "compare/comparison.json").write_text(json.dumps(tree))


@pytest.mark.parametrize(
    ("write", "table", "file"),
    [(write_ablation, "system", "ablation.json"), (write_comparison, "localization", "comparison.json")],
)
def test_a_table_is_not_shown_of_recordings_that_changed(write, table, file, home, capsys):
    write(home)
    assert command("report", home, "--table", table) == 0
    assert capsys.readouterr().err == ""
    correct()
    assert command("report", home, "--table", table) == 2
    said = capsys.readouterr().err
    assert all(named in said for named in (file, "night", "`tmapr "))


def test_two_sequences_share_no_file(home):
    """`a/b` and `a__b`, whose names on disk could be one."""
    for name in ("a/b", "a__b"):
        shutil.copytree("data/night", Path("data") / name)
    path = Path("data/a__b/frames.csv")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:41]))
    assert command(*RUN, "--set", 'data.test=["a/b", "a__b"]', "--quiet") == 0
    frames = {name: len(Recording.load(home / f"percepts/{name}.npz")) for name in ("a__b", "___a%5F%5Fb")}
    assert frames == {"a__b": 70, "___a%5F%5Fb": 40}
