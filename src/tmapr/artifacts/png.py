"""Gray PNGs, decoded for whoever reads many of them: zlib unpacks, compiled code restores the rows.

On the noise of a thermal camera this takes two thirds of OpenCV's time. The first image waits for the compiled code, a
second or more where none is kept, so that single images are left to `read_image`.
"""

import struct
import zlib
from pathlib import Path

import numpy as np

from tmapr.artifacts.images import PNG, Counts, decode_image, open_image, read_png_header

_GRAY, _PLAIN = 0, bytes(3)
_KINDS: dict[int, type[np.uint8] | type[np.uint16]] = {8: np.uint8, 16: np.uint16}


def read_many(path: Path) -> Counts:
    """What `read_image` gives, or refuses, of one among many files."""
    data = open_image(path)
    counts = decode_gray_png(data, str(path)) if data.startswith(PNG) else None
    return decode_image(data, str(path)) if counts is None else counts


def decode_gray_png(data: bytes, where: str) -> Counts | None:
    """The counts of a whole gray PNG of 8 or 16 bits; None for every other, and wherever there is a doubt."""
    try:
        height, width, bits = read_png_header(data, len(data), where)
        if bits not in _KINDS or data[25] != _GRAY or data[26:29] != _PLAIN:
            return None
        packed = b"".join(_find_packed(data))
        size = height * (1 + width * bits // 8)
        unpacking = zlib.decompressobj()
        filtered = unpacking.decompress(packed, size + 1)
    except (ValueError, LookupError, struct.error, zlib.error):
        return None
    # What has another length, or goes on behind its end, is somebody else's to judge.
    if len(filtered) != size or not unpacking.eof or unpacking.unused_data:
        return None
    return _restore(np.frombuffer(filtered, np.uint8).reshape(height, -1), bits // 8)


def _restore(filtered: np.ndarray, step: int) -> Counts | None:
    from tmapr.artifacts.png_rows import restore_rows

    rows = np.empty((filtered.shape[0], filtered.shape[1] - 1), np.uint8)
    if not restore_rows(filtered, rows, step):
        return None
    return rows if step == 1 else rows.view(">u2").astype(np.uint16)


def _find_packed(data: bytes) -> list[memoryview]:
    """What the data chunks of a PNG hold; checksums are compared, and chunks that only colours need are refused."""
    view, at, found = memoryview(data), len(PNG), list[memoryview]()
    while True:
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        if zlib.crc32(view[at + 4 : end - 4]) != checksum:
            raise ValueError("a chunk's checksum differs")
        if kind == b"IEND":
            return found
        if kind == b"IDAT":
            found.append(view[at + 8 : end - 4])
        elif kind[:1].isupper() and kind != b"IHDR":
            raise ValueError(f"no gray image needs {kind!r}")
        at = end
