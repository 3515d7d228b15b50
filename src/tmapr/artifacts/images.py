"""Image files: a PNG, TIFF or JPEG becomes one plane of counts, a picture becomes a PNG.

A file is checked before it is decoded: PNGs by their chunks' checksums, TIFFs by where their pixels end, JPEGs as
`jpeg` says. OpenCV's decoders, depending on the version, fill what is missing of a truncated file with gray and say so
only on the standard error of the process, where no caller can hear it.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import cv2
import numpy as np
from jaxtyping import Shaped, UInt8, UInt16

from tmapr.artifacts.atomic import naming, replacing
from tmapr.artifacts.jpeg import decode_jpeg, read_jpeg
from tmapr.artifacts.tiff import ORDERS, replace_directory
from tmapr.exceptions import InputError
from tmapr.files import IMAGE_BYTES, read_bytes, refuse_pixels

Counts = UInt8[np.ndarray, "height width"] | UInt16[np.ndarray, "height width"]
Picture = UInt8[np.ndarray, "_ _"] | UInt8[np.ndarray, "_ _ 3"]

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
_PNG_HEADER = struct.Struct(">8sI4sIIBB3xI")
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_MAX_DEFLATION = 1032
"""Bytes that one byte of deflated data can stand for, at most."""
_MOST_JPEG_PIXELS = 512
"""Pixels that one byte can stand for: each block of 8×8 has a code."""

_MAX_COLOUR = 2.0
"""What rounding in a JPEG's chroma leaves between the channels of a gray image, in counts on average."""


def read_image(path: Path) -> Counts:
    """The counts of an 8- or 16-bit gray image; what is cut off, coloured or no image is refused."""
    return decode_image(open_image(path), str(path))


def open_image(path: Path) -> bytes:
    """What the file of an image holds; one that cannot be read is refused."""
    try:
        return read_bytes(path, IMAGE_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: no such image") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def decode_image(data: bytes, where: str) -> Counts:
    """As `read_image`, from the content of a file; `where` says in refusals where it came from."""
    try:
        image = _decode(data, where)
    except (ValueError, LookupError, OSError, SyntaxError, struct.error, cv2.error):
        image = None
    if image is None:
        raise InputError(f"{where}: is cut off or damaged ({len(data)} bytes); copy or export it again")
    return _merge_planes(image, where)


@contextmanager
def silent_opencv() -> Iterator[None]:
    """What is wrong with a file is told once, by us."""
    log = cv2.utils.logging
    level = log.getLogLevel()
    log.setLogLevel(log.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        log.setLogLevel(level)


def write_png(path: Path, image: Picture | UInt16[np.ndarray, "height width"]) -> None:
    """Replace `path` with a gray or RGB picture."""
    if path.suffix.lower() != ".png":
        raise InputError(f"{path}: pictures are written as PNG; give it a name that ends in .png")
    with replacing(path) as stream:
        stream.write(_encode_png(cv2.cvtColor(image, cv2.COLOR_RGB2BGR) if image.ndim == 3 else image, compression=6))


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
        _refuse_channels(where, image.shape[2])
    planes = cv2.split(image)[:3]  # a fourth is alpha, which says nothing of the scene
    colour = measure_colour(planes)
    if colour > _MAX_COLOUR:
        raise InputError(
            f"{where}: is a false-colour picture (its channels differ by {colour:.1f} counts on average);"
            " export the raw counts, or a white-hot gray image"
        )
    return cv2.cvtColor(cv2.merge(planes), cv2.COLOR_BGR2GRAY)


def _refuse_channels(where: str, count: int) -> NoReturn:
    raise InputError(f"{where}: has {count} channels; export one channel of raw counts")


def measure_colour(planes: Sequence[Counts]) -> float:
    """By how many counts the planes of a picture differ on average; 0 where all are gray."""
    return max(cv2.norm(planes[0], plane, cv2.NORM_L1) for plane in planes) / planes[0].size


def _decode(data: bytes, where: str) -> Shaped[np.ndarray, "..."] | None:
    """What is cut off is None, or raises one of the errors that unpacking and decoders raise."""
    if not data:
        raise InputError(f"{where}: is empty; copy or record it again")
    if data.startswith(JPEG):
        jpeg = read_jpeg(data)
        refuse_pixels(where, jpeg.height, jpeg.width, 8 * jpeg.channels)
        if jpeg.channels not in (1, 3):
            _refuse_channels(where, jpeg.channels)
        if jpeg.height * jpeg.width > _MOST_JPEG_PIXELS * len(data):
            _refuse_claim(where, jpeg.height, jpeg.width, len(data))
        return decode_jpeg(jpeg)
    if data.startswith(PNG):
        read_png_header(data, len(data), where)
        whole = PNG + b"".join(_read_chunks(data))
    elif data[:4] in ORDERS:
        whole = replace_directory(data, where)
    else:
        raise InputError(f"{where}: is not a PNG, TIFF or JPEG image; convert it to 16-bit PNG")
    with silent_opencv():
        return cv2.imdecode(np.frombuffer(whole, np.uint8), cv2.IMREAD_UNCHANGED)


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


def read_png_header(start: bytes, length: int, where: str) -> tuple[int, int, int]:
    """Height, width and bits of a sample of a PNG; more than its bytes can hold is refused."""
    _, _, kind, width, height, bits, colour, checksum = _PNG_HEADER.unpack_from(start)
    if kind != b"IHDR" or zlib.crc32(start[12:29]) != checksum:
        raise ValueError("the header is damaged")
    pixel = bits * _PNG_CHANNELS[colour]
    if height * width * pixel > 8 * _MAX_DEFLATION * length:
        _refuse_claim(where, height, width, length)
    refuse_pixels(where, height, width, pixel)
    return height, width, bits


def _refuse_claim(where: str, height: int, width: int, length: int) -> NoReturn:
    raise InputError(f"{where}: claims {width}x{height} pixels in {length} bytes, which is impossible; export it again")
