"""A JPEG is whole if every code of its scans is there; a decoder would fill the rest with gray."""

import struct

import cv2
import numpy as np
import pytest

from tmapr.artifacts.images import decode_image
from tmapr.artifacts.jpeg import prove_jpeg, read_jpeg_size
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


def decoded(content):
    return cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)


def refused(content):
    try:
        prove_jpeg(content)
    except (ValueError, LookupError, struct.error):
        return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_passes_and_decodes_to_the_same_pixels(kind, picture):
    content = encoded(picture, kind)
    np.testing.assert_array_equal(decoded(prove_jpeg(content)), decoded(content))
    assert read_jpeg_size(content)[:2] == picture.shape[:2]


@pytest.mark.parametrize("kind", KINDS)
def test_no_byte_of_a_scan_can_be_cut_off(kind, picture):
    content = encoded(picture, kind)
    scan = content.index(b"\xff\xda")
    whole = [cut for cut in range(scan, len(content) - 2, 3) if not refused(content[:cut] + END)]
    # The last byte of a scan may be nothing but what fills it up.
    assert len(whole) <= 1


def test_what_lies_between_the_segments_is_not_decoded(picture):
    content = encoded(picture, "baseline")
    thumbnail = b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    assert thumbnail not in prove_jpeg(content[:2] + thumbnail + content[2:])


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


def test_a_file_cut_in_its_scan_is_refused_with_its_name(picture):
    content = encoded(picture, "baseline")
    with pytest.raises(InputError, match="frame: is cut off or damaged"):
        decode_image(content[: len(content) // 2] + END, "frame")
