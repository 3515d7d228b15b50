"""Settings as TOML with every value's meaning beside it, and the digest that names a set of settings."""

import hashlib
import json
from collections.abc import Collection, Mapping
from enum import Enum

from tmapr.config.settings import Settings
from tmapr.config.tree import as_tree

_COLUMN = 44


def dump_toml(settings: Settings, only: Mapping[str, Collection[str]] | None = None) -> str:
    """Every setting, or those of some sections, with value, unit and meaning; reading it back gives the same ones.

    A section within one is named by its path, as `tracking.gates`.
    """
    if only is None:
        lines = _section(settings, ())
    else:
        parts = [_section(*_find(settings, tuple(name.split("."))), keys) for name, keys in only.items()]
        lines = [line for part in parts for line in ("", *part)]
    return "\n".join(lines).strip() + "\n"


def settings_digest(settings: Settings) -> str:
    """SHA-256 of the settings, whatever order or file they came from."""
    return tree_digest(as_tree(settings))


def tree_digest(tree: Mapping[str, object]) -> str:
    """SHA-256 of settings as a tree."""
    return hashlib.sha256(json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _find(settings: Settings, path: tuple[str, ...]) -> tuple[Settings, tuple[str, ...]]:
    """The section at the end of the path, and the path."""
    for name in path:
        settings = settings.__dict__[name]
    return settings, path


def _section(settings: Settings, path: tuple[str, ...], only: Collection[str] | None = None) -> list[str]:
    # TOML puts a table's own keys before its sub-tables, so values come first and sections after.
    lines, sections = [], []
    for name, field in type(settings).model_fields.items():
        if only is not None and name not in only:
            continue
        value = settings.__dict__[name]
        if isinstance(value, Settings):
            sections += _section(value, path) if name == settings.unnamed else ["", *_section(value, (*path, name))]
            continue
        entry = f"# {name} =" if value is None else f"{name} = {format_value(value)}"
        lines.append(f"{entry:<{_COLUMN}} # {field.description}" if field.description else entry)
    header = [f"[{'.'.join(path)}]"] if path and lines else []
    return [*header, *lines, *sections]


def format_value(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return json.dumps(value.value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Settings):
        return format_value({key: item for key, item in value.__dict__.items() if item is not None})
    if isinstance(value, tuple | list):
        return f"[{', '.join(format_value(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{format_value(key)} = {format_value(item)}' for key, item in value.items())}}}"
    return repr(value)
