"""The probe says of a file's two ends what reading it says of all of it, and is fooled by no cut."""

import struct
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from tmapr.artifacts import probe as room
from tmapr.artifacts.images import read_image
from tmapr.artifacts.probe import ImageHeader, probe
from tmapr.exceptions import InputError

SHAPE = (48, 64)
PNG = b"\x89PNG\r\n\x1a\n"


def scene(depth):
    """A smooth picture of the depth in bits."""
    rough = np.random.default_rng(7).integers(3000, 6000, SHAPE).astype(np.float32)
    smooth = cv2.normalize(cv2.GaussianBlur(rough, (0, 0), 4), None, 10, 2**depth - 10, cv2.NORM_MINMAX)
    return smooth.astype(np.uint8 if depth == 8 else np.uint16)


def encoded(suffix, image, *options):
    return cv2.imencode(suffix, image, list(options))[1].tobytes()


def camera_tiff(order, *, strips=2, sample_format=None, behind=b""):
    """As cameras write them: the directory before the pixels, several strips, and a text behind everything."""
    image = scene(16)
    height, width = image.shape
    rows = height // strips
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1)]
    arrays = 8 + 2 + 12 * (9 + (sample_format is not None) + bool(behind)) + 4
    pixels = arrays + 8 * strips
    end = pixels + image.nbytes
    tags += [(273, 4, strips, arrays), (277, 3, 1, 1), (278, 4, 1, rows), (279, 4, strips, arrays + 4 * strips)]
    tags += [(305, 2, len(behind), end)] if behind else []
    tags += [(339, 3, 1, sample_format)] if sample_format is not None else []
    content = struct.pack(f"{order}2sHIH", b"II" if order == "<" else b"MM", 42, 8, len(tags))
    for tag, kind, count, value in tags:
        content += struct.pack(f"{order}HHI{'Hxx' if kind == 3 and count == 1 else 'I'}", tag, kind, count, value)
    each = rows * width * 2
    places = [pixels + strip * each for strip in range(strips)]
    content += bytes(4) + struct.pack(f"{order}{2 * strips}I", *places, *[each] * strips)
    return content + image.astype(image.dtype.newbyteorder(order)).tobytes() + behind


def thumbnailed():
    """A JPEG with another whole one, end marker and all, in its first segment."""
    picture, small = encoded(".jpg", scene(8)), encoded(".jpg", scene(8)[::4, ::4])
    return picture[:2] + b"\xff\xe1" + struct.pack(">H", len(small) + 2) + small + picture[2:]


WHOLE = {
    "8-bit PNG": (8, encoded(".png", scene(8))),
    "16-bit PNG": (16, encoded(".png", scene(16))),
    "1-bit PNG": (8, encoded(".png", scene(8), cv2.IMWRITE_PNG_BILEVEL, 1)),
    "gray PNG in three channels": (16, encoded(".png", cv2.merge([scene(16)] * 3))),
    "8-bit TIFF": (8, encoded(".tiff", scene(8))),
    "16-bit TIFF": (16, encoded(".tiff", scene(16))),
    "gray TIFF in three channels": (16, encoded(".tiff", cv2.merge([scene(16)] * 3))),
    "little-endian TIFF": (16, camera_tiff("<")),
    "big-endian TIFF": (16, camera_tiff(">", strips=4)),
    "TIFF with a text at its end": (16, camera_tiff("<", strips=3, behind=b"written by a camera\0")),
    "JPEG": (8, encoded(".jpg", scene(8))),
    "progressive JPEG": (8, encoded(".jpg", scene(8), cv2.IMWRITE_JPEG_PROGRESSIVE, 1)),
    "colour JPEG": (8, encoded(".jpg", cv2.merge([scene(8)] * 3))),
    "JPEG with a thumbnail": (8, thumbnailed()),
}


@pytest.fixture
def unread(monkeypatch):
    """Reading a whole file fails the test."""

    def refuse(path):
        raise AssertionError(f"{path} was read whole")

    monkeypatch.setattr(room, "read_image", refuse)


def refusal(path):
    with pytest.raises(InputError) as caught:
        probe(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", WHOLE)
def test_size_and_depth_come_from_the_ends_alone(kind, stored, unread):
    depth, content = WHOLE[kind]
    assert probe(stored(content)) == ImageHeader(*SHAPE, depth)


@pytest.mark.parametrize("kind", WHOLE)
def test_the_probe_says_what_the_reader_says(kind, stored):
    path = stored(WHOLE[kind][1])
    assert probe(path) == ImageHeader.of(read_image(path))


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_cut_anywhere_is_refused(kind, stored):
    content = WHOLE[kind][1]
    near = {*range(60), *range(max(len(content) - 60, 0), len(content)), *range(0, len(content), 37)}
    for cut in sorted(near):
        refusal(stored(content[:cut]))


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("padding", [bytes(7), b"\xff" * 64, bytes(5000)], ids=len)
def test_bytes_behind_the_image_are_no_reason_to_refuse_it(kind, padding, stored):
    depth, content = WHOLE[kind]
    assert probe(stored(content + padding)) == ImageHeader(*SHAPE, depth)


@pytest.mark.parametrize("kind", [kind for kind in WHOLE if "endian" not in kind and "text" not in kind])
def test_a_file_whose_second_half_is_zeros_is_refused(kind, stored):
    content = WHOLE[kind][1]
    half = len(content) // 2
    assert "cut off or damaged" in refusal(stored(content[:half] + bytes(len(content) - half)))


def test_a_thumbnails_end_is_not_the_end(stored):
    content = thumbnailed()
    end_of_thumbnail = content.index(b"\xff\xd9") + 2
    refusal(stored(content[:end_of_thumbnail]))


def claiming(width, height, bits=16):
    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")]
    packed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return PNG + b"".join(packed)


@pytest.mark.parametrize("size", [(32_768, 32_000), (2**31 - 1, 1), (10**5, 10**5), (400, 400)])
def test_a_claim_that_no_deflated_bytes_can_keep_is_refused_before_anybody_believes_it(size, stored, unread):
    assert f"claims {size[0]}x{size[1]} pixels in" in refusal(stored(claiming(*size)))


def test_a_blank_image_is_no_empty_claim(stored, unread):
    """Deflate shrinks zeros a thousandfold; nothing that an encoder wrote lies above that."""
    assert probe(stored(encoded(".png", np.zeros((2048, 2048), np.uint16)))) == ImageHeader(2048, 2048, 16)


REFUSED = {
    "nothing": (b"", "is empty"),
    "text": (b"stamp,file\n" * 9, "is not a PNG, TIFF or JPEG"),
    "signed TIFF": (camera_tiff("<", sample_format=2), "holds int16 values"),
    "float TIFF": (encoded(".tiff", scene(16).astype(np.float32)), "holds float32 values"),
    "PNG without pixels": (claiming(0, 0), "damaged"),
    "PNG with another width": (
        WHOLE["16-bit PNG"][1].replace(struct.pack(">I", 64), struct.pack(">I", 65), 1),
        "damaged",
    ),
    "PNG with a wrong header": (WHOLE["16-bit PNG"][1].replace(b"IHDR", b"IHDX"), "damaged"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_thermal_image_is_refused_with_the_readers_reason(kind, stored):
    content, reason = REFUSED[kind]
    assert reason in refusal(stored(content))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "no such image" in refusal(tmp_path / "frame.png")
    assert "cannot be read" in refusal(tmp_path)


@budget(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.sampled_from([PNG, b"II*\0", b"MM\0*", b"\xff\xd8\xff", b""]), rest=st.binary(max_size=200))
def test_no_bytes_whatever_get_past_the_probe(start, rest, stored):
    refusal(stored(start + rest))
