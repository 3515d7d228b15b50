"""`tmapr upkeep`, killed."""

import subprocess
import sys
import time

from commandline import command
from kept_up import load_map, make_run
from tmapr.artifacts.run import RunFolder


def test_a_command_that_is_killed_leaves_no_map_and_can_be_given_again(tmp_path):
    both = make_run(tmp_path, "both", "noon", "dusk")
    words = ["upkeep", "drop", str(both.path), "--traverse", "dusk", "--out", str(tmp_path / "out"), "--quiet"]
    killed = subprocess.Popen([sys.executable, "-m", "tmapr", *words])
    while killed.poll() is None and not (tmp_path / "out/.results/next").exists():
        time.sleep(0.001)
    killed.kill()
    killed.wait()
    assert not (tmp_path / "out/map.npz").exists() or load_map(RunFolder(tmp_path / "out")).past
    if not (tmp_path / "out/map.npz").exists():
        assert command(*words) == 0
    assert load_map(RunFolder(tmp_path / "out")).past[-1].action == "drop"
