"""Settings as the tree of keys that a file writes, and back; the one way to change them.

Settings are validated as a whole whenever they are made, from a file, by `--set` or by a program: a misspelt key or a
value out of range is refused wherever it comes from.
"""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tmapr.config.settings import Settings
from tmapr.exceptions import InputError

AnySettings = TypeVar("AnySettings", bound=Settings)
Tree = dict[str, Any]


def as_tree(settings: Settings) -> Tree:
    """Every setting as JSON has it, by section and key."""
    tree = settings.model_dump(mode="json")
    return tree if settings.unnamed is None else tree | tree.pop(settings.unnamed)


def changed(settings: AnySettings, values: Mapping[str, object]) -> AnySettings:
    """The settings with others at some paths, as in `changed(system, {"fusion.velocity_noise": 3.0})`."""
    tree = as_tree(settings)
    for path, value in values.items():
        put(tree, path.split("."), as_tree(value) if isinstance(value, Settings) else value, path)
    return from_tree(type(settings), tree, "settings")


def filled(settings: AnySettings, values: Mapping[str, object]) -> AnySettings:
    """The settings with these in the places that are 0: what a user left to the reference."""
    tree = as_tree(settings)
    return changed(settings, {key: value for key, value in values.items() if tree[key] == 0})


def put(tree: Tree, keys: Sequence[str], value: object, where: str) -> None:
    """Set the value at the end of the keys; `where` names it in a refusal."""
    node = tree
    for key in keys[:-1]:
        node[key] = {} if node.get(key) is None else node[key]
        node = node[key]
        if not isinstance(node, dict):
            raise InputError(f"{where}: {key} is a value, not a section")
    node[keys[-1]] = value


def from_tree(model: type[AnySettings], tree: Tree, where: str) -> AnySettings:
    """Validated settings, or one line that names the place, the value and what is allowed."""
    if model.unnamed in tree:
        raise InputError(f"{where}: {_explain_unknown(model, (model.unnamed,))}")
    try:
        # By way of JSON, where a list may become a tuple although types are strict.
        return model.model_validate_json(json.dumps(_fold(model, tree), default=str))
    except ValidationError as error:
        raise InputError(" ".join(f"{where}: {_explain(model, error.errors()[0])}".split())) from None


def _fold(model: type[Settings], tree: Tree) -> Tree:
    """The tree with the keys of the unnamed section inside that section."""
    inner = _unnamed_section(model)
    if model.unnamed is None or inner is None:
        return tree
    inside = {key: value for key, value in tree.items() if key in inner.model_fields}
    return {key: value for key, value in tree.items() if key not in inside} | {model.unnamed: inside}


def _explain(model: type[Settings], error: ErrorDetails) -> str:
    location = error["loc"][1:] if error["loc"][:1] == (model.unnamed,) else error["loc"]
    path = ".".join(str(part) for part in location)
    if error["type"] == "extra_forbidden":
        return _explain_unknown(model, location)
    if error["type"] == "missing":
        return f"{path}: is required"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{path}: {message}, got {shorten(error['input'])}"


def _explain_unknown(model: type[Settings], location: Sequence[int | str]) -> str:
    known = _list_keys(model, location[:-1])
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"
    return f"{'.'.join(map(str, location))}: unknown setting; {hint}"


def _list_keys(model: type[Settings], location: Iterable[int | str]) -> list[str]:
    """The names that a file may write at a place in the tree."""
    for key in location:
        inner = _unnamed_section(model)
        nested = _section(model, str(key)) or (_section(inner, str(key)) if inner else None)
        if nested is None:
            return []
        model = nested
    inner = _unnamed_section(model)
    return [key for key in model.model_fields if key != model.unnamed] + (list(inner.model_fields) if inner else [])


def _unnamed_section(model: type[Settings]) -> type[Settings] | None:
    return _section(model, model.unnamed) if model.unnamed else None


def _section(model: type[Settings], key: str) -> type[Settings] | None:
    field = model.model_fields.get(key)
    annotation = field.annotation if field else None
    choices = (annotation, *get_args(annotation))
    return next((each for each in choices if isinstance(each, type) and issubclass(each, Settings)), None)


def shorten(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, Mapping):
        return "a section"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def changed_since(dump: Mapping[str, Any], now: Settings, section: str, where: str, way_out: str) -> list[str]:
    """What differs from the settings that a file was made with; one that a later version added had its default.

    By value, not by digest, which would change with every setting that is added.
    """
    try:
        then = type(now).model_validate_json(json.dumps(dict(dump)))
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InputError(f"{where}: this version does not know its {section}.{name}; {way_out}") from None
    return differences(then.model_dump(mode="json"), now.model_dump(mode="json"), section)


def differences(old: object, new: object, path: str) -> list[str]:
    """One entry for each value that differs, named by its place in the tree."""
    if isinstance(old, dict) and isinstance(new, dict):
        # A table of free keys, such as a plug-in's options, may have lost or gained some.
        keys = [*new, *(key for key in old if key not in new)]
        return [line for key in keys for line in differences(old.get(key), new.get(key), f"{path}.{key}")]
    return [] if old == new else [f"{path} = {old} (now {new})"]
