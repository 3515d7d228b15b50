"""Image files: a PNG, TIFF or JPEG becomes one plane of counts, a picture becomes a PNG.

A file is proven whole before it is decoded. OpenCV's decoders, depending on the version, fill what is missing of a
truncated file with gray and say so only on the standard error of the process, where no caller can hear it.
"""

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Shaped, UInt8, UInt16

from tmapr.artifacts.atomic import naming, replacing
from tmapr.exceptions import InputError

Counts = UInt8[np.ndarray, "height width"] | UInt16[np.ndarray, "height width"]
Picture = UInt8[np.ndarray, "_ _"] | UInt8[np.ndarray, "_ _ 3"]

PNG = b"\x89PNG\r\n\x1a\n"
TIFF = {b"II*\0": "<", b"MM\0*": ">"}
JPEG = b"\xff\xd8\xff"
# Inside the scan of a JPEG, FF 00 stands for the byte FF and FF D0…D7 restart the decoder: no other FF is data.
_JPEG_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])")
_JPEG_SCAN, _JPEG_END = 0xDA, 0xD9
_TIFF_VALUES = {3: "H", 4: "I", 5: "Q", 8: "H", 9: "I", 10: "Q", 11: "I", 12: "Q"}  # all others are bytes
TIFF_PLACES = ((273, 279), (324, 325))
"""Tags of where strips lie and how long they are, and the same of tiles."""

_TIFF_PIXELS = {256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 284, 317, 320, 322, 323, 324, 325, 338, 339, 347}
"""Tags that say how pixels are laid out: sizes, depth, compression, strips, tiles, palette, meaning of a sample."""

_MAX_COLOUR = 2.0
"""What rounding in a JPEG's chroma leaves between the channels of a gray image, in counts on average."""


def read_image(path: Path) -> Counts:
    """The counts of an 8- or 16-bit gray image; what is cut off, coloured or no image is refused."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such image") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return decode_image(data, str(path))


def decode_image(data: bytes, where: str) -> Counts:
    """As `read_image`, from the content of a file; `where` says in refusals where it came from."""
    try:
        image = cv2.imdecode(np.frombuffer(_prove_whole(data, where), np.uint8), cv2.IMREAD_UNCHANGED)
    except (ValueError, LookupError, struct.error, cv2.error):
        image = None
    if image is None:
        raise InputError(f"{where}: is cut off or damaged ({len(data)} bytes); copy or export it again")
    return _merge_planes(image, where)


def write_png(path: Path, image: Picture | UInt16[np.ndarray, "height width"]) -> None:
    """Replace `path` with a gray or RGB picture."""
    if path.suffix.lower() != ".png":
        raise InputError(f"{path}: pictures are written as PNG; give it a name that ends in .png")
    with replacing(path) as stream:
        stream.write(_encode_png(cv2.cvtColor(image, cv2.COLOR_RGB2BGR) if image.ndim == 3 else image, compression=9))


def write_frame(path: Path, counts: Counts) -> None:
    """Write one of many images: its list comes last, so that a kill leaves no sequence that seems whole.

    Light compression is 25 times as fast as strong and, on noisy counts, 6 % larger.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        path.write_bytes(_encode_png(counts, compression=1))


def _encode_png(image: Picture | UInt16[np.ndarray, "height width"], compression: int) -> bytes:
    _, encoded = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, compression])
    return encoded.tobytes()


def _merge_planes(image: Shaped[np.ndarray, "..."], where: str) -> Counts:
    if image.dtype not in (np.uint8, np.uint16):
        raise InputError(f"{where}: holds {image.dtype} values; export the raw counts as 8- or 16-bit integers")
    if image.ndim == 2:
        return image
    if image.shape[2] not in (3, 4):
        raise InputError(f"{where}: has {image.shape[2]} channels; export one channel of raw counts")
    planes = cv2.split(image)[:3]  # a fourth is alpha, which says nothing of the scene
    colour = max(cv2.norm(planes[0], plane, cv2.NORM_L1) for plane in planes) / planes[0].size
    if colour > _MAX_COLOUR:
        raise InputError(
            f"{where}: is a false-colour picture (its channels differ by {colour:.1f} counts on average);"
            " export the raw counts, or a white-hot gray image"
        )
    return cv2.cvtColor(cv2.merge(planes), cv2.COLOR_BGR2GRAY)


def _prove_whole(data: bytes, where: str) -> bytes:
    """The bytes to decode. What is cut off raises one of the errors that unpacking raises, or ValueError."""
    if not data:
        raise InputError(f"{where}: is empty; copy or record it again")
    if data.startswith(PNG):
        return PNG + b"".join(_read_chunks(data))
    if data[:4] in TIFF:
        return _replace_directory(data, TIFF[data[:4]])
    if data.startswith(JPEG):
        _follow_markers(data)
        return data
    raise InputError(f"{where}: is not a PNG, TIFF or JPEG image; convert it to 16-bit PNG")


def _read_chunks(data: bytes) -> Iterator[bytes]:
    """A PNG's chunks up to its end, checksums compared, without the optional ones.

    Those (colour profiles, gamma, text) change no count, and libpng complains about them on standard error.
    """
    at, kind = len(PNG), b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        if zlib.crc32(data[at + 4 : end - 4]) != checksum:
            raise ValueError("a chunk's checksum differs")
        if kind[:1].isupper():
            yield data[at:end]
        at = end


def _follow_markers(data: bytes) -> None:
    """Walk a JPEG's segments to its end marker; a search for it would stop at that of an embedded thumbnail."""
    at, marker = 2, 0
    while marker != _JPEG_END:
        found = _JPEG_MARKER.search(data, at) if marker == _JPEG_SCAN else _JPEG_MARKER.match(data, at)
        if found is None:
            raise ValueError("a marker is missing")
        marker, at = found[1][0], found.end()
        if marker != _JPEG_END:
            at += struct.unpack_from(">H", data, at)[0]


def _replace_directory(data: bytes, order: str) -> bytes:
    """A TIFF whose first directory, checked against the file's length, is replaced by one with the pixels' tags alone.

    A camera maker's own tags, or a second page, would make libtiff complain on standard error.
    """
    (start,) = struct.unpack_from(f"{order}I", data, 4)
    (entries,) = struct.unpack_from(f"{order}H", data, start)
    struct.unpack_from(f"{order}I", data, start + 2 + 12 * entries)  # the last bytes of many a TIFF
    values: dict[int, tuple[int, ...]] = {}
    kept: dict[int, bytes] = {}
    for entry in range(start + 2, start + 2 + 12 * entries, 12):
        tag, kind, count = struct.unpack_from(f"{order}HHI", data, entry)
        layout = f"{order}{count}{_TIFF_VALUES.get(kind, 's')}"
        at = entry + 8 if struct.calcsize(layout) <= 4 else struct.unpack_from(f"{order}I", data, entry + 8)[0]
        found = struct.unpack_from(layout, data, at)
        values[tag] = found if kind in _TIFF_VALUES else ()
        if tag in _TIFF_PIXELS:
            kept[tag] = data[entry : entry + 12]
    end = find_pixel_end(values)
    if end is None or end > len(data):
        raise ValueError("pixels are missing")
    directory = struct.pack(f"{order}H", len(kept)) + b"".join(kept[tag] for tag in sorted(kept)) + bytes(4)
    return data[:4] + struct.pack(f"{order}I", len(data)) + data[8:] + directory


def find_pixel_end(values: Mapping[int, tuple[int, ...]]) -> int | None:
    """Where the last strip or tile of a TIFF with these values of tags ends; None if it has none."""
    places = [zip(values[at], values[size], strict=True) for at, size in TIFF_PLACES if at in values]
    return max((at + size for place in places for at, size in place), default=None)
