"""A run folder from an archive or a share: its links cost nobody a file."""

import shutil

import pytest

from commandline import command
from walked import write_walk


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A walk that was mapped and run."""
    home = write_walk(tmp_path_factory.mktemp("walk"))
    for verb in ("map", "run"):
        assert command(verb, home / "walk.toml", "--run", home / "run", "--quiet") == 0
    return home


@pytest.mark.parametrize(("name", "target"), [(".lock", "important.txt"), (".results", "victim"), ("report", "victim")])
def test_evaluate_refuses_a_link_out_of_the_run_and_nothing_is_lost(finished, tmp_path, capsys, name, target):
    run = shutil.copytree(finished / "run", tmp_path / "run")  # plain files, readable without .results
    (tmp_path / "important.txt").write_text("mine")
    for own in ("202301/notes", "000007/notes", ".thesis.partial", ".index.html.abcd1234.partial"):
        (tmp_path / "victim" / own).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "victim" / own).write_text("mine")
    if (run / name).exists():
        (run / name).rename(tmp_path / "moved")
    (run / name).symlink_to(f"../{target}")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert command("evaluate", run) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"{run / name}: is a link to {tmp_path / target}" in told
    assert "remove the link" in told
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_evaluate_sweeps_nothing_that_it_did_not_write(finished, tmp_path):
    run = shutil.copytree(finished / "run", tmp_path / "run", symlinks=True)
    (run / "v2").mkdir()
    (run / "v2/.thesis.partial").write_text("mine")
    (run / "report").symlink_to("v2")
    assert command("evaluate", run) == 0
    assert (run / "v2/.thesis.partial").read_text() == "mine"
    assert (run / "errors.json").is_file()
