"""The commands as a user gives them, on a small made-up block."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from made_up import write_block
from tmapr.artifacts.documents.runs import Errors
from tmapr.artifacts.trajectory import load_estimates
from tmapr.cli.evaluate import print_errors
from tmapr.tracking.smoothing import LAG

ROOT = Path(__file__).parents[2]


def tmapr(*arguments, cwd):
    program = [sys.executable, "-m", "tmapr", *map(str, arguments)]
    return subprocess.run(program, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    assert tmapr("map", "block.toml", cwd=home).returncode == 0
    return home


def estimates(home):
    return (home / "runs/block/estimates/night.csv").read_bytes()


def test_a_run_repeats_bit_for_bit_from_its_own_folder(home):
    assert tmapr("run", "block.toml", cwd=home).returncode == 0
    first = estimates(home)
    assert tmapr("run", "runs/block/experiment.toml", cwd=home).returncode == 0
    assert estimates(home) == first


def test_errors_json_keeps_its_keys(home):
    tmapr("run", "block.toml", cwd=home)
    assert tmapr("evaluate", "runs/block", "--quiet", cwd=home).stdout == ""
    errors = json.loads((home / "runs/block/errors.json").read_text())
    assert set(errors) >= {"test", "alignment", "labels", "frame", "settings_sha256"}
    night = errors["test"]["night"]
    for track in ("apr", "retrieval", "fused"):
        assert set(night[track]) >= {"rmse", "mean", "median"}
    assert set(night["loops"]) >= {"precision", "recall", "f1", "decision_recall", "accepted"}
    assert set(night["nees"]) >= {"mean", "coverage95"}
    assert set(night["jumps"]) >= {"apr", "fused"}
    assert set(night["step_ms"]) >= {"p50", "p95", "max"}
    assert {"reasons", "status", "update_ms"} <= set(night)
    assert sum(night["reasons"].values()) == sum(night["status"].values()) == night["frames"]
    assert (errors["labels"], errors["alignment"]) == ("off", "none")


def test_true_labels_on_a_test_stream_come_late_and_the_table_says_so(home):
    assert tmapr("run", "block.toml", "--learn", "truth", cwd=home).returncode == 0
    printed = tmapr("evaluate", "runs/block", cwd=home).stdout
    assert "labels truth+120" in printed
    table = load_estimates(home / "runs/block/estimates/night.csv")
    assert np.flatnonzero(table.learned)[0] == 120
    assert json.loads((home / "runs/block/errors.json").read_text())["labels"] == "truth+120"


def test_fused_labels_are_learned_once_later_views_have_made_them_certain(home):
    axis = "labels.max_semi_axis=10"
    assert tmapr("run", "block.toml", "--learn", "fused", "--set", axis, cwd=home).returncode == 0
    table = load_estimates(home / "runs/block/estimates/night.csv")
    assert table.learned.any()
    assert np.flatnonzero(table.learned)[0] > LAG


def test_an_oracle_alignment_is_called_one(home):
    assert tmapr("run", "block.toml", "--align-apr", "oracle", cwd=home).returncode == 0
    assert "ORACLE" in tmapr("evaluate", "runs/block", cwd=home).stdout


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


def test_the_pose_head_fitted_to_the_adapt_sequence_is_reported_so(home):
    assert tmapr("run", "block.toml", "--align-apr", "adapt", cwd=home).returncode == 0
    assert "alignment apr-adapt" in tmapr("evaluate", "runs/block", cwd=home).stdout


def test_a_planar_alignment_never_makes_the_error_larger(home):
    tmapr("run", "block.toml", cwd=home)
    rmse = {}
    for alignment in ("none", "planar"):
        tmapr("evaluate", "runs/block", "--align", alignment, cwd=home)
        rmse[alignment] = json.loads((home / "runs/block/errors.json").read_text())["test"]["night"]["fused"]["rmse"]
    assert rmse["planar"] <= rmse["none"]


def test_the_settings_printed_are_the_settings_read(home):
    printed = tmapr("config", "block.toml", "--set", "retrieval.mode=global", cwd=home).stdout
    (home / "printed.toml").write_text(printed)
    assert tmapr("config", "printed.toml", cwd=home).stdout == printed
    assert 'mode = "global"' in printed


def test_a_run_says_how_many_frames_matched_and_when_the_threshold_is_of_another_descriptor(home):
    printed = tmapr("run", "block.toml", cwd=home).stdout
    assert re.search(r"night.csv: \d+ of \d+ frames localized; \d+ accepted(, \d+ relocalized)? \[test\]\n", printed)
    gates = ("--set", "tracking.method=paper", "--set", "tracking.gates.min_similarity=0.999")
    strict = tmapr("run", "block.toml", *gates, cwd=home).stdout
    assert re.search(r"their best similarity is 0\.\d\d in the median", strict)
    assert "tracking.gates.min_similarity is 0.999, which belongs to another descriptor" in strict


LIGHT = "import sys, tmapr; print(*sorted({'torch', 'numba', 'scipy', 'numpy', 'pydantic', 'rich'} & set(sys.modules)))"
HELP = (
    "import sys; from typer.testing import CliRunner; from tmapr.cli.main import app;"
    "CliRunner().invoke(app, ['--help']);"
    "print(*sorted({'torch', 'numba', 'scipy', 'numpy', 'pydantic'} & set(sys.modules)))"
)


@pytest.mark.parametrize("program", [LIGHT, HELP], ids=["import tmapr", "tmapr --help"])
def test_nothing_heavy_is_imported_before_it_is_needed(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_whole_run_imports_no_torch(home):
    program = f"import sys, tmapr; tmapr.load({str(home / 'runs/block')!r}); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "False"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_the_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "localized, accepted" in done.stdout
