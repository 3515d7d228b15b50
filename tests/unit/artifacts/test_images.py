"""Image files: what is read is what was recorded; what is not whole or not thermal is refused in one line.

A probe looks at a file's two ends alone, says what reading it says of all of it, and is fooled by no cut.
"""

import struct
import zlib

import cv2
import numpy as np
import pytest

from tmapr.artifacts import probe as room
from tmapr.artifacts.images import read_image, write_png
from tmapr.artifacts.probe import ImageHeader, probe
from tmapr.artifacts.sheet import draw_contact_sheet
from tmapr.exceptions import InputError

SHAPE = (48, 64)
PNG = b"\x89PNG\r\n\x1a\n"
BOTH = pytest.mark.parametrize("read", [read_image, probe])


def smooth(depth):
    """A smooth picture of the depth in bits: noise would hide what JPEG does to it."""
    rough = np.random.default_rng(7).integers(3000, 6000, SHAPE).astype(np.float32)
    scene = cv2.normalize(cv2.GaussianBlur(rough, (0, 0), 4), None, 10, 2**depth - 10, cv2.NORM_MINMAX)
    return scene.astype(np.uint8 if depth == 8 else np.uint16)


GRAY, COUNTS = smooth(8), smooth(16)


def encoded(suffix, image, *options):
    return cv2.imencode(suffix, image, list(options))[1].tobytes()


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def claiming(width, height, bits=16):
    """A PNG of a few bytes whose header promises so many pixels."""
    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    return PNG + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


def camera_tiff(order, *, strips=2, sample_format=None, behind=b""):
    """As cameras write them: the directory before the pixels, several strips, and a text behind everything."""
    height, width = SHAPE
    rows = height // strips
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1)]
    arrays = 8 + 2 + 12 * (9 + (sample_format is not None) + bool(behind)) + 4
    pixels = arrays + 8 * strips
    tags += [(273, 4, strips, arrays), (277, 3, 1, 1), (278, 4, 1, rows), (279, 4, strips, arrays + 4 * strips)]
    tags += [(305, 2, len(behind), pixels + COUNTS.nbytes)] if behind else []
    tags += [(339, 3, 1, sample_format)] if sample_format is not None else []
    content = struct.pack(f"{order}2sHIH", b"II" if order == "<" else b"MM", 42, 8, len(tags))
    for tag, kind, count, value in tags:
        content += struct.pack(f"{order}HHI{'Hxx' if kind == 3 and count == 1 else 'I'}", tag, kind, count, value)
    each = rows * width * 2
    places = [pixels + strip * each for strip in range(strips)]
    content += bytes(4) + struct.pack(f"{order}{2 * strips}I", *places, *[each] * strips)
    return content + COUNTS.astype(COUNTS.dtype.newbyteorder(order)).tobytes() + behind


def thumbnailed():
    """A JPEG with another whole one, end marker and all, in its first segment."""
    picture, small = encoded(".jpg", GRAY), encoded(".jpg", GRAY[::4, ::4])
    return picture[:2] + b"\xff\xe1" + struct.pack(">H", len(small) + 2) + small + picture[2:]


LOSSLESS = {
    "8-bit PNG": (GRAY, encoded(".png", GRAY)),
    "16-bit PNG": (COUNTS, encoded(".png", COUNTS)),
    "8-bit TIFF": (GRAY, encoded(".tiff", GRAY)),
    "16-bit TIFF": (COUNTS, encoded(".tiff", COUNTS)),
    "plain TIFF": (COUNTS, encoded(".tiff", COUNTS, cv2.IMWRITE_TIFF_COMPRESSION, 1)),
    "little-endian TIFF": (COUNTS, camera_tiff("<")),
    "big-endian TIFF": (COUNTS, camera_tiff(">", strips=4)),
    "endian TIFF with a text at its end": (COUNTS, camera_tiff("<", strips=3, behind=b"written by a camera\0")),
    "gray in three channels": (COUNTS, encoded(".png", cv2.merge([COUNTS] * 3))),
    "gray with alpha": (COUNTS, encoded(".png", cv2.merge([*[COUNTS] * 3, COUNTS // np.uint16(2)]))),
    "gray TIFF in three channels": (COUNTS, encoded(".tiff", cv2.merge([COUNTS] * 3))),
}
LOSSY = {
    "JPEG": encoded(".jpg", GRAY),
    "progressive JPEG": encoded(".jpg", GRAY, cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    "JPEG with restarts": encoded(".jpg", GRAY, cv2.IMWRITE_JPEG_RST_INTERVAL, 2),
    "colour JPEG": encoded(".jpg", cv2.merge([GRAY] * 3)),
    "JPEG with a thumbnail": thumbnailed(),
}
WHOLE = {kind: content for kind, (_, content) in LOSSLESS.items()} | LOSSY


def refusal(read, path):
    """The message of the refusal, which is one line that begins with the file's name."""
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.fixture
def unread(monkeypatch):
    """Reading a whole file fails the test."""

    def refuse(path):
        raise AssertionError(f"{path} was read whole")

    monkeypatch.setattr(room, "read_image", refuse)


@pytest.mark.parametrize("kind", LOSSLESS)
def test_counts_are_read_as_they_were_recorded(kind, stored, capfd):
    counts, content = LOSSLESS[kind]
    np.testing.assert_array_equal(read_image(stored(content)), counts, strict=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", LOSSY)
def test_a_jpeg_is_read_up_to_its_rounding(kind, stored):
    assert np.abs(read_image(stored(LOSSY[kind])).astype(int) - GRAY).max() <= 6


@pytest.mark.parametrize("kind", WHOLE)
def test_a_probe_says_of_the_ends_alone_what_the_reader_says(kind, stored, unread):
    path = stored(WHOLE[kind])
    assert probe(path) == ImageHeader.of(read_image(path))


@pytest.mark.parametrize("name", ["with blanks.png", "größe °C [1]*.png", "温度.tiff", "no_suffix"])
def test_the_name_of_a_file_does_not_matter(name, tmp_path):
    (tmp_path / name).write_bytes(WHOLE["16-bit PNG"])
    np.testing.assert_array_equal(read_image(tmp_path / name), COUNTS)


def cuts(length):
    """Every cut near the ends, where headers and trailers are, and some between."""
    return sorted({*range(min(40, length)), *range(max(length - 40, 1), length), *range(1, length, length // 25)})


@BOTH
@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_cut_anywhere_is_refused_in_silence(kind, read, stored, capfd):
    for cut in cuts(len(WHOLE[kind])):
        assert refusal(read, stored(WHOLE[kind][:cut]))
    assert capfd.readouterr() == ("", "")


# Not a TIFF with its directory first: it has no checksum, and zeros are black pixels.
@BOTH
@pytest.mark.parametrize("kind", [kind for kind in WHOLE if "endian" not in kind])
def test_a_file_whose_end_is_zeros_is_refused(kind, read, stored):
    """What a crash leaves of a file whose length was already on disk."""
    half = len(WHOLE[kind]) // 2
    assert "damaged" in refusal(read, stored(WHOLE[kind][:half] + bytes(len(WHOLE[kind]) - half)))


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("padding", [bytes(5000), b"\xff" * 7, b"written by a camera"], ids=len)
def test_bytes_behind_the_image_do_not_matter(kind, padding, stored, capfd):
    whole = read_image(stored(WHOLE[kind]))
    path = stored(WHOLE[kind] + padding)
    np.testing.assert_array_equal(read_image(path), whole)
    assert probe(path) == ImageHeader.of(whole)
    assert capfd.readouterr().err == ""


@BOTH
def test_no_bytes_whatever_are_an_image(read, stored, rng):
    for start in (PNG, b"II*\0", b"MM\0*", b"\xff\xd8\xff", b""):
        for length in (0, 1, 5, 30, 200):
            assert refusal(read, stored(start + rng.bytes(length)))


def test_one_wrong_bit_in_a_png_is_refused_in_silence(stored, rng, capfd):
    content = WHOLE["16-bit PNG"]
    for at in rng.integers(8, len(content), 100):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        assert refusal(read_image, stored(bytes(damaged)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("at", [2, 20])
def test_stray_bytes_between_the_parts_of_a_jpeg_are_refused_in_silence(at, stored, capfd):
    """The first segment has 18 bytes behind the start marker. libjpeg would skip the strays and print a complaint."""
    content = WHOLE["JPEG"]
    assert content[at] == 0xFF
    assert refusal(read_image, stored(content[:at] + b"stray" + content[at:]))
    assert capfd.readouterr() == ("", "")


def test_a_png_s_optional_parts_change_nothing_and_cause_no_complaint(stored, capfd):
    optional = chunk(b"iCCP", b"junk\0\0" + zlib.compress(bytes(200))) + chunk(b"gAMA", bytes(4)) + chunk(b"tEXt", b"x")
    content = WHOLE["16-bit PNG"]  # whose header ends at byte 33
    np.testing.assert_array_equal(read_image(stored(content[:33] + optional + content[33:])), COUNTS)
    assert capfd.readouterr().err == ""


REFUSED = {
    "nothing": (b"", "empty"),
    "text": (b"frame,stamp\n1,2\n", "convert it"),
    "BMP": (encoded(".bmp", GRAY), "convert it"),
    "float TIFF": (encoded(".tiff", COUNTS.astype(np.float32)), "float32"),
    "signed TIFF": (camera_tiff("<", sample_format=2), "int16"),
    "no pixels": (claiming(0, 0), "damaged"),
    "another width": (WHOLE["16-bit PNG"].replace(struct.pack(">I", 64), struct.pack(">I", 65), 1), "damaged"),
    "a wrong header": (WHOLE["16-bit PNG"].replace(b"IHDR", b"IHDX"), "damaged"),
    "a giant": (claiming(10**5, 10**5), ""),
}


@BOTH
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_thermal_image_is_refused_with_the_reason(kind, read, stored):
    content, reason = REFUSED[kind]
    assert reason in refusal(read, stored(content))


@pytest.mark.parametrize("size", [(32_768, 32_000), (2**31 - 1, 1), (400, 400)])
def test_a_claim_that_no_deflated_bytes_can_keep_is_refused_before_anybody_believes_it(size, stored, unread):
    assert f"claims {size[0]}x{size[1]} pixels in" in refusal(probe, stored(claiming(*size)))


@BOTH
def test_a_missing_file_and_a_folder_are_refused(read, tmp_path):
    assert "no such image" in refusal(read, tmp_path / "frame.png")
    assert "cannot be read" in refusal(read, tmp_path)


@pytest.mark.parametrize("suffix", [".png", ".tiff", ".jpg"])
@pytest.mark.parametrize("palette", [cv2.COLORMAP_JET, cv2.COLORMAP_INFERNO, cv2.COLORMAP_BONE])
def test_a_false_colour_picture_is_refused_with_what_to_export(suffix, palette, stored):
    message = refusal(read_image, stored(encoded(suffix, cv2.applyColorMap(GRAY, palette))))
    assert "false-colour" in message
    assert "export" in message


@pytest.mark.parametrize(("shift", "accepted"), [(2, True), (3, False)])
def test_channels_may_differ_by_two_counts_on_average(shift, accepted, stored):
    plane = GRAY // np.uint8(2)
    path = stored(encoded(".png", cv2.merge([plane, plane, plane + np.uint8(shift)])))
    if accepted:
        assert np.abs(read_image(path).astype(int) - plane).max() <= shift
    else:
        assert f"differ by {shift}.0 counts" in refusal(read_image, path)


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_what_is_written_is_read_back(depth, tmp_path, rng):
    counts = rng.integers(0, np.iinfo(depth).max, SHAPE, endpoint=True).astype(depth)
    write_png(tmp_path / "new/frame.png", counts)
    np.testing.assert_array_equal(read_image(tmp_path / "new/frame.png"), counts)


def test_colours_are_written_red_first(tmp_path):
    write_png(tmp_path / "red.png", np.full((*SHAPE, 3), (200, 0, 0), np.uint8))
    assert cv2.imread(str(tmp_path / "red.png"), cv2.IMREAD_COLOR)[0, 0].tolist() == [0, 0, 200]


def test_a_sheet_holds_every_picture():
    pictures = [np.full((40 + 20 * index, 100), 100 + index, np.uint8) for index in range(5)]
    sheet = draw_contact_sheet([("", picture) for picture in pictures], columns=2, width=50)
    assert all((sheet == 100 + index).any() for index in range(5))
