"""Experiments made from recordings alone, mapped and run; and one that fits a pose head which is not there."""

from dataclasses import replace
from pathlib import Path

import pytest

from made_up import run_block, thin_percepts, write_block
from recorded import write_walk_bag
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.running.planning import plan_experiment
from tmapr.running.running import map_experiment, run_experiment
from tmapr.system import Map
from walked import COUNT, write_walk


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_planned_experiment_is_mapped_and_run(home):
    write_walk_bag(home / "evening.bag", 160)
    planned = plan_experiment([Path("data/noon")], [Path("evening.bag")], "site")
    folder = RunFolder(Path("runs/site"))
    assert len(map_experiment(planned, folder).memory) == COUNT
    run_experiment(planned, folder)
    assert folder.estimates("evening").exists()
    assert len(Map.load(folder.map, planned.system, ("noon",)).memory) == COUNT


def test_images_alone_are_localized_in_a_map_with_longitude_and_latitude(home):
    rows = [f"{10**18 + row * 10**8},{row:02}.png,{127 + row * 2e-5:.5f},36.3" for row in range(COUNT)]
    Path("data/noon/frames.csv").write_text("\n".join(["stamp,file,lon,lat", *rows]))
    Path("data/night/frames.csv").unlink()
    planned, folder = plan_experiment([Path("data/noon")], [Path("data/night")]), RunFolder(Path("run"))
    map_experiment(planned, folder)
    run_experiment(planned, folder)
    assert Map.load(folder.map, planned.system, ("noon",)).frame.kind == "enu"
    assert folder.estimates("night").exists()


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
