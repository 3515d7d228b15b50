"""One writer at a time in a folder: a lock that the kernel frees when its holder ends, however that happens.

Whoever has it sweeps what killed holders left.
"""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tmapr.artifacts.atomic import PARTIAL
from tmapr.exceptions import InputError

LOCK = ".lock"
_ANOTHER = "give another folder with --run"
_WRITTEN = (
    *(".", ".results", "percepts", "estimates", "report", "descriptor", "compare", "cache/*/*"),
    *("apr", "apr/*", "baselines/*", "baselines/*/*"),
)
"""Folders of a run in which files are replaced."""


@contextmanager
def writing(folder: Path, otherwise: str = _ANOTHER, lock: str = LOCK) -> Iterator[None]:
    """Be the only writer of a folder, which is made if need be; while somebody else is, this is refused.

    A folder in which nothing but the lock came to be goes again. `otherwise` is the way out beside waiting.
    """
    descriptor = _acquire(folder, folder / lock, otherwise)
    try:
        with suppress(OSError):  # who holds it is a courtesy: a full disk does not forbid the work
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        sweep_partials(folder)
        yield
    finally:
        if [entry.name for entry in os.scandir(folder)] == [lock]:
            (folder / lock).unlink()
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()
        os.close(descriptor)


def sweep_partials(folder: Path) -> None:
    """Remove files that were never finished: with the lock held, none of their writers lives."""
    for written in _WRITTEN:
        for partial in folder.glob(f"{written}/.*{PARTIAL}"):
            # A program may be saving its state, which takes no lock.
            if not partial.name.startswith(".state.npz."):
                partial.unlink(missing_ok=True)


def _acquire(folder: Path, path: Path, otherwise: str) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # its last holder took the empty folder away
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _describe_holder(descriptor)
            os.close(descriptor)
            raise InputError(f"{folder}: is being written by {holder}; wait for it, or {otherwise}") from None
        except OSError as error:
            os.close(descriptor)
            raise InputError(f"{path}: cannot be locked ({error.strerror}); {otherwise}") from None
        # The file may have gone with its folder between the two calls: then this lock is of no file that others see.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _describe_holder(descriptor: int) -> str:
    """As it introduced itself; it may be about to."""
    try:
        told = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {int(told['pid'])} on host {str(told['host'])[:80]}"
    except (ValueError, KeyError, TypeError):
        return "another process"
