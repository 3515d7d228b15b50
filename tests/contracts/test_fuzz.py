"""Damaged files of every kind: read or refused in one line, within five seconds and a gigabyte, whatever the damage."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHARES = {
    "toml": 25_000, "csv": 30_000, "png": 30_000, "tiff": 30_000, "jpeg": 25_000, "npz": 25_000, "json": 25_000,
    "safetensors": 10_000, "bags": 10_000,
}  # fmt: skip


def survive(kind, seed, cases):
    """What a process of its own that reads so many damaged files said."""
    paths = [HERE, HERE.parent, HERE.parent / "data", HERE.parents[1] / "src"]
    told = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, HERE / "fuzzing.py", kind, str(seed), str(cases)]
    done = subprocess.run(command, env=told, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["toml", "png", "tiff", "jpeg"])
def test_damage_leads_to_a_refusal_or_to_nothing(kind):
    found = survive(kind, 1, 150)
    assert found["wrong"] == []
    assert found["refused"] > 50


@pytest.mark.long
@pytest.mark.parametrize("kind", SHARES)
def test_no_damage_leads_to_anything_else_in_200_000_files(kind):
    assert survive(kind, 2, SHARES[kind])["wrong"] == []


def test_the_long_fuzz_is_long_enough():
    assert sum(SHARES.values()) >= 200_000
