"""Results that belong together are replaced together, under the names that everybody reads."""

import os
import shutil
import subprocess

import pytest

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.results import name_published, read_whole, renewing
from tmapr.artifacts.run import RESULTS, RunFolder
from tmapr.exceptions import InputError

FILES = (*RESULTS, "estimates/night.csv", "estimates/night.tum")


@pytest.fixture
def folder(tmp_path):
    """A folder with its first results."""
    folder = RunFolder(tmp_path / "run")
    publish(folder, "old")
    return folder


def publish(folder, content, names=FILES):
    with renewing(folder) as staged:
        for name in names:
            write_text(staged.results / name, content)


def seen(folder):
    """What a plain reader finds under the promised names."""
    path = folder.path
    return {name: (path / name).read_text() for name in FILES if (path / name).exists()}


def everything(folder):
    return sorted(str(path.relative_to(folder.path)) for path in folder.path.rglob("*"))


def test_new_results_are_seen_when_the_block_ends_and_not_before(folder):
    with renewing(folder) as staged:
        for name in FILES:
            write_text(staged.results / name, "new")
        assert set(seen(folder).values()) == {"old"}
    assert seen(folder) == dict.fromkeys(FILES, "new")


def test_what_is_not_replaced_stays_and_what_is_removed_goes(folder):
    with renewing(folder) as staged:
        write_text(staged.provenance, "new")
        staged.errors.unlink()
    kept = seen(folder)
    assert kept.pop("provenance.json") == "new"
    assert "errors.json" not in kept
    assert set(kept.values()) == {"old"}
    assert not os.path.lexists(folder.errors)


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_a_failed_block_changes_nothing_and_leaves_nothing(folder, kind):
    before = everything(folder)

    def fail():
        with renewing(folder) as staged:
            write_text(staged.provenance, "new")
            raise kind

    with pytest.raises(kind):
        fail()
    assert seen(folder) == dict.fromkeys(FILES, "old")
    assert everything(folder) == before


def test_only_the_last_results_are_kept(folder):
    for number in range(3):
        publish(folder, f"{number}")
    generations = [path.name for path in (folder.path / ".results").iterdir()]
    assert sorted(generations) == [name_published(folder), "current"]


def test_plain_files_are_taken_over(tmp_path):
    folder = RunFolder(tmp_path / "run")
    for name in FILES:
        write_text(folder.path / name, "old")
    publish(folder, "new", ["provenance.json"])
    assert seen(folder) == dict.fromkeys(FILES, "old") | {"provenance.json": "new"}
    assert all((folder.path / name).is_symlink() for name in FILES)


def test_a_file_put_in_place_of_a_link_counts(folder):
    os.replace(shutil.copy(folder.provenance, folder.path / "mine"), folder.state)
    folder.state.write_text("mine")
    folder.errors.unlink()
    publish(folder, "new", ["provenance.json"])
    assert folder.state.read_text() == "mine"
    assert not folder.errors.exists()


@pytest.mark.parametrize("copy", [shutil.copytree, lambda a, b: subprocess.run(["cp", "-r", a, b], check=True)])
def test_a_copy_is_a_whole_folder_of_its_own(folder, tmp_path, copy):
    copy(folder.path, tmp_path / "copy")
    other = RunFolder(tmp_path / "copy")
    assert seen(other) == seen(folder)
    publish(other, "new", ["provenance.json"])
    assert seen(other) == dict.fromkeys(FILES, "old") | {"provenance.json": "new"}
    assert seen(folder) == dict.fromkeys(FILES, "old")


@pytest.mark.parametrize(
    "litter",
    [".results/next/map.npz", "percepts/.noon.npz.abcd1234.partial", ".results/000099/x", ".map.npz.link.partial"],
)
def test_what_killed_writers_left_is_swept_by_the_next(folder, litter):
    write_text(folder.path / litter, "half")
    publish(folder, "new")
    assert not (folder.path / litter).exists()
    assert seen(folder) == dict.fromkeys(FILES, "new")


def test_a_state_that_a_program_is_saving_is_no_litter(folder):
    saving = folder.path / ".state.npz.abcd1234.partial"
    saving.touch()
    publish(folder, "new")
    assert saving.exists()


def test_what_is_read_while_it_is_replaced_is_read_again(folder):
    readings = []

    def read():
        readings.append(folder.provenance.read_text())
        if len(readings) == 1:
            publish(folder, "new")
        return readings[-1], folder.estimates("night").read_text()

    assert read_whole(folder, read) == ("new", "new")


def test_a_refusal_counts_only_if_nothing_was_replaced_meanwhile(folder):
    readings = []

    def read():
        readings.append(len(readings))
        if len(readings) == 1:
            publish(folder, "new")
        if len(readings) < 3:
            raise InputError("halves of two results")
        return readings

    with pytest.raises(InputError):
        read_whole(folder, read)
    assert readings == [0, 1]
