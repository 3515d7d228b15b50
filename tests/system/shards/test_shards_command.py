"""`tmapr shards`: from a run folder to a store, to another machine, into a run folder there, and localized in."""

import csv
import shutil

import pytest

from commandline import command
from made_up import run_block, write_block
from tmapr.artifacts.run import RunFolder

METRES = 0.1
"""What the rounding of descriptors may move a position by."""


@pytest.fixture(scope="module")
def block(tmp_path_factory):
    """A run of a made-up block."""
    home = tmp_path_factory.mktemp("block")
    write_block(home, 60.0)
    return run_block(home)


@pytest.fixture
def name(block, tmp_path, capsys):
    assert command("shards", "export", block.path, "--to", tmp_path / "store", "--quiet") == 0
    return capsys.readouterr().out.strip()


def test_exported_again_it_has_the_same_name(block, name, tmp_path, capsys):
    assert len(name) == 64
    command("shards", "export", block.path, "--to", tmp_path / "store")
    told = capsys.readouterr()
    assert told.out.strip() == name
    assert "shard 1: places 0 to" in told.err


def test_show_lists_maps_and_tells_of_one(name, tmp_path, capsys):
    assert command("shards", "show", tmp_path / "store") == 0
    assert capsys.readouterr().out.split() == [name]
    assert command("shards", "show", tmp_path / "store", name[:8], "--verify") == 0
    told = capsys.readouterr().out
    assert "references of 128 numbers" in told
    assert "mapped from noon" in told
    assert "objects are what their names say" in told


def test_a_pulled_map_localizes_as_the_one_that_was_exported(block, name, tmp_path, capsys):
    robot = tmp_path / "robot"
    shutil.copytree(block.path, robot, symlinks=True)
    assert command("shards", "pull", tmp_path / "store", "--to", tmp_path / "home") == 0
    assert command("shards", "install", tmp_path / "home", name[:10], "--run", robot) == 0
    assert not RunFolder(robot).state.exists()
    assert command("run", robot / "experiment.toml", "--run", robot, "--quiet") == 0
    before, after = read_rows(block), read_rows(RunFolder(robot))
    for one, other in zip(before, after, strict=True):
        assert (one["status"], one["reason"]) == (other["status"], other["reason"])
        assert float(other["x"]) == pytest.approx(float(one["x"]), abs=METRES)
        assert float(other["y"]) == pytest.approx(float(one["y"]), abs=METRES)
    # Two references that look equally alike may change places.
    same = sum(one["reference"] == other["reference"] for one, other in zip(before, after, strict=True))
    assert same >= 0.98 * len(before)


def read_rows(folder):
    with folder.estimates("night").open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("export", "nowhere", "--to", "store"), "holds no map.npz"),
        (("export", "run", "--to", "ftp://x/y"), "is no store"),
        (("pull", "store", "abc", "--to", "home"), "has 0 maps whose names begin with 'abc'"),
        (("pull", "nowhere", "a" * 64, "--to", "home"), "no such object in the store"),
        (("show", "store", "../../etc/passwd"), "0 maps"),
        (("install", "store", "NAME", "--run", "nowhere"), "holds no experiment.toml"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(block, name, tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").symlink_to(block.path)
    assert command("shards", *(name if word == "NAME" else word for word in words)) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert told in lines[-1]
    assert not (tmp_path / "home").exists()


def test_a_map_of_other_places_is_not_installed(block, name, tmp_path, capsys):
    robot = tmp_path / "robot"
    shutil.copytree(block.path, robot, symlinks=True)
    text = (robot / "experiment.toml").read_text()
    assert "cell = 15.0" in text
    (robot / "experiment.toml").write_text(text.replace("cell = 15.0", "cell = 20.0"))
    before = RunFolder(robot).map.read_bytes()
    assert command("shards", "install", tmp_path / "store", name, "--run", robot) == 2
    assert "was mapped with places.cell = 15.0 (now 20.0)" in capsys.readouterr().err
    assert RunFolder(robot).map.read_bytes() == before
    assert RunFolder(robot).state.exists()
