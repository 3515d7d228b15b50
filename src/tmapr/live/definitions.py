"""Messages as rosbags has them: instances of the types of one ROS release, ready to be serialized."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tmapr.exceptions import InputError
from tmapr.live.messages import Message
from tmapr.types import NANOSECONDS

_TIME = "builtin_interfaces/msg/Time"
_SECONDS = {1: range(2**32), 2: range(-(2**31), 2**31)}
"""What a `Time` can hold, by the version of ROS."""
_TRANSFORMS = "tf2_msgs/msg/TFMessage"


@cache
def load_types(release: str) -> Any:
    """The types of a release, by the name of rosbags' store, as in ROS2_JAZZY; completed where one of ours is missing.

    To make them takes a second, so that it is done once.
    """
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as error:
        raise InputError(f"ROS messages need rosbags 0.11 ({error}); pip install 'tmapr[bags]'") from None
    if release not in Stores.__members__:
        known = ", ".join(name for name in Stores.__members__ if name.startswith("ROS"))
        raise InputError(f"{release!r} is no release of ROS whose messages are known; known are {known}")
    types = get_typestore(Stores[release])
    if _TRANSFORMS not in types.types:
        types.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms\n", _TRANSFORMS))
    return types


def to_rosbags(message: Message, typestore: Any) -> Any:
    """The message as an instance of its type in a release's types, for `serialize_cdr` or `serialize_ros1`."""
    return _fill(message.type, message.value, typestore)


def _fill(name: str, value: Mapping[str, Any] | int, types: Any) -> Any:
    if name == _TIME:
        return _make_time(value, types)
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is filled by its fields, got {value!r}")
    fields = types.get_msgdef(name).fields
    given = {"seq": 0, **value} if name == "std_msgs/msg/Header" and fields[0][0] == "seq" else value
    if set(given) != {field for field, _ in fields}:
        raise ValueError(f"{name} has {', '.join(field for field, _ in fields)}, given are {', '.join(given)}")
    return types.types[name](**{field: _fill_field(kind, given[field], types) for field, kind in fields})


def _fill_field(kind: Any, value: Any, types: Any) -> Any:
    """A kind is (what it is, its name or what it is a list of), as rosbags writes definitions."""
    node, content = kind
    if node.name == "NAME":
        return _fill(content, value, types)
    if node.name == "BASE":
        return value
    (inner, element), _ = content
    if inner.name == "NAME":
        return [_fill(element, each, types) for each in value]
    base = element[0]
    return list(value) if base == "string" else np.asarray(value, dtype=_DTYPES.get(base, base))


_DTYPES = {"byte": "uint8", "char": "uint8"}


def _make_time(stamp: Any, types: Any) -> Any:
    seconds, nanoseconds = divmod(stamp, NANOSECONDS)
    version = 1 if types.get_msgdef("std_msgs/msg/Header").fields[0][0] == "seq" else 2
    held = _SECONDS[version]
    if seconds not in held:
        raise InputError(f"stamp {stamp}: ROS {version} counts {held.start} to {held.stop - 1} s since 1970, no others")
    return types.types[_TIME](sec=seconds, nanosec=nanoseconds)
