"""The commands as a user gives them: on the shared street, and on a made-up block whose pose head is known."""

import json
import re

import numpy as np
import pytest

from commandline import command
from made_up import write_block
from tmapr.artifacts.documents.runs import Errors
from tmapr.artifacts.trajectory import load_estimates
from tmapr.cli.evaluate import print_errors
from tmapr.tracking.self_training import LAG


def test_a_run_repeats_bit_for_bit_from_its_own_folder(street, street_copy, monkeypatch):
    monkeypatch.chdir(street_copy)
    assert command("run", "runs/street/experiment.toml", "--quiet") == 0
    first, again = (home / "runs/street/estimates/night.csv" for home in (street, street_copy))
    assert again.read_bytes() == first.read_bytes()
    assert again.stat().st_mtime_ns != first.stat().st_mtime_ns


def test_errors_json_keeps_its_keys(street):
    errors = json.loads((street / "runs/street/errors.json").read_text())
    assert set(errors) >= {"test", "alignment", "labels", "frame", "settings_sha256"}
    night = errors["test"]["night"]
    for track in ("retrieval", "fused"):
        assert set(night[track]) >= {"rmse", "mean", "median"}
    assert set(night["loops"]) >= {"precision", "recall", "f1", "decision_recall", "accepted"}
    assert set(night["nees"]) >= {"mean", "coverage95"}
    assert set(night["jumps"]) >= {"apr", "fused"}
    assert set(night["step_ms"]) >= {"p50", "p95", "max"}
    assert {"reasons", "status", "update_ms"} <= set(night)
    assert sum(night["reasons"].values()) == sum(night["status"].values()) == night["frames"]
    assert (errors["labels"], errors["alignment"]) == ("off", "none")


def test_a_planar_alignment_never_makes_the_error_larger(street_copy):
    rmse = {}
    for alignment in ("none", "planar"):
        assert command("evaluate", street_copy / "runs/street", "--align", alignment, "--quiet") == 0
        errors = json.loads((street_copy / "runs/street/errors.json").read_text())
        rmse[alignment] = errors["test"]["night"]["fused"]["rmse"]
    assert rmse["planar"] <= rmse["none"]


def test_the_settings_printed_are_the_settings_read(street, tmp_path, capsys):
    assert command("config", street / "street.toml", "--set", "retrieval.mode=global") == 0
    printed = capsys.readouterr().out
    (tmp_path / "printed.toml").write_text(printed)
    assert command("config", tmp_path / "printed.toml") == 0
    assert capsys.readouterr().out == printed
    assert 'mode = "global"' in printed


def test_sequences_are_printed_under_the_names_they_have(capsys):
    name, counts = "[bold]night[/bold] :snail: " + "a-long-patrol-" * 8, {"accepted": 2}
    figures, times = {"rmse": 1.0, "mean": 1.0, "median": 1.0}, {"p50": 1.0, "p95": 1.0, "max": 1.0}
    entry = {
        "frames": 2,
        "loops": dict.fromkeys(("precision", "recall", "f1", "decision_recall"), 1.0) | {"accepted": 2},
        "nees": {"mean": 2.0, "coverage95": 1.0},
        "jumps": {"apr": None, "fused": 0},
    }
    entry |= {
        "apr": None,
        "retrieval": figures,
        "fused": figures,
        "reasons": counts,
        "status": counts,
        "step_ms": times,
    }
    stated = {"test": {name: entry}, "labels": "off", "alignment": "none", "settings_sha256": "0" * 64, "frame": {}}
    print_errors(Errors.model_validate_json(json.dumps(stated)))
    tables, line = capsys.readouterr().out.rsplit(f"{name}: 2 accepted; 2 accepted\n", 1)
    assert line == "settings 000000000000\n"
    assert "[/bold]" in tables
    assert "…" not in tables


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    home = tmp_path_factory.mktemp("block")
    write_block(home, size=60.0)
    assert command("map", home / "block.toml", "--run", home / "runs/block", "--quiet") == 0
    return home


@pytest.fixture
def run(block, monkeypatch, capsys):
    """Runs the block; the table of estimates, and what both `run` and `evaluate` printed."""

    def call(*options):
        monkeypatch.chdir(block)
        assert command("run", "block.toml", *options) == command("evaluate", "runs/block") == 0
        return load_estimates(block / "runs/block/estimates/night.csv"), capsys.readouterr().out

    return call


def test_true_labels_on_a_test_stream_come_late_and_the_table_says_so(run, block):
    table, printed = run("--learn", "truth")
    assert "labels truth+120" in printed
    assert np.flatnonzero(table.learned)[0] == 120
    assert json.loads((block / "runs/block/errors.json").read_text())["labels"] == "truth+120"


def test_fused_labels_are_learned_once_later_views_have_made_them_certain(run):
    table, _ = run("--learn", "fused", "--set", "labels.max_semi_axis=10")
    assert table.learned.any()
    assert np.flatnonzero(table.learned)[0] > LAG


@pytest.mark.parametrize(("alignment", "told"), [("oracle", "ORACLE"), ("adapt", "alignment apr-adapt")])
def test_an_alignment_of_the_pose_head_is_called_what_it_is(alignment, told, run):
    assert told in run("--align-apr", alignment)[1]


def test_a_run_says_how_many_frames_matched_and_when_the_threshold_is_of_another_descriptor(run):
    _, strict = run("--set", "tracking.method=paper", "--set", "tracking.gates.min_similarity=0.999")
    assert re.search(r"night.csv: \d+ of \d+ frames localized; .*\[test\]\n", strict)
    assert re.search(r"tracking.gates.min_similarity is 0.999, .*", strict)
