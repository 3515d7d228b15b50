"""A JPEG is whole if every code of its scans is there; a decoder would fill the rest with gray."""

import re
import struct
from itertools import pairwise

import cv2
import numpy as np
import pytest

from tmapr.artifacts.images import decode_image
from tmapr.artifacts.jpeg import decode_jpeg, read_jpeg
from tmapr.exceptions import InputError

KINDS = {
    "baseline": [],
    "progressive": [cv2.IMWRITE_JPEG_PROGRESSIVE, 1],
    "restarts": [cv2.IMWRITE_JPEG_RST_INTERVAL, 1],
    "progressive restarts": [cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_RST_INTERVAL, 4],
    "own codes": [cv2.IMWRITE_JPEG_OPTIMIZE, 1, cv2.IMWRITE_JPEG_QUALITY, 100],
    "4:1:1": [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411],
    "4:4:4": [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444],
}
END = b"\xff\xd9"


@pytest.fixture(params=["gray", "colour"])
def picture(request, rng):
    """Of a size that is no multiple of a block's or of a group of blocks."""
    gray = np.clip(cv2.GaussianBlur(rng.normal(size=(11, 19)), (0, 0), 2) * 600 + 128, 0, 255).astype(np.uint8)
    return gray if request.param == "gray" else np.dstack([gray, 255 - gray, gray[::-1]])


def encoded(picture, kind):
    return cv2.imencode(".jpg", picture, KINDS[kind])[1].tobytes()


def refused(content):
    try:
        decode_jpeg(read_jpeg(content))
    except (ValueError, LookupError, OSError, SyntaxError, struct.error):
        return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_is_decoded_to_the_pixels_that_opencv_gives(kind, picture):
    content = encoded(picture, kind)
    pixels = decode_jpeg(read_jpeg(content))
    expected = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(pixels, expected, strict=True)


@pytest.mark.parametrize("kind", KINDS)
def test_no_byte_of_a_scan_can_be_cut_off(kind, picture):
    content = encoded(picture, kind)
    scan = content.index(b"\xff\xda")
    whole = [cut for cut in range(scan, len(content) - 2, 3) if not refused(content[:cut] + END)]
    # The last byte of a scan may be nothing but what fills it up.
    assert len(whole) <= 1


def test_no_interval_between_restarts_can_be_missing(picture):
    content = encoded(picture, "restarts")
    marks = [found.start() for found in re.finditer(rb"\xff[\xd0-\xd7]", content)]
    assert refused(content[: marks[-1]] + END)
    assert all(refused(content[:one] + content[other:]) for one, other in pairwise(marks))


def test_what_says_nothing_of_pixels_is_not_decoded(picture):
    content = encoded(picture, "baseline")
    thumbnail = b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    assert read_jpeg(content[:2] + thumbnail + content[2:]) == read_jpeg(content)


@pytest.mark.parametrize("marker", [0xC3, 0xC9, 0xCA])
def test_kinds_whose_codes_are_not_known_are_refused(marker, picture):
    content = encoded(picture, "baseline")
    assert refused(content.replace(b"\xff\xc0", bytes([0xFF, marker])))


def test_a_height_that_is_told_afterwards_is_refused(picture):
    content = encoded(picture, "baseline")
    at = content.index(b"\xff\xc0") + 5
    assert refused(content[:at] + bytes(2) + content[at + 2 :])


def test_a_file_of_many_scans_is_refused(picture):
    content = encoded(picture, "progressive")
    first = content.index(b"\xff\xda")
    scan = content[first : content.index(b"\xff", content.index(b"\xff\xda") + 2)]
    assert refused(content[:first] + 40 * scan + content[first:])


def test_damage_of_any_kind_is_an_error_that_the_reader_knows(picture, rng):
    for kind in KINDS:
        content = bytearray(encoded(picture, kind))
        for place in rng.integers(2, len(content), 25):
            spoiled = content.copy()
            spoiled[place] ^= 1 << int(rng.integers(8))
            refused(bytes(spoiled))


def test_a_claim_that_so_few_bytes_cannot_keep_is_refused(picture):
    content = encoded(picture, "baseline")
    at = content.index(b"\xff\xc0") + 5
    with pytest.raises(InputError, match="frame: claims 9000x9000 pixels in"):
        decode_image(content[:at] + struct.pack(">HH", 9000, 9000) + content[at + 4 :], "frame")


def test_a_file_cut_in_its_scan_is_refused_with_its_name(picture):
    content = encoded(picture, "baseline")
    with pytest.raises(InputError, match="frame: is cut off or damaged"):
        decode_image(content[: len(content) // 2] + END, "frame")
