"""Paths that settings name: in a file relative to the file's folder, in memory relative to the working directory.

A path is joined to the folder and left to the system, which follows links; it is shortened only where that leads to the
same place. An absolute path is the same everywhere and stays as it is, unless it leads into the folder of the file.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tmapr.config.tree import Tree

ANY = "*"
"""In the path of a setting: every key of a section."""


def replace_paths(tree: Tree, settings: Iterable[str], change: Callable[[str, str], str]) -> None:
    """Change the texts at some settings, `data.sources.*` for a whole section, given their names and values."""
    for setting in settings:
        for node, keys in _find(tree, setting.split("."), ()):
            node[keys[-1]] = change(".".join(keys), node[keys[-1]])


def _find(tree: object, pattern: list[str], above: tuple[str, ...]) -> Iterator[tuple[Tree, tuple[str, ...]]]:
    """The sections and keys of texts that fit; what is of another kind is refused elsewhere."""
    if not isinstance(tree, dict):
        return
    for key in list(tree) if pattern[0] == ANY else [pattern[0]]:
        if len(pattern) > 1:
            yield from _find(tree.get(key), pattern[1:], (*above, key))
        elif isinstance(tree.get(key), str):
            yield tree, (*above, key)


def from_folder(value: str, folder: Path) -> str:
    """A path that a file in the folder names, from the working directory where it lies below that."""
    if os.path.isabs(value):
        return value
    path = _shorten(os.path.join(folder, value))
    here = os.path.join(os.getcwd(), "")
    return _keep_place(path, os.path.relpath(path)) if path.startswith(here) else path


def to_folder(path: str, folder: Path) -> str:
    """How a file in the folder names a path; where a link lies between, by the folder's own place."""
    if os.path.isabs(path) and not Path(path).is_relative_to(os.path.abspath(folder)):
        return path
    path, whole = path or ".", os.path.realpath(folder)
    candidates = (os.path.relpath(path, folder), os.path.relpath(path, whole))
    for candidate in candidates:
        if _is_same(os.path.join(folder, candidate), path):
            return candidate
    return os.path.relpath(os.path.realpath(path), whole)


def _shorten(path: str) -> str:
    return _keep_place(path, os.path.normpath(path))


def _keep_place(path: str, other: str) -> str:
    """The other path, if it is of the same place: `link/..` is not where the link is."""
    return other if _is_same(path, other) else path


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other)
    except (OSError, ValueError):  # no path at all; reading it says so
        return True
