"""JPEG files, decoded by Pillow: whole or refused.

A decoder fills what is missing of a scan with gray and does not say so. So a file is decoded twice, the second time
with other bytes behind its codes: what is missing is taken from these, and shows. Only baseline and progressive files
with Huffman codes are known, which is what cameras write.
"""

import re
import struct
from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])")
"""Inside a scan FF 00 stands for the byte FF and FF D0…D7 restart the decoder: no other FF is data."""
_RESTART = re.compile(rb"\xff+([\xd0-\xd7])")
_KNOWN, _PROGRESSIVE = (0xC0, 0xC1, 0xC2), 0xC2
_OTHERS = {0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_SCAN, _END = 0xDA, 0xD9
_KEPT = {0xC4, 0xDB, 0xDD, 0xE0, 0xEE, _SCAN, *_KNOWN}
"""Segments with tables, or that say what colours mean."""
_MOST_SCANS = 32
"""Encoders write ten; each of them is decoded over the whole picture."""
_COEFFICIENTS = 64
_OTHER_BYTES = b"\xfe\xa5\x5a\x96" * 16
"""What libjpeg puts in the place of missing codes are zeros."""


class Jpeg(NamedTuple):
    """Its pixels, and channels of 8 bits; what to decode, and the same with more bytes behind its codes."""

    height: int
    width: int
    channels: int
    content: bytes
    longer: bytes


def read_jpeg(data: bytes) -> Jpeg:
    """The parts of a file that tell of pixels; what is cut off or not known raises ValueError, or as unpacking does."""
    size, kind, scans = (0, 0, 0), 0, 0
    missing = dict[tuple[int, int], int]()  # lowest bits that no scan has, by channel and coefficient
    content, longer = [data[:2]], [data[:2]]
    for marker, body, codes in _split(data):
        if marker in _OTHERS or (marker in _KNOWN and kind):
            raise ValueError("it is neither baseline nor progressive")
        if marker in _KNOWN:
            kind, size = marker, _read_size(body)
            missing = {(name, place): 1 for name in body[6::3] for place in range(_COEFFICIENTS)}
        elif marker == _SCAN:
            scans += 1
            missing.update(_list_given(body, progressive=kind == _PROGRESSIVE))
        if marker in _KEPT:
            segment = struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body
            content.append(segment + codes)
            longer.append(segment + (_lengthen(codes) if marker == _SCAN else b""))
    if not 0 < scans <= _MOST_SCANS or any(missing.values()):
        raise ValueError("a scan is missing, or there are too many")
    return Jpeg(*size, b"".join([*content, b"\xff\xd9"]), b"".join([*longer, b"\xff\xd9"]))


def decode_jpeg(jpeg: Jpeg) -> UInt8[np.ndarray, "height width"] | UInt8[np.ndarray, "height width 3"]:
    """Gray, or blue, green and red; ValueError or OSError where something is missing."""
    image = _decode(jpeg.content)
    if not np.array_equal(image, _decode(jpeg.longer)):
        raise ValueError("codes are missing")
    return image if image.ndim == 2 else image[..., ::-1]


def _decode(content: bytes) -> UInt8[np.ndarray, "..."]:
    # Only where there is a JPEG. Not Image.open, which would have its own say in how large an image may be.
    from PIL.JpegImagePlugin import JpegImageFile

    with JpegImageFile(BytesIO(content)) as image:
        return np.array(image)


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
        (length,) = struct.unpack_from(">H", data, at)
        if length < 2 or at + length > len(data):
            raise ValueError("a segment is cut off")
        body, at, codes = data[at + 2 : at + length], at + length, b""
        if marker == _SCAN:
            following = _MARKER.search(data, at)
            if following is None:
                raise ValueError("a marker is missing")
            codes, at = data[at : following.start()], following.start()
        yield marker, body, codes


def _read_size(body: bytes) -> tuple[int, int, int]:
    bits, height, width, channels = struct.unpack_from(">BHHB", body)
    if bits != 8 or not height * width or len(body) != 6 + 3 * channels:
        raise ValueError("it has no pixels of 8 bits")
    return height, width, channels


def _list_given(body: bytes, progressive: bool) -> dict[tuple[int, int], int]:
    """The channels and coefficients of a scan, and how many of their lowest bits are left to later ones."""
    names = body[1 : 2 * body[0] + 1 : 2]
    first, last, bits = struct.unpack_from("BBB", body, 1 + 2 * len(names))
    if not progressive:
        first, last, bits = 0, _COEFFICIENTS - 1, 0
    return {(name, place): bits & 15 for name in names for place in range(first, last + 1)}


def _lengthen(codes: bytes) -> bytes:
    """More bytes before each restart and at the end, and one more restart: whole intervals may be missing too."""
    restarts = [mark[0] & 7 for mark in _RESTART.findall(codes)]
    if restarts != [number % 8 for number in range(len(restarts))]:
        raise ValueError("a restart is missing")
    one_more = bytes([0xFF, 0xD0 + len(restarts) % 8])
    return _RESTART.sub(lambda mark: _OTHER_BYTES + mark[0], codes) + _OTHER_BYTES + one_more + _OTHER_BYTES
