"""Two network namespaces with addresses of their own, a Dask worker in each: the map of one process, byte for byte."""

import subprocess
import sys

import pytest

from commandline import command
from repository import ROOT

SCRIPT = ROOT / "benchmarks/cluster_namespaces.py"


def test_workers_in_two_namespaces_make_the_map_of_one_process(tmp_path):
    world = tmp_path / "world"
    options = ("--layout", "folder", "--traverses", "noon,night", "--frames", "64", "--length", "160", "--quiet")
    assert command("simulate", world, *options) == 0
    told = subprocess.run(
        [sys.executable, SCRIPT, world, "--out", tmp_path / "out"], capture_output=True, text=True, check=False
    )
    if "cannot be made here" in told.stderr:
        pytest.skip(told.stderr.strip())
    assert told.returncode == 0, told.stderr
    assert "the same, byte for byte" in told.stdout
    assert all(f"tcp://10.231.87.{number}:" in told.stdout for number in (1, 2))
