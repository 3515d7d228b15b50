"""A file is replaced whole or not at all, and killed writers leave no litter behind for long."""

import os
import time

import pytest

from tmapr.artifacts.atomic import replacing, write_text

HOUR = 3600


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "state.npz"
    file.write_bytes(b"old")
    return file


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def abandoned(path, age):
    """What a writer killed `age` seconds ago left."""
    partial = path.with_name(f".{path.name}.abcd1234.partial")
    partial.write_bytes(b"half")
    os.utime(partial, (time.time() - age,) * 2)
    return partial


def test_the_new_content_replaces_the_old(path):
    with replacing(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"


class Failure(BaseException):
    """Neither an error nor an interrupt: nothing may be counted on."""


def fail_halfway(path, kind):
    with replacing(path) as stream:
        stream.write(b"half")
        raise kind


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, Failure])
def test_a_failed_writer_leaves_the_old_content_and_nothing_else(kind, path):
    with pytest.raises(kind):
        fail_halfway(path, kind)
    assert path.read_bytes() == b"old"
    assert names(path.parent) == ["state.npz"]


def test_a_failed_first_writer_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError):
        fail_halfway(tmp_path / "new.npz", RuntimeError)
    assert names(tmp_path) == []


def test_a_reader_that_has_the_old_file_open_keeps_it(path):
    with path.open("rb") as reader:
        write_text(path, "new")
        assert reader.read() == b"old"


def test_everybody_may_read_the_file(path):
    write_text(path, "new")
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(("age", "kept"), [(1.1 * HOUR, False), (0.9 * HOUR, True), (0, True)])
def test_only_what_was_abandoned_an_hour_ago_is_swept(age, kept, path):
    partial = abandoned(path, age)
    write_text(path, "new")
    assert partial.exists() is kept


@pytest.mark.parametrize("neighbour", [".map.npz.abcd1234.partial", "state.npz.abcd1234.partial", ".state.npz.abcd"])
def test_files_that_are_no_partials_of_this_one_are_kept(neighbour, path):
    other = path.with_name(neighbour)
    abandoned(path, 2 * HOUR).rename(other)
    write_text(path, "new")
    assert other.exists()
