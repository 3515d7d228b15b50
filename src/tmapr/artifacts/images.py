"""Image files: a PNG, TIFF or JPEG becomes one plane of counts, a picture becomes a PNG.

A file is proven whole before it is decoded. OpenCV's decoders, depending on the version, fill what is missing of a
truncated file with gray and say so only on the standard error of the process, where no caller can hear it.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Shaped, UInt8, UInt16

from tmapr.artifacts.atomic import naming, replacing
from tmapr.artifacts.jpeg import prove_jpeg, read_jpeg_size
from tmapr.exceptions import InputError
from tmapr.files import IMAGE_BYTES, read_bytes

Counts = UInt8[np.ndarray, "height width"] | UInt16[np.ndarray, "height width"]
Picture = UInt8[np.ndarray, "_ _"] | UInt8[np.ndarray, "_ _ 3"]

PNG = b"\x89PNG\r\n\x1a\n"
TIFF = {b"II*\0": "<", b"MM\0*": ">"}
JPEG = b"\xff\xd8\xff"
_PNG_HEADER = struct.Struct(">8sI4sIIBB3xI")
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_MAX_DEFLATION = 1032
"""Bytes that one byte of deflated data can stand for, at most."""

TIFF_SIZES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
"""Bytes of a value by its type; 1 of all others."""
TIFF_PLACES = ((273, 279), (324, 325))
"""Tags of where strips lie and how long they are, and the same of tiles."""
_TIFF_WIDTH, _TIFF_HEIGHT, _TIFF_BITS, _TIFF_SAMPLES, _TIFF_TILE = 256, 257, 258, 277, (322, 323)
_TIFF_READ = {*TIFF_PLACES[0], *TIFF_PLACES[1], _TIFF_WIDTH, _TIFF_HEIGHT, _TIFF_BITS, _TIFF_SAMPLES, *_TIFF_TILE}
_MOST_TAGS, MOST_STRIPS = 1000, 1 << 20

_TIFF_PIXELS = {256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 284, 317, 320, 322, 323, 324, 325, 338, 339, 347}
"""Tags that say how pixels are laid out: sizes, depth, compression, strips, tiles, palette, meaning of a sample."""

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


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image that is what a file holds and nothing else, so that whoever has the path can read it."""

    path: Path

    def __call__(self) -> Counts:
        """Its counts."""
        return read_image(self.path)


def decode_image(data: bytes, where: str) -> Counts:
    """As `read_image`, from the content of a file; `where` says in refusals where it came from."""
    try:
        whole = _prove_whole(data, where)
        with silent_opencv():
            image = cv2.imdecode(np.frombuffer(whole, np.uint8), cv2.IMREAD_UNCHANGED)
    except (ValueError, LookupError, struct.error, cv2.error):
        image = None
    if image is None:
        raise InputError(f"{where}: is cut off or damaged ({len(data)} bytes); copy or export it again")
    return _merge_planes(image, where)


def refuse_size(where: str, height: int, width: int, bits: int) -> None:
    """Refuse pixels of so many bits that would take more memory than any image should: before a decoder asks for it."""
    if height * width * bits > 8 * IMAGE_BYTES:
        raise InputError(
            f"{where}: claims {width}x{height} pixels of {bits} bits, which are more than {IMAGE_BYTES >> 20} MiB;"
            " export it smaller"
        )


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
        raise InputError(f"{where}: has {image.shape[2]} channels; export one channel of raw counts")
    planes = cv2.split(image)[:3]  # a fourth is alpha, which says nothing of the scene
    colour = measure_colour(planes)
    if colour > _MAX_COLOUR:
        raise InputError(
            f"{where}: is a false-colour picture (its channels differ by {colour:.1f} counts on average);"
            " export the raw counts, or a white-hot gray image"
        )
    return cv2.cvtColor(cv2.merge(planes), cv2.COLOR_BGR2GRAY)


def measure_colour(planes: Sequence[Counts]) -> float:
    """By how many counts the planes of a picture differ on average; 0 where all are gray."""
    return max(cv2.norm(planes[0], plane, cv2.NORM_L1) for plane in planes) / planes[0].size


def _prove_whole(data: bytes, where: str) -> bytes:
    """The bytes to decode. What is cut off raises one of the errors that unpacking raises, or ValueError."""
    if not data:
        raise InputError(f"{where}: is empty; copy or record it again")
    if data.startswith(PNG):
        read_png_header(data, len(data), where)
        return PNG + b"".join(_read_chunks(data))
    if data[:4] in TIFF:
        return _replace_directory(data, TIFF[data[:4]], where)
    if data.startswith(JPEG):
        height, width, channels = read_jpeg_size(data)
        refuse_size(where, height, width, 8 * channels)
        return prove_jpeg(data)
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


def read_png_header(start: bytes, length: int, where: str) -> tuple[int, int, int]:
    """Height, width and bits of a sample of a PNG; more than its bytes can hold is refused."""
    _, _, kind, width, height, bits, colour, checksum = _PNG_HEADER.unpack_from(start)
    if kind != b"IHDR" or zlib.crc32(start[12:29]) != checksum:
        raise ValueError("the header is damaged")
    pixel = bits * _PNG_CHANNELS[colour]
    if height * width * pixel > 8 * _MAX_DEFLATION * length:
        raise InputError(
            f"{where}: claims {width}x{height} pixels in {length} bytes, which is impossible; export it again"
        )
    refuse_size(where, height, width, pixel)
    return height, width, bits


def _replace_directory(data: bytes, order: str, where: str) -> bytes:
    """A TIFF whose first directory, checked against the file's length, is replaced by one with the pixels' tags alone.

    A camera maker's own tags, or a second page, would make libtiff complain on standard error.
    """
    (start,) = struct.unpack_from(f"{order}I", data, 4)
    (entries,) = struct.unpack_from(f"{order}H", data, start)
    struct.unpack_from(f"{order}I", data, start + 2 + 12 * entries)  # the last bytes of many a TIFF
    if entries > _MOST_TAGS:
        raise InputError(f"{where}: has {entries} tags; at most {_MOST_TAGS} are read, export it again")
    values: dict[int, tuple[int, ...]] = {}
    kept: dict[int, bytes] = {}
    for entry in range(start + 2, start + 2 + 12 * entries, 12):
        tag, kind, count, at = struct.unpack_from(f"{order}HHII", data, entry)
        size = count * TIFF_SIZES.get(kind, 1)
        if size > 4 and at + size > len(data):
            raise ValueError("a tag's values are missing")
        if tag in _TIFF_READ and kind in (3, 4):
            if count > MOST_STRIPS:
                raise InputError(f"{where}: has {count} strips or tiles; at most {MOST_STRIPS} are read")
            values[tag] = struct.unpack_from(
                f"{order}{count}{'H' if kind == 3 else 'I'}", data, entry + 8 if size <= 4 else at
            )
        if tag in _TIFF_PIXELS:
            kept[tag] = data[entry : entry + 12]
    _refuse_tiff_size(values, where)
    end = find_pixel_end(values)
    if end is None or end > len(data):
        raise ValueError("pixels are missing")
    directory = struct.pack(f"{order}H", len(kept)) + b"".join(kept[tag] for tag in sorted(kept)) + bytes(4)
    return data[:4] + struct.pack(f"{order}I", len(data)) + data[8:] + directory


def _refuse_tiff_size(values: Mapping[int, tuple[int, ...]], where: str) -> None:
    """By the image's own size, and by that of a tile, for which decoders ask as well."""
    samples = max((1, *values.get(_TIFF_SAMPLES, ())))
    pixel = samples * max((8, *values.get(_TIFF_BITS, ())))
    refuse_size(where, values[_TIFF_HEIGHT][0], values[_TIFF_WIDTH][0], pixel)
    if all(tag in values for tag in _TIFF_TILE):
        refuse_size(f"{where}: a tile", values[_TIFF_TILE[1]][0], values[_TIFF_TILE[0]][0], pixel)


def find_pixel_end(values: Mapping[int, tuple[int, ...]]) -> int | None:
    """Where the last strip or tile of a TIFF with these values of tags ends; None if it has none."""
    places = [zip(values[at], values[size], strict=True) for at, size in TIFF_PLACES if at in values]
    return max((at + size for place in places for at, size in place), default=None)
