"""From a TOML file and `--set` overrides to settings, with one clear line for every mistake."""

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from tmapr.config.tree import AnySettings, Tree, from_tree, put, shorten
from tmapr.exceptions import InputError
from tmapr.files import SETTINGS_BYTES, read_text

_INCLUDE = "include"
_BARE_WORD = re.compile(r"[A-Za-z_~./][^\s\"'\[\]{}#=,]*")
_DEEPEST = 32
"""Sections within sections; ours go down three."""
# The parser takes time with the square of a dotted key's length, so that one is refused before it is parsed.
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]+[ \t]*\.[ \t]*){{{_DEEPEST}}}")


def load_settings(model: type[AnySettings], path: Path | None = None, overrides: Iterable[str] = ()) -> AnySettings:
    """Read `path` (or take the defaults) and apply overrides of the form `section.key=value`."""
    tree = read_tree(path) if path else {}
    override_tree(tree, overrides)
    return from_tree(model, tree, str(path or "settings"))


def read_tree(path: Path, place: Callable[[Tree, Path], None] = lambda *_: None) -> Tree:
    """What a file says. What each file says by itself goes through `place` first: its paths are relative to it.

    `include = ["FILE", …]` at the top of the file takes settings from other files, named relative to it; later files
    win over earlier ones, and what the file says itself over all of them.
    """
    own = _read(path)
    names = own.pop(_INCLUDE, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: {_INCLUDE} must be a list of files, got {shorten(names)}")
    tree: Tree = {}
    for name in names:
        file = path.parent / name
        further = _read(file)
        # One level is enough for a calibration, and no circle can arise.
        if _INCLUDE in further:
            raise InputError(f"{file}: is included by {path} and so must not include others itself")
        place(further, file)
        _merge(tree, further)
    place(own, path)
    _merge(tree, own)
    return tree


def override_tree(tree: Tree, overrides: Iterable[str]) -> None:
    """Apply overrides of the form `section.key=value`."""
    for override in overrides:
        _apply(tree, override)


def _merge(tree: Tree, over: Tree) -> None:
    for key, value in over.items():
        below = tree.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            _merge(below, value)
        else:
            tree[key] = value


def _read(path: Path) -> Tree:
    try:
        return _parse_toml(read_text(path, SETTINGS_BYTES))
    except FileNotFoundError:
        raise InputError(f"{path}: no such experiment file; `tmapr init RECORDING` writes one") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; name the experiment's TOML file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None
    except ValueError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None


def _parse_toml(text: str) -> Tree:
    """The tree of a text; ValueError says what is wrong with it, or which bound it exceeds."""
    if _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {_DEEPEST} parts")
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"its values are nested more than {_DEEPEST} deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python counts the digits of an integer before it spends an hour on them
        raise ValueError("a number has more than 64 bits") from None
    level: list[object] = [tree]
    for _ in range(_DEEPEST + 1):
        inner = [each for value in level for each in _list_inside(value)]
        if any(isinstance(each, int) and abs(each) >= 2**63 for each in inner):
            raise ValueError("a number has more than 64 bits")
        level = inner
    if level:
        raise ValueError(f"its values are nested more than {_DEEPEST} deep")
    return tree


def _list_inside(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _apply(tree: Tree, override: str) -> None:
    dotted, separator, text = override.partition("=")
    if "\n" in override:
        raise InputError(f"--set {' '.join(override.split())}: give one setting per --set, on one line")
    keys = [key.strip() for key in dotted.split(".")]
    if not separator or not all(keys):
        raise InputError(f"--set {override}: write it as section.key=value")
    put(tree, keys, _parse(text.strip(), override), f"--set {override}")


def _parse(text: str, override: str) -> object:
    try:
        return _parse_toml(f"value = {text}")["value"]
    except ValueError:
        # A shell eats the quotes of a TOML string, so a bare word stands for itself.
        if _BARE_WORD.fullmatch(text):
            return text
        raise InputError(f"--set {override}: {text or 'nothing'} is not a TOML value") from None
