"""RUN/log.txt: what the commands that wrote into a run folder did, said and ended with, a line each.

A line is one write to a file opened for appending, so that several writers mix lines and never parts of them. Whatever
forbids it, a full disk or a file that is none of ours, the work goes on without.
"""

import fcntl
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOG, EARLIER = "log.txt", "log.1.txt"
LARGEST = 2 << 20
"""Bytes after which a log becomes the earlier one, and the one before that goes."""
_LONGEST = 2000
_CREDENTIALS = re.compile(r"(\w://)[^/\s@]+@")
_QUERY = re.compile(r"(\w://[^\s?]+)\?\S+")


@dataclass(frozen=True, slots=True)
class Taken:
    """Told to the logger `tmapr` by whoever has become the writer of a run folder."""

    folder: Path

    def __str__(self) -> str:
        return f"writes into {self.folder}"


def append(folder: Path, text: str, *, when: float) -> None:
    """Add lines to the log of a folder that is there; `when` is in seconds since the epoch."""
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when))
    stamp = f"{seconds}.{int(when % 1 * 1000):03d}Z {os.getpid()}"
    for line in text.splitlines():
        told = _QUERY.sub(r"\1?…", _CREDENTIALS.sub(r"\1…@", line))[:_LONGEST]
        with suppress(OSError):
            descriptor = _open(folder / LOG)
            try:
                os.write(descriptor, f"{stamp} {told}\n".encode(errors="backslashreplace"))
            finally:
                os.close(descriptor)


def _open(path: Path) -> int:
    """The log, begun anew if it has become too large."""
    descriptor = _open_plain(path)
    if os.fstat(descriptor).st_size < LARGEST:
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Somebody else may have done it since it was opened, and what has its name now is a new one.
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            path.replace(path.with_name(EARLIER))
    except OSError:  # somebody is doing it
        return descriptor
    os.close(descriptor)
    return _open_plain(path)


def _open_plain(path: Path) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path}: is no file")
    return descriptor
