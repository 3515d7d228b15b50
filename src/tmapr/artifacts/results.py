"""What belongs together in a run folder is replaced together, by one rename.

    RUN/.results/000013/…      one generation: percepts, map, state, settings, estimates, provenance, errors
    RUN/.results/current       a link to it
    RUN/map.npz, RUN/estimates/night.csv, …    links through `current`: the names that everybody reads

The next generation begins as hard links to all that is there, so that what stays costs nothing, and is published by
replacing `current`. Whoever is killed before leaves the old results, whoever is killed after the new ones. A journal
would need somebody to roll it forward first; a link is right also for `cat`.

A file that somebody put in place of a link counts as it is: the next writer takes it over.
"""

import errno
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tmapr.artifacts.atomic import PARTIAL, flush_folder
from tmapr.artifacts.lock import name_generation, sweep_partials
from tmapr.artifacts.run import RESULTS, SO_FAR, RunFolder
from tmapr.exceptions import TmaprError

_Read = TypeVar("_Read")
_GENERATIONS, _CURRENT, _STAGED = ".results", "current", "next"
_FOLDERS = ("percepts", "estimates")
_NO_LINK = (errno.EPERM, errno.EACCES, errno.EXDEV, errno.EMLINK, errno.ENOTSUP)
"""Somebody else's file, another file system, or one without hard links."""


@contextmanager
def renewing(folder: RunFolder) -> Iterator[RunFolder]:
    """The results as they are now, to be changed file by file; published when the block ends, or else forgotten.

    Only for the holder of the folder's lock. Files must be replaced, never written into: they are shared with the
    results that are read meanwhile.
    """
    home = folder.path / _GENERATIONS
    home.mkdir(parents=True, exist_ok=True)
    _sweep(folder.path)
    try:
        _adopt(folder.path)
        _share(folder.path, home / _STAGED)
        yield replace(folder, results=home / _STAGED)
        _publish(folder.path, home / _STAGED)
        logging.getLogger("tmapr").info("%s: results %s published", folder.path, name_published(folder))
    finally:
        _sweep(folder.path)


def read_whole(folder: RunFolder, read: Callable[[], _Read]) -> _Read:
    """What `read` makes of the folder's files, all of them of one publication: read again if another one came."""
    while True:
        published = name_published(folder)
        try:
            found = read()
        except (TmaprError, OSError):  # perhaps only because half of it was replaced
            if published == name_published(folder):
                raise
            continue
        if published == name_published(folder):
            return found


def name_published(folder: RunFolder) -> str:
    """The generation that is read now; no other ever has its name."""
    return name_generation(folder.path)


def _find_current(home: Path) -> Path | None:
    """The generation that counts; a copy that followed links has none."""
    try:
        return home / os.readlink(home / _CURRENT)
    except OSError:
        return None


def _list_files(root: Path) -> list[str]:
    """The results in a folder or a generation, by their names in it; a link that leads nowhere is none."""
    return [name for name in _list_names(root) if (root / name).is_file()]


def _list_names(root: Path) -> Iterator[str]:
    yield from RESULTS
    for folder in _FOLDERS:
        if not (root / folder).is_symlink():  # what is a link as a whole belongs to somebody else
            # A sequence's name may begin with a dot: what is unfinished is told by the end of its name.
            found = sorted(path.name for path in (root / folder).glob("*"))
            yield from (f"{folder}/{name}" for name in found if not name.endswith((PARTIAL, SO_FAR)))


def _link_of(name: str) -> str:
    """Where the link of a name in the run folder leads."""
    return os.path.join("../" * name.count("/") + _GENERATIONS, _CURRENT, name)


def _is_link(path: Path, name: str) -> bool:
    try:
        return os.readlink(path / name) == _link_of(name)
    except OSError:
        return False


def _is_linked(path: Path, generation: Path) -> bool:
    """Whether all names lead to this generation, and it holds nothing else."""
    held = _list_files(generation)
    return all(_is_link(path, name) for name in held) and all(name in held for name in _list_files(path))


def _adopt(path: Path) -> None:
    """Make plain files, put there by somebody, a generation; no content changes meanwhile."""
    home = path / _GENERATIONS
    current = _find_current(home)
    if current is not None and _is_linked(path, current):
        return
    if current is None and (home / _CURRENT).exists():  # a copy that followed links
        shutil.rmtree(home / _CURRENT)
    _share(path, home / _STAGED)
    _publish(path, home / _STAGED)
    _drop_dangling(path)


def _share(path: Path, staged: Path) -> None:
    """Begin a generation with all that the names lead to."""
    staged.mkdir()
    for name in _list_files(path):
        share_file(path / name, staged / name)


def share_file(source: Path, target: Path) -> None:
    """Give a file a second name, in place of what has that name now."""
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(os.path.realpath(source), target)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copy2(source, target)


def _publish(path: Path, staged: Path) -> None:
    """Give a generation its number and let all names lead to it."""
    home = path / _GENERATIONS
    generation = home / f"{max([0, *_list_numbers(home)]) + 1:06d}"
    for folder in filter(Path.is_dir, (*(staged / name for name in _FOLDERS), staged)):
        flush_folder(folder)
    staged.rename(generation)
    names = _list_files(generation)
    # A new name leads nowhere yet, and so is not seen; one that is taken comes last, since its file has to stay.
    for name in names:
        if not os.path.lexists(path / name):
            (path / name).parent.mkdir(exist_ok=True)
            os.symlink(_link_of(name), path / name)
    _point(home / _CURRENT, generation.name)
    flush_folder(home)
    for name in names:
        if not _is_link(path, name):
            _point(path / name, _link_of(name))
    for folder in filter(Path.is_dir, (*(path / name for name in _FOLDERS), path)):
        flush_folder(folder)


def _point(link: Path, target: str) -> None:
    """Make a link, or replace what has its name, in one step."""
    made = link.with_name(f".{link.name}.link{PARTIAL}")
    made.unlink(missing_ok=True)
    os.symlink(target, made)
    made.replace(link)


def _drop_dangling(path: Path) -> None:
    """Take away the names of what the current generation does not have."""
    for name in list(_list_names(path)):
        if _is_link(path, name) and not (path / name).exists():
            (path / name).unlink()


def _list_numbers(home: Path) -> list[int]:
    return [int(entry.name) for entry in home.iterdir() if re.fullmatch(r"\d{6,}", entry.name)]


def _sweep(path: Path) -> None:
    """Remove what killed writers left: with the lock held, none of them lives."""
    home = path / _GENERATIONS
    shutil.rmtree(home / _STAGED, ignore_errors=True)
    sweep_partials(path)
    _drop_dangling(path)
    _sweep_generations(home)


def _sweep_generations(home: Path) -> None:
    """Remove all generations but the current one; without one, somebody has to see first which counts."""
    current = _find_current(home)
    for number in _list_numbers(home) if current else []:
        generation = home / f"{number:06d}"
        if generation != current:
            shutil.rmtree(generation, ignore_errors=True)
