"""Replace a file so that a reader, or a kill at any moment, sees the old content or the new, never a mixture."""

import errno
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tmapr.exceptions import InputError

PARTIAL = ".partial"
"""How the names of files that are being written end."""

UNFINISHED = re.compile(rf"\..+\.([a-z0-9_]{{8}}|link){re.escape(PARTIAL)}")
"""Whole names of such files, as nobody else gives them: `tempfile` chooses eight characters."""

_PUBLISHED = re.compile(r"(\.\./)?\.results/current/.+")
"""Where the links of a run folder lead that the product makes itself."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ABANDONED_AFTER = 3600.0


@contextmanager
def replacing(path: Path, retiring: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`; on success flush it to disk and rename it over `path`.

    A link to published results stays one: what it leads to is replaced. Any other link gives way, and what it leads to
    is left alone. `retiring` is a file that makes no sense beside the new content. It goes just before the rename: a
    failure while writing loses nothing, and the two are never seen together.
    """
    if path.is_symlink() and _PUBLISHED.fullmatch(os.readlink(path)):
        path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    with naming(path):
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=PARTIAL, dir=path.parent)
    partial = Path(name)
    try:
        with naming(path), os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.chmod(0o644)
        if retiring:
            retiring.unlink(missing_ok=True)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """A rename itself must reach the disk too, or a power cut could bring the old name back."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Around writing to `path`: a disk that is full says so without the name of the file and the way out."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise InputError(
                f"{path}: cannot be written, the disk is full ({error.strerror}); make room and run the command again"
            ) from None
        raise


def write_new_text(path: Path, text: str, way_out: str) -> None:
    """Write a text file that is not there yet, all of it or nothing; one that is stays, also if it came meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL) as stream:
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())
        Path(stream.name).chmod(0o644)
        try:
            os.link(stream.name, path)
        except FileExistsError:
            raise InputError(f"{path}: exists already and is not written over; {way_out}") from None
    flush_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Replace a text file."""
    with replacing(path) as stream:
        stream.write(text.encode())


def _sweep(path: Path) -> None:
    """Remove what killed writers left; a young one may belong to a writer that still lives."""
    for partial in path.parent.glob(f".{path.name}.*{PARTIAL}"):
        with suppress(FileNotFoundError):  # another writer may sweep too
            if UNFINISHED.fullmatch(partial.name) and time.time() - partial.lstat().st_mtime > _ABANDONED_AFTER:
                partial.unlink()
