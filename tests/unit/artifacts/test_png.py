"""The quicker decoder of PNGs against OpenCV's, on all filters, and against damage of every kind."""

import struct
import zlib

import cv2
import numpy as np
import pytest

from tmapr.artifacts.images import read_image, write_frame
from tmapr.artifacts.png import decode_gray_png, read_many
from tmapr.exceptions import InputError

SHAPE = (37, 53)


def chunk(kind, content):
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", zlib.crc32(kind + content))


def assemble(rows, width, bits, *, colour=0, interlaced=0, pieces=1, before=b"", behind=b""):
    """A PNG of lines that begin with their filter's number."""
    packed = zlib.compress(rows.tobytes()) + behind
    size = -(-len(packed) // pieces)
    data = [chunk(b"IDAT", packed[at : at + size]) for at in range(0, len(packed), size)]
    header = struct.pack(">IIBBBBB", width, len(rows), bits, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + b"".join(data) + chunk(b"IEND", b"")


def lines(rng, bits, filters):
    """Any bytes are a picture, whatever filter is said to have left them."""
    content = rng.integers(0, 256, (SHAPE[0], SHAPE[1] * bits // 8)).astype(np.uint8)
    return np.column_stack([filters, content])


def decode_by_opencv(data):
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("filters", ["0", "1", "2", "3", "4", "all"])
def test_every_filter_is_undone_as_opencv_does(bits, filters, rng):
    kinds = rng.integers(0, 5, SHAPE[0]) if filters == "all" else np.full(SHAPE[0], int(filters))
    data = assemble(lines(rng, bits, kinds.astype(np.uint8)), SHAPE[1], bits)
    counts = decode_gray_png(data, "made up")
    assert counts.dtype == (np.uint8 if bits == 8 else np.uint16)
    np.testing.assert_array_equal(counts, decode_by_opencv(data))


@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_what_opencv_writes_is_read(level, kind, rng):
    counts = np.cumsum(rng.integers(-3, 4, (96, 128)), axis=1).astype(kind)
    data = cv2.imencode(".png", counts, [cv2.IMWRITE_PNG_COMPRESSION, level])[1].tobytes()
    np.testing.assert_array_equal(decode_gray_png(data, "made up"), counts)


def test_data_may_come_in_pieces_and_among_chunks_that_say_nothing_of_counts(rng):
    text = chunk(b"tEXt", b"Comment\0a night") + chunk(b"gAMA", struct.pack(">I", 45455))
    data = assemble(lines(rng, 16, np.full(SHAPE[0], 4, np.uint8)), SHAPE[1], 16, pieces=7, before=text)
    np.testing.assert_array_equal(decode_gray_png(data, "made up"), decode_by_opencv(data))


def header(rows):
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SHAPE[1], rows, 16, 0, 0, 0, 0))


def doubtful(rng):
    plain = lines(rng, 16, np.zeros(SHAPE[0], np.uint8))
    unknown = lines(rng, 16, np.full(SHAPE[0], 5, np.uint8))
    whole = assemble(plain, SHAPE[1], 16)
    return {
        "an unknown filter": assemble(unknown, SHAPE[1], 16),
        "colour": assemble(plain, SHAPE[1] // 3, 16, colour=2),
        "a palette": assemble(plain, SHAPE[1], 16, before=chunk(b"PLTE", bytes(9))),
        "interlaced": assemble(plain, SHAPE[1], 16, interlaced=1),
        "fewer rows than said": header(SHAPE[0] + 1) + whole[33:],
        "more rows than said": header(SHAPE[0] - 1) + whole[33:],
        "bytes behind the end": assemble(plain, SHAPE[1], 16, behind=b"more"),
        "four bits": assemble(plain, SHAPE[1] * 4, 4),
    }


@pytest.mark.parametrize("case", list(doubtful(np.random.default_rng(0))))
def test_whatever_is_doubtful_is_left_to_opencv(case, rng):
    assert decode_gray_png(doubtful(rng)[case], "made up") is None


def test_a_file_is_what_read_image_says_it_is_however_it_is_damaged(rng, tmp_path):
    """Cut anywhere, or with any byte changed: the same counts, or the same words."""
    file = tmp_path / "night.png"
    write_frame(file, rng.integers(3000, 3400, (48, 64)).astype(np.uint16))
    whole = file.read_bytes()
    damaged = [whole[: int(at)] for at in rng.integers(0, len(whole), 40)]
    for at in rng.integers(0, len(whole), 80):
        damaged.append(whole[:at] + bytes([whole[at] ^ int(rng.integers(1, 256))]) + whole[at + 1 :])
    for content in [whole, *damaged]:
        file.write_bytes(content)
        assert tell(read_many, file) == tell(read_image, file)


def test_other_kinds_and_missing_files_are_as_before(rng, tmp_path):
    counts = rng.integers(0, 256, (48, 64)).astype(np.uint8)
    for name in ("night.tif", "night.jpg"):
        cv2.imwrite(str(tmp_path / name), counts)
    for name in ("night.tif", "night.jpg", "none.png"):
        assert tell(read_many, tmp_path / name) == tell(read_image, tmp_path / name)


def tell(read, file):
    try:
        counts = read(file)
    except InputError as refusal:
        return str(refusal)
    return counts.dtype, counts.shape, counts.tobytes()
