"""One writer at a time in a folder: a lock that the kernel frees when its holder ends, however that happens.

Whoever has it sweeps what killed holders left.
"""

import fcntl
import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tmapr.artifacts.atomic import PARTIAL, UNFINISHED
from tmapr.artifacts.logbook import EARLIER, LOG, Taken
from tmapr.exceptions import InputError

LOCK = ".lock"
_ANOTHER = "give another folder with --run"
_WRITTEN = (
    *(".", ".results", "percepts", "estimates", "report", "descriptor", "compare", "cache/*/*"),
    *("apr", "apr/*", "baselines/*", "baselines/*/*"),
)
"""Folders of a run in which files are replaced."""
_log = logging.getLogger("tmapr")


@contextmanager
def writing(folder: Path, otherwise: str = _ANOTHER, lock: str = LOCK) -> Iterator[None]:
    """Be the only writer of a folder, which is made if need be; while somebody else is, this is refused.

    A folder in which nothing but the lock and a log came to be goes again. `otherwise` is the way out beside waiting.
    """
    refuse_links(folder, lock)
    before = set(os.listdir(folder)) if folder.is_dir() else set[str]()
    descriptor = _acquire(folder, folder / lock, otherwise)
    began, published = time.monotonic(), name_generation(folder)
    if lock == LOCK:
        _log.info(Taken(folder))
    try:
        with suppress(OSError):  # who holds it is a courtesy: a full disk does not forbid the work
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        sweep_partials(folder)
        yield
        _log.info("%s: written for %.1f s", folder, time.monotonic() - began)
    except KeyboardInterrupt as stop:
        if lock == LOCK:
            stop.add_note(_describe_results(folder, published))
        raise
    finally:
        if before <= {lock}:
            _remove_empty(folder, lock)
        os.close(descriptor)


def refuse_links(folder: Path, lock: str = LOCK) -> None:
    """Refuse to write where links lead out of a folder, or stand for what is swept there: it may come from anywhere.

    Links inside are the product's own or harmless. The log is never followed; a row of an ablation reads the percepts
    of the run that it lies in and writes none.
    """
    home = os.path.realpath(folder)
    shared = os.path.realpath(folder / "../../percepts")
    for root, folders, files in os.walk(folder):
        for path in filter(Path.is_symlink, (Path(root, name) for name in (*folders, *files))):
            target, name = os.path.realpath(path), os.path.relpath(path, folder)
            own = name == LOG or (name == "percepts" and target == shared)
            if not own and (name in {lock, ".results"} or os.path.commonpath([home, target]) != home):
                raise InputError(
                    f"{path}: is a link to {target}, which is not followed from a folder that is written;"
                    " remove the link, or put a copy in its place"
                )


def name_generation(folder: Path) -> str:
    """The results that are read in a run folder now; empty where there are none."""
    try:
        return os.readlink(folder / ".results/current")
    except OSError:
        return ""


def _describe_results(folder: Path, before: str) -> str:
    """What an interruption has left."""
    now = name_generation(folder)
    if not now:
        return f"{folder}: has no results yet"
    return f"{folder}: its results are {'those from before' if now == before else 'new, and whole'}"


def _remove_empty(folder: Path, lock: str) -> None:
    held = [entry.name for entry in os.scandir(folder)]
    if set(held) <= {lock, LOG, EARLIER}:
        for name in held:
            (folder / name).unlink()
        with suppress(OSError):  # somebody has put something there
            folder.rmdir()


def sweep_partials(folder: Path) -> None:
    """Remove files that were never finished: with the lock held, none of their writers lives."""
    for written in _WRITTEN:
        for partial in folder.resolve().glob(f"{written}/.*{PARTIAL}"):
            linked = partial.parent.resolve() != partial.parent
            # A program may be saving its state, which takes no lock.
            if UNFINISHED.fullmatch(partial.name) and not linked and not partial.name.startswith(".state.npz."):
                partial.unlink(missing_ok=True)


def _acquire(folder: Path, path: Path, otherwise: str) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
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
