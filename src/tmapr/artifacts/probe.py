"""An image file's size and depth from its header and its trailer, a few hundred bytes of it.

What looks whole at both ends is believed. Every doubt, such as bytes behind the image's end, is left to `read_image`,
which reads the file and accepts or refuses it: a probe refuses nothing that could be read.
"""

import struct
from functools import partial
from io import SEEK_END, FileIO
from pathlib import Path
from typing import NamedTuple

from tmapr.artifacts.images import JPEG, PNG, Counts, read_image, read_png_header
from tmapr.artifacts.tiff import BITS, FORMAT, HEIGHT, ORDERS, WIDTH, read_directory
from tmapr.files import IMAGE_BYTES, open_regular, refuse_pixels

_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"
_PNG_START = 33
"""Bytes of its signature and its first chunk."""
_JPEG_SIZES, _JPEG_SCAN, _JPEG_END = (0xC0, 0xC1, 0xC2), 0xDA, b"\xff\xd9"
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
            header = _read_ends(stream, str(path))
    except (OSError, ValueError, LookupError, struct.error):
        header = None
    if header is not None and min(header) > 0:
        refuse_pixels(str(path), *header)
        return header
    return ImageHeader.of(read_image(path))


def _read_ends(stream: FileIO, where: str) -> ImageHeader | None:
    """What the two ends say; None, or one of the errors that unpacking raises, where they leave a doubt."""
    start = stream.read(_PNG_START)
    length = stream.seek(0, SEEK_END)
    if start.startswith(PNG):
        height, width, bits = read_png_header(start, length, where)
        ended = _read_at(stream, length - len(_PNG_END), len(_PNG_END)) == _PNG_END
        return ImageHeader(height, width, max(bits, 8)) if ended else None
    if start[:4] in ORDERS:
        values = read_directory(partial(_read_at, stream), length, where).values
        known = values[BITS][0] in (8, 16) and values.get(FORMAT, (1,))[0] == 1
        return ImageHeader(values[HEIGHT][0], values[WIDTH][0], values[BITS][0]) if known else None
    return _read_jpeg(stream, length) if start.startswith(JPEG) else None


def _read_at(stream: FileIO, at: int, count: int) -> bytes:
    stream.seek(at)
    return stream.read(count)


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
