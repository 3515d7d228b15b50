"""Only regular files are opened, and none that is larger than its kind can be; nobody waits for a writer."""

import os
import socket
from pathlib import Path

import pytest

from tmapr.exceptions import InputError
from tmapr.files import open_regular, read_bytes, read_text, require_file


def fifo(path):
    os.mkfifo(path)
    return path


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    return path


IRREGULAR = {
    "a FIFO": fifo,
    "a socket": listening,
    "a device": lambda path: path.symlink_to("/dev/zero") or path,
}


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_no_regular_file_is_refused_by_its_kind(kind, tmp_path):
    with pytest.raises(InputError, match=f"file: is {kind}, which is not read; copy what it gives to a file"):
        open_regular(IRREGULAR[kind](tmp_path / "file"))


def test_a_file_of_the_largest_size_is_read_and_one_byte_more_is_not(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345678")
    assert read_bytes(path, 8) == b"12345678"
    with pytest.raises(InputError, match="file: has 8 bytes, a file of its kind at most 7"):
        read_bytes(path, 7)


def test_a_file_that_hides_its_size_is_bounded_all_the_same():
    with pytest.raises(InputError, match="has 4 bytes, a file of its kind at most 3"):
        read_bytes(Path("/proc/self/status"), 3)


def test_what_the_system_says_of_a_name_is_left_to_the_caller(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)


def test_a_name_with_a_zero_byte_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"x00b': is no file's name"):
        open_regular(tmp_path / "a\0b")


@pytest.mark.parametrize("content", [b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n", b"a\rb\r"])
def test_text_reads_the_same_from_any_system(content, tmp_path):
    (tmp_path / "text").write_bytes(content)
    assert read_text(tmp_path / "text", 100) == "a\nb\n"


def test_what_a_library_opens_is_looked_at_first(tmp_path):
    with pytest.raises(InputError, match="nothing: no such file"):
        require_file(tmp_path / "nothing", 9)
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        require_file(tmp_path, 9)
    with pytest.raises(InputError, match="is a FIFO"):
        require_file(fifo(tmp_path / "pipe"), 9)
