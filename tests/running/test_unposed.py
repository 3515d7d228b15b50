"""An experiment that fits its pose head to the truth, before any is trained: there is nothing to fit."""

from dataclasses import replace

from made_up import run_block, thin_percepts, write_block
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder


def test_without_a_pose_head_an_alignment_changes_nothing(tmp_path):
    write_block(tmp_path, size=40.0)
    folder = RunFolder(tmp_path / "runs/block")
    thin_percepts(folder, 4)
    for path in folder.percepts_folder.iterdir():
        whole = Recording.load(path)
        unposed = tuple(replace(each, position=None, heading=None) for each in whole.percepts)
        replace(whole, percepts=unposed).save(path)
    told = [run_block(tmp_path, f"align_apr={how}").estimates("night").read_bytes() for how in ("none", "oracle")]
    assert told[0] == told[1]
