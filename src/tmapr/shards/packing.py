"""Arrays as one object that can be memory-mapped: a fixed head, a JSON that says where they lie, and their bytes.

    8 bytes TMAPRSHD · version (32 bits) · length of the JSON (32 bits) · JSON · each array on a 64-byte boundary

All numbers are little-endian. The same arrays give the same bytes; nothing that is read is executed, and no size is
believed that the file does not have.
"""

import io
import json
import math
import re
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.documents import Document
from tmapr.exceptions import InputError
from tmapr.files import open_regular

_MAGIC, _VERSION = b"TMAPRSHD", 1
_HEAD = struct.Struct("<8sII")
_ALIGNMENT = 64
_MOST_JSON = 1 << 20
_TYPES = re.compile(r"(<[fiu][248]|\|[iu]1|<U[0-9]{1,4})\Z")


class _Place(Document):
    """Where an array lies in its object."""

    type: str
    shape: tuple[int, ...] = Field(max_length=4)
    offset: int = Field(ge=0, multiple_of=_ALIGNMENT)

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.type).itemsize


_PLACES = TypeAdapter(dict[str, _Place])


def pack(arrays: Arrays) -> bytes:
    """The object that holds these arrays, in this order."""
    plain = {name: _make_plain(array) for name, array in arrays.items()}
    text = _describe(plain, 0)
    # Offsets are counted from where the arrays begin, so that their digits do not move it.
    body = io.BytesIO()
    for array in plain.values():
        body.write(bytes(-body.tell() % _ALIGNMENT))
        body.write(array.tobytes())
    head = _HEAD.pack(_MAGIC, _VERSION, len(text)) + text
    return head + bytes(-len(head) % _ALIGNMENT) + body.getvalue()


def _make_plain(array: np.ndarray) -> np.ndarray:
    """Little-endian, as NumPy writes rows."""
    plain = np.asarray(array)
    return np.ascontiguousarray(plain, dtype=plain.dtype.newbyteorder("<")).reshape(plain.shape)


def _describe(arrays: Mapping[str, np.ndarray], begin: int) -> bytes:
    places, offset = {}, begin
    for name, array in arrays.items():
        offset += -offset % _ALIGNMENT
        if not _TYPES.match(array.dtype.str):
            raise ValueError(f"{name} is {array.dtype}, which no shard holds")
        places[name] = {"type": array.dtype.str, "shape": array.shape, "offset": offset}
        offset += array.nbytes
    return json.dumps(places, separators=(",", ":")).encode()


def open_packed(path: Path, size: int) -> dict[str, np.ndarray]:
    """The arrays of an object of so many bytes, memory-mapped and read-only."""
    try:
        with open_regular(path) as stream:
            whole = np.memmap(stream, np.uint8, mode="r")
        # As a plain array: a memmap costs a microsecond for each of its parts.
        return _cut(whole.view(np.ndarray), size)
    except FileNotFoundError:
        raise InputError(f"{path}: no such object; pull the map again") from None
    except (OSError, ValueError, ValidationError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: is damaged or no object of a map ({reason}); remove it and pull again") from None


def _cut(whole: np.ndarray, size: int) -> dict[str, np.ndarray]:
    if len(whole) != size or size < _HEAD.size:
        raise ValueError(f"it has {len(whole)} bytes, the manifest says {size}")
    magic, version, length = _HEAD.unpack(whole[: _HEAD.size].tobytes())
    if magic != _MAGIC or version != _VERSION:
        raise ValueError(f"it begins with {magic!r}, version {version}")
    begin = _HEAD.size + length
    begin += -begin % _ALIGNMENT
    if length > _MOST_JSON or begin > size:
        raise ValueError(f"its description has {length} bytes")
    places = _PLACES.validate_json(whole[_HEAD.size : _HEAD.size + length].tobytes())
    arrays, end = {}, 0
    for name, place in places.items():
        if not _TYPES.match(place.type) or min(place.shape, default=0) < 0 or place.offset < end:
            raise ValueError(f"{name[:40]} is {place.type[:20]} of shape {place.shape} at {place.offset}")
        end = place.offset + place.bytes
        if begin + end > size:
            raise ValueError(f"{name[:40]} ends beyond it")
        part = whole[begin + place.offset : begin + end]
        arrays[name] = part.view(np.dtype(place.type)).reshape(place.shape)
    return arrays
