"""Settings that a file was made with against those of today, for the message that refuses one of them."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tmapr.config.settings import Settings
from tmapr.exceptions import InputError


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
        return [line for key in new for line in differences(old[key], new[key], f"{path}.{key}")]
    return [] if old == new else [f"{path} = {old} (now {new})"]
