"""Run folders and projects that are moved or linked: their recordings are found again."""

import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from commandline import command
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import is_data_there
from tmapr.running.finished import FinishedRun
from walked import write_walk


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with recordings, an experiment file and a finished run, all of it named relative to the project."""
    home = write_walk(tmp_path_factory.mktemp("made") / "project")
    file = home / "walk.toml"
    file.write_text(file.read_text().replace(str(home / "data"), "data"))
    with chdir(home):
        for verb in ("map", "run"):
            assert command(verb, "walk.toml", "--quiet") == 0
    return home


@pytest.fixture
def project(made, tmp_path):
    shutil.copytree(made, tmp_path / "project", symlinks=True)
    return tmp_path / "project"


def remarks(run):
    """What is said of a finished run once all of it is read."""
    finished = FinishedRun.load(RunFolder(Path(run)))
    for name in finished.experiment.data.scored:
        finished.sequence(name)
    assert all(is_data_there(finished.experiment.data, name) for name in ("noon", "night"))
    return finished.remarks


def test_a_moved_project_is_whole_from_anywhere(project, tmp_path, monkeypatch):
    (tmp_path / "far/off").mkdir(parents=True)
    shutil.move(project, tmp_path / "far/off/street")
    for where in (tmp_path, tmp_path / "far/off/street", tmp_path / "far"):
        monkeypatch.chdir(where)
        assert remarks(tmp_path / "far/off/street/runs/walk") == []


def test_nothing_is_encoded_again_after_a_move(project, tmp_path, monkeypatch, capsys):
    shutil.move(project, tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    before = Path("moved/runs/walk/percepts/night.npz").read_bytes()
    digest = FinishedRun.load(RunFolder(Path("moved/runs/walk"))).provenance.settings_sha256
    assert command("run", "moved/walk.toml", "--run", "moved/runs/walk") == 0
    assert capsys.readouterr().err == ""
    assert Path("moved/runs/walk/percepts/night.npz").read_bytes() == before
    assert FinishedRun.load(RunFolder(Path("moved/runs/walk"))).provenance.settings_sha256 == digest


def test_a_run_folder_without_its_project_says_where_it_looked(project, tmp_path, monkeypatch):
    (tmp_path / "alone").mkdir()
    shutil.move(project / "runs/walk", tmp_path / "alone/walk")
    monkeypatch.chdir(tmp_path)
    finished = FinishedRun.load(RunFolder(Path("alone/walk")))
    (remark,) = finished.remarks
    assert "alone/walk/percepts/noon.npz" in remark


def test_runs_that_are_a_link_to_another_disk_find_their_data(project, tmp_path, monkeypatch):
    (tmp_path / "disk/of/many").mkdir(parents=True)
    shutil.rmtree(project / "runs")
    (project / "runs").symlink_to(tmp_path / "disk/of/many")
    monkeypatch.chdir(project)
    for verb in ("map", "run"):
        assert command(verb, "walk.toml", "--quiet") == 0
    assert remarks("runs/walk") == []
    assert remarks(tmp_path / "disk/of/many/walk") == []
