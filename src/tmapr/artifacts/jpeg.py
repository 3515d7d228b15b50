"""Whether a JPEG is whole: its segments are followed, and every code of its scans is.

A decoder fills what is missing of a scan with gray. Baseline and progressive files with Huffman codes are known, which
is what cameras write; all optional segments but those that say what colours mean are left out of what is decoded.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, UInt16

_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])")
"""Inside a scan FF 00 stands for the byte FF and FF D0…D7 restart the decoder: no other FF is data."""
_RESTART = re.compile(rb"\xff+[\xd0-\xd7]")
_SEQUENTIAL, _PROGRESSIVE = (0xC0, 0xC1), 0xC2
_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_CODES, _SCAN, _END, _INTERVAL, _LINES = 0xC4, 0xDA, 0xD9, 0xDD, 0xDC
_KEPT = {_CODES, 0xDB, _INTERVAL, 0xE0, 0xEE, *_FRAMES}
_MOST_SCANS = 32
"""Encoders write ten; each of them is decoded over the whole picture."""
_LAST = 63
"""Coefficients of a block, but for the first."""


class JpegSize(NamedTuple):
    """What its frame header tells: pixels, and channels of 8 bits."""

    height: int
    width: int
    channels: int


_NO_SIZE = JpegSize(0, 0, 0)


class _Component(NamedTuple):
    across: int
    down: int


class _Scan(NamedTuple):
    """Its channels; the tables of each block; coefficients from `first` to `last`, perhaps again, down to a bit."""

    names: tuple[int, ...]
    dc: list[int]
    ac: list[int]
    first: int
    last: int
    again: bool
    bit: int


@dataclass(slots=True)
class _Picture:
    """What the segments before a scan say of it."""

    kind: int = 0
    size: JpegSize = _NO_SIZE
    components: dict[int, _Component] = field(default_factory=dict)
    codes: UInt16[np.ndarray, "tables 65536"] = field(default_factory=lambda: np.zeros((8, 1 << 16), np.uint16))
    interval: int = 0
    nonzero: dict[int, Bool[np.ndarray, "blocks 64"]] = field(default_factory=dict)
    missing: dict[int, list[int]] = field(default_factory=dict)
    """Lowest bits that are not there yet, of every coefficient of each channel."""


def read_jpeg_size(data: bytes) -> JpegSize:
    """The size that the frame header tells; ValueError or struct.error where there is none before the scan."""
    for marker, body, _ in _split(data):
        if marker in _FRAMES:
            return _read_frame(body)
    raise ValueError("there is no frame header")


def prove_jpeg(data: bytes) -> bytes:
    """What to decode of a whole JPEG; anything missing, or damaged so that it shows, is a ValueError or alike."""
    picture, kept, scans = _Picture(), [data[:2]], 0
    for marker, body, scan in _split(data):
        if marker in _FRAMES:
            _begin(picture, marker, body)
        elif marker == _CODES:
            _read_codes(picture, body)
        elif marker == _INTERVAL:
            (picture.interval,) = struct.unpack(">H", body)
        elif marker == _SCAN:
            scans += 1
            if scans > _MOST_SCANS:
                raise ValueError("it has too many scans")
            scan = _walk(picture, _read_scan(picture, body), scan)
        if marker in _KEPT or marker == _SCAN:
            kept.append(b"\xff" + bytes([marker]) + struct.pack(">H", len(body) + 2) + body + scan)
    if not scans or any(map(any, picture.missing.values())):
        raise ValueError("a scan is missing")
    return b"".join([*kept, b"\xff\xd9"])


def _split(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Each segment's marker and content and, after that of a scan, its codes; up to the end marker.

    A search for that would stop at the end of an embedded thumbnail.
    """
    at = 2
    while True:
        found = _MARKER.match(data, at)
        if found is None:
            raise ValueError("a marker is missing")
        marker, at = found[1][0], found.end()
        if marker == _END:
            return
        if marker == _LINES:
            raise ValueError("its height comes after its pixels")
        (length,) = struct.unpack_from(">H", data, at)
        if length < 2 or at + length > len(data):
            raise ValueError("a segment is cut off")
        body, at, scan = data[at + 2 : at + length], at + length, b""
        if marker == _SCAN:
            following = _MARKER.search(data, at)
            if following is None:
                raise ValueError("a marker is missing")
            scan, at = data[at : following.start()], following.start()
        yield marker, body, scan


def _read_frame(body: bytes) -> JpegSize:
    bits, height, width, channels = struct.unpack_from(">BHHB", body)
    if bits != 8 or not height * width * channels:
        raise ValueError("it has no pixels of 8 bits")
    return JpegSize(height, width, channels)


def _begin(picture: _Picture, marker: int, body: bytes) -> None:
    if picture.kind or marker not in (*_SEQUENTIAL, _PROGRESSIVE):
        raise ValueError("it is neither baseline nor progressive")
    picture.kind, picture.size = marker, _read_frame(body)
    for name, factors, _ in struct.iter_unpack(">BBB", body[6:]):
        picture.components[name] = _Component(factors >> 4, factors & 15)
        picture.missing[name] = [1] * (_LAST + 1)
    if len(picture.components) != picture.size.channels or picture.size.channels > 4:
        raise ValueError("its channels do not fit")
    if not all(1 <= factor <= 4 for each in picture.components.values() for factor in each):
        raise ValueError("its channels have no size")


def _read_codes(picture: _Picture, body: bytes) -> None:
    """Huffman tables: how many codes have each length, and what they stand for."""
    while body:
        kind, counts = body[0], body[1:17]
        symbols = body[17 : 17 + sum(counts)]
        if kind & 0xEC or len(counts) < 16 or len(symbols) < sum(counts):
            raise ValueError("a table of codes is cut off")
        row = picture.codes[_find_table(kind >> 4, kind & 15)]
        row[:] = 0
        at, number = 0, 0
        for length, count in enumerate(counts, start=1):
            step = 1 << (16 - length)
            for _ in range(count):
                if at + step > len(row):
                    raise ValueError("there are more codes than bits")
                row[at : at + step] = length << 8 | symbols[number]
                at, number = at + step, number + 1
        body = body[17 + number :]


def _find_table(kind: int, number: int) -> int:
    """The row of a table of first coefficients (kind 0) or of others (1)."""
    if number > 3:
        raise ValueError("there are four tables of codes")
    return 4 * kind + number


def _walk(picture: _Picture, scan: _Scan, data: bytes) -> bytes:
    """Follow every code of a scan; between two restarts there must be as many blocks as were announced.

    What follows the last code is left out of what it returns: decoders complain about it, on standard error.
    """
    units = _count_units(picture, scan.names)
    interval = picture.interval or units
    parts, restarts = _RESTART.split(data), _RESTART.findall(data)
    in_order = all(mark[-1] == 0xD0 + number % 8 for number, mark in enumerate(restarts))
    if len(parts) != ceil(units / interval) or not in_order:
        raise ValueError("a restart is missing")
    nonzero = np.zeros((0, _LAST + 1), bool)
    if scan.first:
        nonzero = picture.nonzero.setdefault(scan.names[0], np.zeros((units, _LAST + 1), bool))
    kept = []
    for number, part in enumerate(parts):
        start, stop = number * interval, min((number + 1) * interval, units)
        plain = part.replace(b"\xff\x00", b"\xff")
        ended = _follow(picture, scan, plain, stop - start, nonzero[start:stop])
        if not 0 <= ended <= 8 * len(plain):
            raise ValueError("codes are missing")
        mark = b"\xff" + bytes([0xD0 + number % 8]) if number < len(restarts) else b""
        kept.append(plain[: ceil(ended / 8)].replace(b"\xff", b"\xff\x00") + mark)
    for name in scan.names:
        picture.missing[name][scan.first : scan.last + 1] = [scan.bit] * (scan.last + 1 - scan.first)
    return b"".join(kept)


def _follow(picture: _Picture, scan: _Scan, plain: bytes, units: int, nonzero: Bool[np.ndarray, "units 64"]) -> int:
    """The place of the bit behind the last code, or -1."""
    if scan.again and not scan.first:
        return units * len(scan.dc)
    from tmapr.artifacts.jpeg_scan import walk_band, walk_blocks  # compiled, so only where there is a JPEG

    data = np.frombuffer(plain + bytes(3), np.uint8)
    if scan.first:
        return int(walk_band(picture.codes[scan.ac[0]], data, nonzero, scan.first, scan.last, scan.again))
    return int(walk_blocks(picture.codes, data, np.array(scan.dc), np.array(scan.ac), units, scan.last))


def _read_scan(picture: _Picture, body: bytes) -> _Scan:
    names, tables = body[1 : 2 * body[0] + 1 : 2], body[2 : 2 * body[0] + 1 : 2]
    first, last, bits = struct.unpack_from("BBB", body, 1 + 2 * len(names))
    if picture.kind in _SEQUENTIAL:
        first, last, bits = 0, _LAST, 0
    elif not first:
        last = 0
    dc, ac = list[int](), list[int]()
    for name, table in zip(names, tables, strict=True):
        across, down = picture.components[name]
        blocks = across * down if len(names) > 1 else 1
        dc += [_find_table(0, table >> 4)] * blocks
        ac += [_find_table(1, table & 15)] * blocks
    if not first <= last <= _LAST or not names or len(set(names)) != len(names) or (first and len(names) > 1):
        raise ValueError("a scan's header is wrong")
    return _Scan(tuple(names), dc, ac, first, last, bits > 15, bits & 15)


def _count_units(picture: _Picture, names: tuple[int, ...]) -> int:
    """Groups of blocks, one of each channel; of a channel alone, its blocks without those that fill up a group."""
    across, down = (max(factors) for factors in zip(*picture.components.values(), strict=True))
    if len(names) > 1:
        return ceil(picture.size.width / (8 * across)) * ceil(picture.size.height / (8 * down))
    mine = picture.components[names[0]]
    wide, high = ceil(picture.size.width * mine.across / across), ceil(picture.size.height * mine.down / down)
    return ceil(wide / 8) * ceil(high / 8)
