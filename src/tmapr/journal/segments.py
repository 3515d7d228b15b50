"""A segment of a journal: a file with a header and records, to which records are appended and nothing else is done.

    "TMAPRJNL"  version  length  checksum  {map, settings, width, last, lessons, made_by}
    "LR"  kind  length  checksum of the payload  checksum of this head    payload

A kill leaves a beginning of what was being written: a head that is cut off, or a whole one whose payload is. A power
cut may leave zeros, or a last payload that never came. Those are torn tails; anything else that does not fit is damage.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from typing import IO

from tmapr.artifacts.documents import Document
from tmapr.exceptions import InputError
from tmapr.files import open_regular
from tmapr.journal.records import LONGEST, WIDEST, Kind

MAGIC, VERSION = b"TMAPRJNL", 1
SEGMENT_BYTES = 1 << 30
_TOP = struct.Struct("<8sHII")
_MOST_TOP = 1 << 16
_MARKER = b"LR"
_HEAD = struct.Struct("<2sBxII")
_CHECK = struct.Struct("<I")
HEAD_BYTES = _HEAD.size + _CHECK.size
WAY_OUT = "move the folder away to go on from state.npz without it"


@dataclass(frozen=True, slots=True)
class Header:
    """What a segment belongs to: a map, settings of places, and what was learned before its first record."""

    map: str
    settings: str
    width: int
    last: bytes
    """The ledger's hash before the first record."""
    lessons: int
    """In the state before the first record."""


class _HeaderNotes(Document):
    map: str
    settings: str
    width: int
    last: str
    lessons: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A record as it lies in its file."""

    kind: Kind
    start: int
    payload: bytes

    @property
    def stop(self) -> int:
        """Where the next one begins."""
        return self.start + HEAD_BYTES + len(self.payload)


class TornError(Exception):
    """A tail that a kill or a power cut left; whole records end at `end`."""

    def __init__(self, end: int) -> None:
        super().__init__(f"whole up to byte {end}")
        self.end = end


def pack_header(header: Header) -> bytes:
    """The beginning of a file."""
    told = asdict(header) | {"last": header.last.hex(), "made_by": f"tmapr {package_version('tmapr')}"}
    text = json.dumps(told, sort_keys=True).encode()
    return _TOP.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text


def read_header(stream: IO[bytes], path: Path) -> Header:
    """What a file says of itself; the stream is at its first record then."""
    top = stream.read(_TOP.size)
    if len(top) < _TOP.size or not top.startswith(MAGIC):
        raise InputError(f"{path}: is no journal; {WAY_OUT}")
    _, version, length, checksum = _TOP.unpack(top)
    if version != VERSION:
        raise InputError(f"{path}: journal version {version}, this program reads version {VERSION}; {WAY_OUT}")
    text = stream.read(min(length, _MOST_TOP))
    try:
        if len(text) != length or zlib.crc32(text) != checksum:
            raise ValueError("its checksum is another one")
        notes = _HeaderNotes.from_notes(path, json.loads(text))
        last = bytes.fromhex(notes.last)
        if len(last) != 8 or not 0 < notes.width <= WIDEST or notes.lessons < 0:
            raise ValueError(f"width {notes.width}, last {notes.last[:40]!r}")
    except (ValueError, RecursionError, InputError) as error:
        raise InputError(f"{path}: its header is damaged ({error}); {WAY_OUT}") from None
    return Header(notes.map, notes.settings, notes.width, last, notes.lessons)


def pack_frame(kind: Kind, payload: bytes) -> bytes:
    """A record as it is appended."""
    head = _HEAD.pack(_MARKER, kind, len(payload), zlib.crc32(payload))
    return head + _CHECK.pack(zlib.crc32(head)) + payload


def scan(path: Path, header: Header | None = None) -> Iterator[Frame]:
    """The records of a file in their order; TornError behind the last whole one, InputError where it is damaged."""
    with open_regular(path, SEGMENT_BYTES) as stream:
        found = read_header(stream, path)
        if header is not None and found != header:
            raise InputError(f"{path}: changed while it was read; try again")
        while frame := _read_frame(stream, path):
            yield frame


def read_frame_at(path: Path, start: int) -> Frame:
    """One record that `scan` found."""
    with open_regular(path, SEGMENT_BYTES) as stream:
        stream.seek(start)
        frame = _read_frame(stream, path)
    if frame is None:
        raise InputError(f"{path}: is shorter than it was; try again")
    return frame


def _read_frame(stream: IO[bytes], path: Path) -> Frame | None:
    start = stream.tell()
    head = stream.read(HEAD_BYTES)
    if not head:
        return None
    if len(head) < HEAD_BYTES:
        raise TornError(start)
    marker, kind, length, checksum = _HEAD.unpack_from(head)
    (check,) = _CHECK.unpack_from(head, _HEAD.size)
    if marker != _MARKER or zlib.crc32(head[: _HEAD.size]) != check or length > LONGEST or kind not in set(Kind):
        if not any(head) and _ends_in_zeros(stream):
            raise TornError(start)
        raise InputError(f"{path}: is damaged at byte {start}; {WAY_OUT}")
    payload = stream.read(length)
    if len(payload) < length:
        raise TornError(start)
    if zlib.crc32(payload) != checksum:
        if _ends_in_zeros(stream):
            raise TornError(start)
        raise InputError(f"{path}: is damaged at byte {start}; {WAY_OUT}")
    return Frame(Kind(kind), start, payload)


def _ends_in_zeros(stream: IO[bytes]) -> bool:
    """Whether nothing, or nothing but zeros, follows."""
    while rest := stream.read(1 << 16):
        if any(rest):
            return False
    return True
