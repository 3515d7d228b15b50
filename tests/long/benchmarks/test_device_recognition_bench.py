"""The benchmark of recognition on a device, small and on the CPU: every part is measured, and none fails."""

import json

import pytest

torch = pytest.importorskip("torch")

import device_recognition  # noqa: E402


def test_every_part_is_measured(tmp_path, capsys):
    out = tmp_path / "recognition.json"
    small = "--device cpu --references 300 --dimension 48 --places 12 --frames 20 --rounds 2 --seconds 600"
    device_recognition.main([*small.split(), "--out", str(out)])
    report = json.loads(out.read_text())
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == report
    parts = report["parts"]
    assert not [name for name, part in parts.items() if isinstance(part, dict) and {"error", "left_out"} & part.keys()]
    assert {"prepare", "products", "conclude", "whole", "condition"} <= parts.keys()
    assert parts["agreement"]["same_first"] == 1.0


def test_a_part_that_fails_says_why_and_the_next_is_measured(capsys):
    bench = device_recognition.Bench(torch.device("cpu"), rounds=1, until=float("inf"))
    bench.attempt("broken", lambda: {"ratio": 1 / 0})
    bench.attempt("whole", lambda: {"ratio": 1.0})
    assert bench.found == {"broken": {"error": "ZeroDivisionError: division by zero"}, "whole": {"ratio": 1.0}}
