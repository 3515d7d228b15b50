"""Files that somebody gives us: regular ones alone, up to a stated size, opened without waiting.

Whoever opens a FIFO waits for its writer, and /dev/zero never ends. A file is looked at before it is opened, and once
more through the open descriptor, since what a name stands for may change in between. docs/formats.md has the bounds.
"""

import errno
import io
import os
import stat
from pathlib import Path

from tmapr.exceptions import InputError

MEBIBYTE = 1 << 20
SETTINGS_BYTES = MEBIBYTE
"""An experiment file; ours, complete, has 20 kB."""
DOCUMENT_BYTES = 64 * MEBIBYTE
"""A JSON file."""
TABLE_BYTES = 256 * MEBIBYTE
"""A text with a line for each frame."""
IMAGE_BYTES = 256 * MEBIBYTE
"""An image file, and its pixels: 128 million of 16 bits."""
WEIGHTS_BYTES = 8 << 30
"""A checkpoint; ViT-L with its optimizer's state has 4 GB."""
ARRAYS_BYTES = 64 << 30
"""An npz file: eight million frames."""

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path, most: int | None = None) -> io.BufferedReader:
    """The file, open for reading; what is no regular file, or larger than `most` bytes, is refused.

    What the system says of a missing or forbidden file is raised as it is: only callers know what it should have been.
    """
    try:
        _refuse_others(path, os.stat(path), most)
    except ValueError:  # a zero byte in its name
        raise InputError(f"{str(path)!r}: is no file's name") from None
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _refuse_others(path, os.fstat(stream.fileno()), most)
    except BaseException:
        stream.close()
        raise
    return stream


def read_bytes(path: Path, most: int) -> bytes:
    """What a file of at most so many bytes holds."""
    with open_regular(path, most) as stream:
        content = stream.read(most + 1)
    if len(content) > most:  # it grew, or does not tell its size as those in /proc
        _refuse_size(path, len(content), most)
    return content


def read_text(path: Path, most: int) -> str:
    """The same as text in UTF-8, with or without a byte order mark, its lines ended as on any system."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, most)), encoding="utf-8-sig").read()


def require_file(path: Path, most: int | None = None) -> None:
    """Refuse, in one line, what a library that opens files by itself could not read, or would not stop to read."""
    try:
        open_regular(path, most).close()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; name a file in it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def refuse_pixels(where: str, height: int, width: int, bits: int) -> None:
    """Refuse pixels of so many bits that would take more memory than any image should: before a decoder asks for it."""
    if height * width * bits > 8 * IMAGE_BYTES:
        raise InputError(
            f"{where}: claims {width}x{height} pixels of {bits} bits, which are more than {IMAGE_BYTES >> 20} MiB;"
            " export it smaller"
        )


def _refuse_others(path: Path, found: os.stat_result, most: int | None) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise InputError(f"{path}: is {kind}, which is not read; copy what it gives to a file and name that")
    if most is not None and found.st_size > most:
        _refuse_size(path, found.st_size, most)


def _refuse_size(path: Path, size: int, most: int) -> None:
    raise InputError(f"{path}: has {size} bytes, a file of its kind at most {most}; is it the right file?")
