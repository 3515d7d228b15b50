"""From a TOML file and `--set` overrides to settings, with one clear line for every mistake."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tmapr.config.settings import Settings
from tmapr.exceptions import InputError

Model = TypeVar("Model", bound=Settings)
_INCLUDE = "include"
_BARE_WORD = re.compile(r"[A-Za-z_~./][^\s\"'\[\]{}#=,]*")


def load_settings(model: type[Model], path: Path | None = None, overrides: Iterable[str] = ()) -> Model:
    """Read `path` (or take the defaults) and apply overrides of the form `section.key=value`.

    `include = ["FILE", …]` at the top of the file takes settings from other files, named relative to it; later files
    win over earlier ones, and what the file says itself over all of them.
    """
    tree = _included(path) if path else {}
    for override in overrides:
        _apply(tree, override)
    try:
        # By way of JSON, where a list may become a tuple although types are strict.
        return model.model_validate_json(json.dumps(tree, default=str))
    except ValidationError as error:
        line = f"{path or 'settings'}: {_explain(model, error.errors()[0])}"
        raise InputError(" ".join(line.split())) from None


def _included(path: Path) -> dict[str, Any]:
    own = _read(path)
    names = own.pop(_INCLUDE, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: {_INCLUDE} must be a list of files, got {_short(names)}")
    tree: dict[str, Any] = {}
    for name in names:
        file = path.parent / name
        further = _read(file)
        # One level is enough for a calibration, and no circle can arise.
        if _INCLUDE in further:
            raise InputError(f"{file}: is included by {path} and so must not include others itself")
        _merge(tree, further)
    _merge(tree, own)
    return tree


def _merge(tree: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        below = tree.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            _merge(below, value)
        else:
            tree[key] = value


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such experiment file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; name the experiment's TOML file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None


def _apply(tree: dict[str, Any], override: str) -> None:
    dotted, separator, text = override.partition("=")
    if "\n" in override:
        raise InputError(f"--set {' '.join(override.split())}: give one setting per --set, on one line")
    keys = [key.strip() for key in dotted.split(".")]
    if not separator or not all(keys):
        raise InputError(f"--set {override}: write it as section.key=value")
    node = tree
    for key in keys[:-1]:
        node = node.setdefault(key, {})
        if not isinstance(node, dict):
            raise InputError(f"--set {override}: {key} is a value, not a section")
    node[keys[-1]] = _value(text.strip(), override)


def _value(text: str, override: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        # A shell eats the quotes of a TOML string, so a bare word stands for itself.
        if _BARE_WORD.fullmatch(text):
            return text
        raise InputError(f"--set {override}: {text or 'nothing'} is not a TOML value") from None


def _explain(model: type[Settings], error: ErrorDetails) -> str:
    path = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = _fields(model, error["loc"][:-1])
        close = difflib.get_close_matches(str(error["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"
        return f"{path}: unknown setting; {hint}"
    if error["type"] == "missing":
        return f"{path}: is required"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{path}: {message}, got {_short(error['input'])}"


def _fields(model: type[Settings], location: Iterable[int | str]) -> list[str]:
    """The names allowed at a place in the tree of settings."""
    for key in location:
        field = model.model_fields.get(str(key))
        annotation = field.annotation if field else None
        choices = (annotation, *get_args(annotation))
        nested = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, Settings)]
        if not nested:
            return []
        model = nested[0]
    return list(model.model_fields)


def _short(value: object) -> str:
    if isinstance(value, Mapping):
        return "a section"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
