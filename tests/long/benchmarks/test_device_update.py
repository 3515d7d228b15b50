"""The benchmark of the device's update, on a CPU and small: every part runs, and what it compares agrees."""

import json

import torch

from device_bench import Bench
from device_update import measured

SMALL = Bench(torch.device("cpu"), dim=100, classes=7, updates=30, check=20, check_dim=70, check_long=40)


def test_every_part_runs_and_what_is_compared_agrees(tmp_path, capsys):
    measured(SMALL, [], tmp_path / "update.json")
    printed = capsys.readouterr().out
    assert "FAILED" not in printed, printed
    metrics = json.loads((tmp_path / "update.json").read_text())["metrics"]
    bounded = {metric["name"]: metric["holds"] for metric in metrics if metric["bound"] is not None}
    assert len(bounded) == 4
    assert all(bounded.values()), bounded


def test_a_part_that_fails_says_why_and_the_others_go_on(tmp_path, capsys):
    measured(Bench(torch.device("cpu"), 100, classes=0, updates=3, check=1, check_dim=70, check_long=1), [], None)
    printed = capsys.readouterr().out
    assert "Against the CPU: FAILED" in printed
    assert "multiply: largest difference" in printed
