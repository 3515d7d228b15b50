"""`tmapr evaluate` as a user gives it: what the file holds, what is printed of it, and one run against another."""

import json
import re
import shutil

import pytest

from commandline import command


@pytest.fixture(scope="module")
def home(street, tmp_path_factory):
    home = shutil.copytree(street, tmp_path_factory.mktemp("home") / "street", symlinks=True)
    shutil.copytree(home / "runs/street", home / "runs/other")
    return home


@pytest.fixture(scope="module")
def night(home):
    return json.loads((home / "runs/street/errors.json").read_text())["test"]["night"]


def test_every_figure_that_is_promised_is_in_errors_json(night):
    assert set(night["fused"]) >= {"rmse", "mean", "median", "p75", "p95", "p99", "max", "rmse_interval"}
    statistics = {"rmse", "mean", "median", "std", "min", "max", "sse", "alignment"}
    assert set(night["ape"]) >= statistics
    assert all(set(each) >= statistics | {"delta", "unit", "all_pairs", "pairs"} for each in night["rpe"])
    curve = {"average_precision", "recall_at_full_precision", "decision_recall_at_full_precision"}
    assert set(night["loops"]) >= curve | {"best_f1", "best_f1_threshold", "f1_interval"}
    assert set(night["loops"]["recall_at"]) == set(night["loops"]["global_recall_at"]) == {"1", "5", "10"}
    assert set(night["nees"]["by_status"]["localized"]) == {"frames", "mean", "coverage95"}
    assert set(night["nis"]) == {"mean", "inside95", "count"}
    assert (night["decisions"]["frames"], night["decisions"]["wrong"], night["decisions"]["tolerance"]) == (70, 0, 10.0)


def test_the_numbers_of_the_file_are_printed_and_the_file_is_the_same_when_made_again(home, night, capsys):
    before = (home / "runs/street/errors.json").read_bytes()
    assert command("evaluate", home / "runs/street") == 0
    assert (home / "runs/street/errors.json").read_bytes() == before
    printed = capsys.readouterr().out
    for row in (
        ["RPE", "m", "over", "10", "m", str(night["rpe"][1]["pairs"]), f"{night['rpe'][1]['rmse']:.2f}"],
        ["APE", "m", str(night["ape"]["poses"]), f"{night['ape']['rmse']:.2f}"],
        ["ours", *(f"{night['loops']['recall_at'][rank]:.3f}" for rank in ("1", "5", "10"))],
        ["global", *(f"{night['loops']['global_recall_at'][rank]:.3f}" for rank in ("1", "5", "10"))],
        [f"{night['nis']['mean']:.2f}", f"{night['nis']['inside95']:.3f}"],
        [f"{100 * night['decisions']['localized']:.1f}", "%"],
    ):
        assert re.search(r"\s+".join(map(re.escape, row)), printed), row


def test_a_copy_of_the_run_folder_alone_says_the_same(home, night, tmp_path):
    copied = shutil.copytree(home / "runs/street", tmp_path / "runs/copied", symlinks=True)
    shutil.rmtree(copied / "report")
    (copied / "errors.json").unlink()
    (copied / "state.npz").unlink()
    assert not (tmp_path / "data").exists()
    assert command("evaluate", copied, "--quiet") == 0
    assert json.loads((copied / "errors.json").read_text())["test"]["night"] == night


def test_another_run_is_compared_beneath_and_left_as_it_is(home, capsys):
    (home / "runs/other/errors.json").unlink()
    assert command("evaluate", home / "runs/street", "--against", home / "runs/other") == 0
    printed = capsys.readouterr().out
    assert re.search(r"night\s+test\s+RMSE m\s+\d+\s+\d+\.\d{3}\s+\d+\.\d{3}\s+-?0\.000\s+-?0\.000", printed)
    assert f"A: {home / 'runs/street'}" in printed
    assert f"B: {home / 'runs/other'}" in printed
    assert not (home / "runs/other/errors.json").exists()


def test_quiet_prints_nothing_and_a_folder_without_a_run_cannot_be_compared_with(home, tmp_path, capsys):
    assert command("evaluate", home / "runs/street", "--against", home / "runs/other", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert command("evaluate", home / "runs/street", "--against", tmp_path) == 2
    assert re.fullmatch(r"tmapr: .*experiment\.toml.*\n", capsys.readouterr().err)
