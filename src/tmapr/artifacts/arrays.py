"""`.npz` files that describe themselves: a header {kind, version, made_by, settings} and plain arrays, no pickle.

Members are stored uncompressed and start on 64-byte boundaries, so that a large array can be memory-mapped out
of the file. Writing is deterministic: the same arrays give the same bytes.
"""

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np

from tmapr.artifacts.atomic import replacing
from tmapr.exceptions import InputError
from tmapr.files import ARRAYS_BYTES, DOCUMENT_BYTES, open_regular

Arrays = Mapping[str, np.ndarray]
Value = TypeVar("Value")

_HEADER = "header"
_ALIGNMENT = 64
_LOCAL_HEADER = 30
_ZIP64_EXTRA = 20
_PADDING_TAG = 0x5450
_CHUNK = 1 << 20
_MOST_MEMBERS = 1000


_FIELDS = {"kind": str, "version": int, "made_by": str, "settings": str, "notes": dict, "arrays": list}


@dataclass(frozen=True, slots=True)
class Header:
    """What a file is. `settings` is the digest of the settings that made it; `notes` is free JSON."""

    kind: str
    version: int
    settings: str
    notes: Mapping[str, Any]
    made_by: str = ""


def save_arrays(path: Path, header: Header, arrays: Arrays, retiring: Path | None = None) -> None:
    """Write atomically and flushed: after a kill the old or the new file is there, whole."""
    described = {
        "kind": header.kind,
        "version": header.version,
        "made_by": f"tmapr {package_version('tmapr')}",
        "settings": header.settings,
        "notes": header.notes,
        "arrays": list(arrays),
    }
    with replacing(path, retiring) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        _write(archive, stream, _HEADER, np.array(json.dumps(described, sort_keys=True)))
        for name, array in arrays.items():
            _write(archive, stream, name, np.asarray(array))


def load_arrays(
    path: Path, kind: str, version: int, *, mapped: frozenset[str] = frozenset()
) -> tuple[Header, dict[str, np.ndarray]]:
    """Read a file of one kind and version; arrays in `mapped` stay on disk, read-only."""
    try:
        with open_regular(path, ARRAYS_BYTES) as stream, zipfile.ZipFile(stream) as archive:
            _refuse_members(archive, path)
            header, names = _read_header(archive, path)
            if header.kind != kind:
                raise InputError(f"{path}: holds {header.kind!r}, not {kind!r}; is it the right file?")
            if header.version != version:
                raise InputError(
                    f"{path}: {kind} version {header.version}, this program reads version {version};"
                    f" make it again (it was made by {header.made_by})"
                )
            return header, {
                name: _map(stream, archive, name) if name in mapped else _read(archive, name) for name in names
            }
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (InputError, MemoryError):  # a good file is not to be made again because this machine is small
        raise
    except Exception as error:  # a damaged or hostile file makes zipfile and NumPy raise nearly anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: is damaged or not one of our files ({reason}); make it again") from None


def take(arrays: Arrays, prefix: str) -> dict[str, np.ndarray]:
    """The arrays of one owner, without its prefix."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def put(prefix: str, arrays: Mapping[str, Value]) -> dict[str, Value]:
    """The arrays of one owner, or what is said of them, under its prefix."""
    return {prefix + name: array for name, array in arrays.items()}


def digest(arrays: Arrays) -> str:
    """SHA-256 over names, shapes, types and bytes: two files with it equal hold the same arrays."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {np.shape(arrays[name])}".encode())
        total.update(array.view(np.uint8).data if array.size else b"")
    return total.hexdigest()


def _write(archive: zipfile.ZipFile, stream: IO[bytes], name: str, array: np.ndarray) -> None:
    member = zipfile.ZipInfo(f"{name}.npy")  # its fixed date of 1980 keeps the bytes reproducible
    start = stream.tell() + _LOCAL_HEADER + len(member.filename.encode()) + _ZIP64_EXTRA + 4
    padding = -start % _ALIGNMENT
    member.extra = _PADDING_TAG.to_bytes(2, "little") + padding.to_bytes(2, "little") + bytes(padding)
    with archive.open(member, "w", force_zip64=True) as target:
        np.lib.format.write_array(target, array, allow_pickle=False)


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as source:
        _read_shape(cast(zipfile.ZipExtFile, source), archive.getinfo(f"{name}.npy").file_size)
        source.seek(0)
        array: np.ndarray = np.lib.format.read_array(source, allow_pickle=False)
        source.read()  # reaching the end makes zipfile compare the checksum
        return array


def _read_shape(
    source: zipfile.ZipExtFile | io.BufferedReader, size: int
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """What the head of a member of so many bytes says; others than follow it would be asked for in vain."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, fortran, dtype = readers[np.lib.format.read_magic(source)](source)
    asked, held = math.prod(shape) * dtype.itemsize, size - source.tell()
    if dtype.hasobject:
        raise ValueError("it holds objects, and pickles are never read")
    if not dtype.itemsize or min(shape, default=0) < 0 or asked != held:
        raise ValueError(f"{dtype} of shape {shape} in {held} bytes")
    return shape, fortran, dtype


def _refuse_members(archive: zipfile.ZipFile, path: Path) -> None:
    """What is uncompressed and does not overlap takes no more memory than the file has bytes."""
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise InputError(f"{path}: is compressed; write it with numpy.savez, or make it again")
    total, size = sum(member.file_size for member in members), path.stat().st_size
    if len(members) > _MOST_MEMBERS or total > size:
        raise InputError(f"{path}: claims {len(members)} arrays with {total} bytes in {size}; make it again")


def _map(stream: io.BufferedReader, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """The member as a view of the file, after one pass over it that compares its checksum."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as source:
        while source.read(_CHUNK):
            pass
    stream.seek(member.header_offset)
    local = stream.read(_LOCAL_HEADER)
    lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    start = member.header_offset + _LOCAL_HEADER + lengths
    stream.seek(start)
    shape, fortran, dtype = _read_shape(stream, start + member.file_size)
    # Of the open file, not of its name: that may have been given to another one meanwhile.
    return np.memmap(stream, dtype, mode="r", offset=stream.tell(), shape=shape, order="F" if fortran else "C")


def _read_header(archive: zipfile.ZipFile, path: Path) -> tuple[Header, list[str]]:
    if f"{_HEADER}.npy" not in archive.namelist():
        raise InputError(f"{path}: has no header, so it is not one of our files")
    if archive.getinfo(f"{_HEADER}.npy").file_size > DOCUMENT_BYTES:
        raise ValueError("its header is too long")
    fields = json.loads(str(_read(archive, _HEADER)))
    for name, kind in _FIELDS.items():
        if type(fields[name]) is not kind:
            raise ValueError(f"its {name} is {json.dumps(fields[name])[:40]}")
    header = Header(fields["kind"], fields["version"], fields["settings"], fields["notes"], fields["made_by"])
    return header, [str(name) for name in fields["arrays"]]
