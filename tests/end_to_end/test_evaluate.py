"""`tmapr evaluate` as a user gives it, on a small made-up block: tables, and one run against another."""

import json
import re
import shutil
from dataclasses import replace

import pytest

from commandline import command
from made_up import write_block
from tmapr.artifacts.percepts import Recording


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=30.0)
    for path in (home / "runs/block/percepts").iterdir():
        whole = Recording.load(path)
        replace(whole, truth=whole.truth[::3], known=whole.known[::3], percepts=whole.percepts[::3]).save(path)
    assert command("map", home / "block.toml", "--run", home / "runs/block") == 0
    shutil.copytree(home / "runs/block", home / "runs/other")
    for run, variance in {"runs/block": 3.0, "runs/other": 300.0}.items():
        changed = ("--set", f"fusion.correction_variance={variance}")
        assert command("run", home / "block.toml", "--run", home / run, "--quiet", *changed) == 0
    return home


def test_every_figure_that_is_promised_is_in_errors_json(home):
    assert command("evaluate", home / "runs/block", "--quiet") == 0
    night = json.loads((home / "runs/block/errors.json").read_text())["test"]["night"]
    assert set(night["fused"]) >= {"rmse", "mean", "median", "p75", "p95", "p99", "max", "rmse_interval"}
    assert set(night["heading"]) >= {"rmse_deg", "mean_deg", "median_deg", "p95_deg"}
    statistics = {"rmse", "mean", "median", "std", "min", "max", "sse", "alignment"}
    assert set(night["ape"]) >= statistics
    assert all(set(each) >= statistics | {"delta", "unit", "all_pairs", "pairs"} for each in night["rpe"])
    curve = {"average_precision", "recall_at_full_precision", "decision_recall_at_full_precision"}
    assert set(night["loops"]) >= curve | {"best_f1", "best_f1_threshold", "f1_interval"}
    assert set(night["loops"]["recall_at"]) == set(night["loops"]["global_recall_at"]) == {"1", "5", "10"}
    assert set(night["nees"]["by_status"]["localized"]) == {"frames", "mean", "coverage95"}
    assert set(night["nis"]) == {"mean", "inside95", "count"}


def test_a_detour_is_told_in_numbers_and_in_words(home, capsys):
    assert command("evaluate", home / "runs/block") == 0
    away = json.loads((home / "runs/block/errors.json").read_text())["test"]["night"]["off_map"]
    assert away["count"] == 1
    assert away["metres"] > 100
    told = f"night: {away['metres']:.0f} m off the map, {away['false_accepts']} of {away['frames']} frames there"
    assert told in capsys.readouterr().out


def test_what_was_claimed_and_wrong_is_told_in_numbers_and_in_words(home, capsys):
    assert command("evaluate", home / "runs/block") == 0
    made = json.loads((home / "runs/block/errors.json").read_text())["test"]["night"]["decisions"]
    assert 0 < made["localized"] <= 1
    assert made["on_map"] < made["frames"]
    assert made["tolerance"] == 10.0
    told = f"night: localized on {100 * made['localized']:.1f} % of frames on the map, first right after"
    assert told in capsys.readouterr().out


def test_the_tables_print_the_numbers_of_the_file(home, capsys):
    assert command("evaluate", home / "runs/block") == 0
    printed = capsys.readouterr().out
    night = json.loads((home / "runs/block/errors.json").read_text())["test"]["night"]
    for row in (
        ["RPE", "m", "over", "10", "m", str(night["rpe"][1]["pairs"]), f"{night['rpe'][1]['rmse']:.2f}"],
        ["APE", "m", str(night["ape"]["poses"]), f"{night['ape']['rmse']:.2f}"],
        ["ours", *(f"{night['loops']['recall_at'][rank]:.3f}" for rank in ("1", "5", "10"))],
        ["global", *(f"{night['loops']['global_recall_at'][rank]:.3f}" for rank in ("1", "5", "10"))],
        [f"{night['nis']['mean']:.2f}", f"{night['nis']['inside95']:.3f}", f"{night['heading']['median_deg']:.1f}"],
    ):
        assert re.search(r"\s+".join(map(re.escape, row)), printed), row


def test_another_run_is_compared_beneath(home, capsys):
    assert command("evaluate", home / "runs/block", "--against", home / "runs/other") == 0
    printed = capsys.readouterr().out
    assert re.search(r"night\s+test\s+RMSE m\s+\d+\s+\d+\.\d{3}\s+\d+\.\d{3}\s+-?\d+\.\d{3}\s+-?\d+\.\d{3}", printed)
    assert f"A: {home / 'runs/block'}; labels off; alignment none" in printed
    assert f"B: {home / 'runs/other'}; labels off; alignment none" in printed
    assert not (home / "runs/other/errors.json").exists()


def test_quiet_prints_nothing(home, capsys):
    assert command("evaluate", home / "runs/block", "--against", home / "runs/other", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_a_folder_that_holds_no_run_cannot_be_compared_with(home, tmp_path, capsys):
    assert command("evaluate", home / "runs/block", "--against", tmp_path) == 2
    assert re.fullmatch(r"tmapr: .*experiment\.toml.*\n", capsys.readouterr().err)
