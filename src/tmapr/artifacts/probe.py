"""An image file's size and depth from its header and its trailer, a few hundred bytes of it.

What looks whole at both ends is believed. Every doubt, such as bytes behind the image's end, is left to `read_image`,
which reads the file and accepts or refuses it: a probe refuses nothing that could be read.
"""

import struct
from io import SEEK_END, FileIO
from pathlib import Path
from typing import NamedTuple

from tmapr.artifacts.images import (
    JPEG,
    MOST_STRIPS,
    PNG,
    TIFF,
    TIFF_PLACES,
    TIFF_SIZES,
    Counts,
    find_pixel_end,
    read_image,
    read_png_header,
    refuse_size,
)
from tmapr.files import IMAGE_BYTES, open_regular

_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"
_PNG_START = 33
"""Bytes of its signature and its first chunk."""
_TIFF_WIDTH, _TIFF_HEIGHT, _TIFF_BITS, _TIFF_FORMAT = 256, 257, 258, 339
_TIFF_READ = {_TIFF_WIDTH, _TIFF_HEIGHT, _TIFF_BITS, _TIFF_FORMAT, *TIFF_PLACES[0], *TIFF_PLACES[1]}

_JPEG_SIZES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_JPEG_SCAN, _JPEG_END = 0xDA, b"\xff\xd9"
_JPEG_PADDING = 512


class ImageHeader(NamedTuple):
    """Pixels in each direction, and the bits of a count: 8 or 16."""

    height: int
    width: int
    depth: int

    @classmethod
    def of(cls, counts: Counts) -> "ImageHeader":
        """What a file with these counts says in its header."""
        height, width = counts.shape
        return cls(height, width, 8 * counts.itemsize)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}, {self.depth} bit"


def probe(path: Path) -> ImageHeader:
    """The size and depth of a PNG, TIFF or JPEG; what is cut off or no image is refused."""
    try:
        # Unbuffered: a few hundred bytes are all that is wanted.
        with open_regular(path, IMAGE_BYTES) as whole, FileIO(whole.fileno(), closefd=False) as stream:
            header = _read_ends(stream, path)
    except (OSError, ValueError, LookupError, struct.error):
        header = None
    if header is not None and min(header) > 0:
        refuse_size(str(path), *header)
        return header
    return ImageHeader.of(read_image(path))


def _read_ends(stream: FileIO, path: Path) -> ImageHeader | None:
    """What the two ends say; None, or one of the errors that unpacking raises, where they leave a doubt."""
    start = stream.read(_PNG_START)
    length = stream.seek(0, SEEK_END)
    if start.startswith(PNG):
        return _read_png(stream, start, length, path)
    if start[:4] in TIFF:
        return _read_tiff(stream, TIFF[start[:4]], length)
    if start.startswith(JPEG):
        return _read_jpeg(stream, length)
    return None


def _read_at(stream: FileIO, at: int, count: int) -> bytes:
    stream.seek(at)
    return stream.read(count)


def _read_png(stream: FileIO, start: bytes, length: int, path: Path) -> ImageHeader | None:
    height, width, bits = read_png_header(start, length, str(path))
    if _read_at(stream, length - len(_PNG_END), len(_PNG_END)) != _PNG_END:
        return None
    return ImageHeader(height, width, max(bits, 8))


def _read_tiff(stream: FileIO, order: str, length: int) -> ImageHeader | None:
    """From the first directory; every value of it and every strip or tile must lie inside the file."""
    (start,) = struct.unpack(f"{order}I", _read_at(stream, 4, 4))
    (entries,) = struct.unpack(f"{order}H", _read_at(stream, start, 2))
    directory = stream.read(12 * entries + 4)  # with the place of the next one: the last bytes of many a TIFF
    if len(directory) < 12 * entries + 4:
        return None
    values: dict[int, tuple[int, ...]] = {}
    for entry in range(0, 12 * entries, 12):
        tag, kind, count, at = struct.unpack_from(f"{order}HHII", directory, entry)
        size = count * TIFF_SIZES.get(kind, 1)
        if size > 4 and at + size > length:
            return None
        if tag in _TIFF_READ and kind in (3, 4) and count <= MOST_STRIPS:
            packed = directory[entry + 8 : entry + 8 + size] if size <= 4 else _read_at(stream, at, size)
            values[tag] = struct.unpack(f"{order}{count}{'H' if kind == 3 else 'I'}", packed)
    end, bits, kinds = find_pixel_end(values), values[_TIFF_BITS][0], values.get(_TIFF_FORMAT, (1,))
    if end is None or end > length or bits not in (8, 16) or kinds[0] != 1:
        return None
    return ImageHeader(values[_TIFF_HEIGHT][0], values[_TIFF_WIDTH][0], bits)


def _read_jpeg(stream: FileIO, length: int) -> ImageHeader | None:
    """From the segments before the scan; those may hold a thumbnail with an end of its own, the scan cannot."""
    at, marker, header = 2, 0, None
    while marker != _JPEG_SCAN:
        filler, marker, size, bits, height, width = struct.unpack(">BBHBHH", _read_at(stream, at, 9))
        if filler != 0xFF or marker == 0xFF:
            return None
        if marker in _JPEG_SIZES and bits == 8:
            header = ImageHeader(height, width, bits)
        at += 2 + size
    tail = _read_at(stream, max(at, length - _JPEG_PADDING), _JPEG_PADDING)
    return header if _JPEG_END in tail else None
