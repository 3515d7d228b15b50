"""Damaged files of every kind: read or refused in one line, within five seconds and a gigabyte, whatever the damage."""

import json
import os
import subprocess
import sys

import pytest

from repository import SUPPORT

HERE = SUPPORT
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


@pytest.mark.parametrize("kind", SHARES)
def test_no_damage_leads_to_anything_else_in_200_000_files(kind):
    found = survive(kind, 2, SHARES[kind])
    assert found["wrong"] == []
    assert found["refused"] > SHARES[kind] / 10
