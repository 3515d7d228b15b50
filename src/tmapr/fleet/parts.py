"""Files go to a fleet in parts and come from it in parts; each is checked by its name, and one that is here stays.

A file that is only half here goes on being filled; one whose bytes are not those of its name is never used.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tmapr.artifacts.atomic import flush_folder, naming
from tmapr.exceptions import InputError
from tmapr.files import open_regular
from tmapr.fleet.documents import PART_BYTES, Parted

AnyFile = TypeVar("AnyFile", bound=Parted)


def cut(path: Path) -> Iterator[bytes]:
    """A file's parts, in order."""
    with open_regular(path) as stream:
        while part := stream.read(PART_BYTES):
            yield part


def describe_file(kind: type[AnyFile], name: str, path: Path) -> AnyFile:
    """What a document says of a file."""
    whole, parts, size = hashlib.sha256(), [], 0
    for part in cut(path):
        whole.update(part)
        parts.append(name_part(part))
        size += len(part)
    return kind(name=name, bytes=size, sha256=whole.hexdigest(), parts=tuple(parts))


def name_part(part: bytes) -> str:
    """The SHA-256 of a part."""
    return hashlib.sha256(part).hexdigest()


def is_sound(path: Path, file: Parted) -> bool:
    """Whether a file is there and is what a document says of it."""
    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_size != file.bytes:
                return False
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    except OSError:
        return False


def fill(path: Path, file: Parted, fetch: Callable[[str, int], bytes], where: str) -> int:
    """Bring a file here part by part, those that are not here yet; how many bytes came.

    `fetch` gives a part of a name and a size. Whatever it gives is looked at before it is written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    came = 0
    with naming(path), os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as stream:
        for number, name in enumerate(file.parts):
            begin = number * PART_BYTES
            size = min(PART_BYTES, file.bytes - begin)
            stream.seek(begin)
            if name_part(stream.read(size)) == name:
                continue
            part = fetch(name, size)
            if len(part) != size or name_part(part) != name:
                raise InputError(f"{where}: the part {name[:12]} of {file.name} has another content; it is not used")
            stream.seek(begin)
            stream.write(part)
            came += size
        stream.truncate(file.bytes)
        stream.flush()
        os.fsync(stream.fileno())
    flush_folder(path.parent)
    if not is_sound(path, file):
        path.unlink()
        raise InputError(f"{where}: the parts of {file.name} do not make the file that is promised; it is not used")
    return came
