"""Every command that writes into a run folder refuses one that is being written, and changes nothing there."""

import os

import pytest

from commandline import command
from interruptions import others_of, results_of
from made_up import run_block, write_block
from tmapr.artifacts.lock import writing
from tmapr.running.evaluating import evaluate_run, save_errors
from tmapr.running.finished import FinishedRun


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=60.0)
    folder = run_block(home)
    save_errors(evaluate_run(FinishedRun.load(folder)), folder)
    return home


WRITERS = {
    "map": ("map", "block.toml", "--run", "runs/block"),
    "run": ("run", "block.toml", "--run", "runs/block", "--learn", "fused"),
    "evaluate": ("evaluate", "runs/block", "--align", "planar"),
    "report": ("report", "runs/block"),
    "calibrate": ("calibrate", "block.toml", "--run", "runs/block", "--set", 'data.validation=["night"]',
                  "--set", "data.test=[]"),
    "ablate": ("ablate", "block.toml", "--run", "runs/block"),
}  # fmt: skip


@pytest.mark.parametrize("verb", WRITERS)
def test_a_folder_that_is_being_written_is_refused_with_its_writer(home, monkeypatch, capsys, verb):
    monkeypatch.chdir(home)
    folder = home / "runs/block"
    before = results_of(folder), others_of(folder)
    with writing(folder):
        assert command(*WRITERS[verb]) == 2
    other = "--out" if verb == "report" else "--run"
    writer = f"process {os.getpid()} on host {os.uname().nodename}"
    told = capsys.readouterr().err
    assert told.startswith(f"tmapr: runs/block: is being written by {writer}")
    assert other in told
    assert (results_of(folder), others_of(folder)) == before


@pytest.mark.parametrize("options", [("--table", "fusion"), ("--out", "page.html")])
def test_who_writes_elsewhere_waits_for_nobody(home, monkeypatch, options):
    monkeypatch.chdir(home)
    with writing(home / "runs/block"):
        assert command("report", "runs/block", *options) == 0


def test_a_report_sweeps_what_a_killed_one_left(home, monkeypatch):
    monkeypatch.chdir(home)
    half = home / "runs/block/report/.index.html.abcd1234.partial"
    half.parent.mkdir(exist_ok=True)
    half.touch()
    assert command("report", "runs/block") == 0
    assert [path.name for path in half.parent.iterdir()] == ["index.html"]
