"""Image files: what is read is what was recorded, and what is not whole or not thermal is refused in one line."""

import struct
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from tmapr.artifacts.images import read_image, write_png
from tmapr.artifacts.sheet import draw_contact_sheet
from tmapr.exceptions import InputError

SHAPE = (48, 64)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def scene(rng):
    """A smooth 14-bit scene: noise would hide what JPEG does to a picture."""
    rough = rng.integers(3000, 6000, SHAPE).astype(np.uint16)
    return cv2.GaussianBlur(rough, (0, 0), 4) * np.uint16(2)


def gray(scene):
    return cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


def encoded(suffix, image, *options):
    return cv2.imencode(suffix, image, list(options))[1].tobytes()


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_chunks(png, *extra):
    """The PNG with chunks after its header, which has 25 bytes behind the signature."""
    return png[:33] + b"".join(chunk(kind, content) for kind, content in extra) + png[33:]


def camera_tiff(image, order):
    """As cameras write them: the directory before the pixels, two strips, tags out of order, one of the maker's own."""
    height, width = image.shape
    half = height // 2
    sizes = [half * width * image.itemsize, (height - half) * width * image.itemsize]
    arrays = 8 + 2 + 12 * 10 + 4
    pixels = arrays + 16
    longs = [(256, 1, width), (257, 1, height), (278, 1, half), (273, 2, arrays), (279, 2, arrays + 8), (65000, 1, 7)]
    shorts = [(258, 8 * image.itemsize), (259, 1), (262, 1), (277, 1)]
    content = struct.pack(f"{order}2sHIH", b"II" if order == "<" else b"MM", 42, 8, 10)
    content += b"".join(struct.pack(f"{order}HHII", tag, 4, count, value) for tag, count, value in longs)
    content += b"".join(struct.pack(f"{order}HHIHxx", tag, 3, 1, value) for tag, value in shorts)
    content += bytes(4) + struct.pack(f"{order}4I", pixels, pixels + sizes[0], *sizes)
    return content + image.astype(image.dtype.newbyteorder(order)).tobytes()


LOSSLESS = {
    "8-bit PNG": lambda scene: (gray(scene), encoded(".png", gray(scene))),
    "16-bit PNG": lambda scene: (scene, encoded(".png", scene)),
    "8-bit TIFF": lambda scene: (gray(scene), encoded(".tiff", gray(scene))),
    "16-bit TIFF": lambda scene: (scene, encoded(".tiff", scene)),
    "plain TIFF": lambda scene: (scene, encoded(".tiff", scene, cv2.IMWRITE_TIFF_COMPRESSION, 1)),
    "little-endian TIFF": lambda scene: (scene, camera_tiff(scene, "<")),
    "big-endian TIFF": lambda scene: (scene, camera_tiff(scene, ">")),
    "gray in three channels": lambda scene: (scene, encoded(".png", cv2.merge([scene] * 3))),
    "gray with alpha": lambda scene: (scene, encoded(".png", cv2.merge([*[scene] * 3, scene // np.uint16(2)]))),
    "gray TIFF in three channels": lambda scene: (scene, encoded(".tiff", cv2.merge([scene] * 3))),
}
LOSSY = {
    "JPEG": lambda scene: (gray(scene), encoded(".jpg", gray(scene))),
    "progressive JPEG": lambda scene: (gray(scene), encoded(".jpg", gray(scene), cv2.IMWRITE_JPEG_PROGRESSIVE, 1)),
    "JPEG with restarts": lambda scene: (gray(scene), encoded(".jpg", gray(scene), cv2.IMWRITE_JPEG_RST_INTERVAL, 2)),
    "colour JPEG": lambda scene: (gray(scene), encoded(".jpg", cv2.merge([gray(scene)] * 3))),
    "JPEG with a thumbnail": lambda scene: (gray(scene), thumbnailed(scene)),
}


def thumbnailed(scene):
    """A JPEG with another whole one, end marker and all, in its first segment."""
    picture, small = encoded(".jpg", gray(scene)), encoded(".jpg", gray(scene)[::4, ::4])
    return picture[:2] + b"\xff\xe1" + struct.pack(">H", len(small) + 2) + small + picture[2:]


def refusal(path):
    """The message of the refusal, which is one line that begins with the file's name."""
    with pytest.raises(InputError) as caught:
        read_image(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("kind", LOSSLESS)
def test_counts_are_read_as_they_were_recorded(kind, scene, stored, capfd):
    counts, content = LOSSLESS[kind](scene)
    read = read_image(stored(content))
    assert read.dtype == counts.dtype
    np.testing.assert_array_equal(read, counts)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", LOSSY)
def test_a_jpeg_is_read_up_to_its_rounding(kind, scene, stored):
    counts, content = LOSSY[kind](scene)
    read = read_image(stored(content)).astype(int)
    assert np.abs(read - counts).max() <= 6


@pytest.mark.parametrize("name", ["with blanks.png", "größe °C [1]*.png", "温度.tiff", "no_suffix"])
def test_the_name_of_a_file_does_not_matter(name, tmp_path, scene):
    (tmp_path / name).write_bytes(encoded(".png", scene))
    np.testing.assert_array_equal(read_image(tmp_path / name), scene)


def cuts(length):
    """Every cut near the ends, where headers and trailers are, and some between."""
    return sorted({*range(1, min(40, length)), *range(max(length - 40, 1), length), *range(1, length, length // 25)})


@pytest.mark.parametrize("kind", LOSSLESS | LOSSY)
def test_a_file_cut_anywhere_is_refused_in_silence(kind, scene, stored, capfd):
    content = (LOSSLESS | LOSSY)[kind](scene)[1]
    for cut in cuts(len(content)):
        assert refusal(stored(content[:cut]))
    assert capfd.readouterr() == ("", "")


# Not a TIFF with its directory first: it has no checksum, and zeros are black pixels.
@pytest.mark.parametrize("kind", [kind for kind in LOSSLESS | LOSSY if "endian" not in kind])
def test_a_file_whose_end_is_zeros_is_refused(kind, scene, stored):
    """What a crash leaves of a file whose length was already on disk."""
    content = (LOSSLESS | LOSSY)[kind](scene)[1]
    half = len(content) // 2
    assert "cut off or damaged" in refusal(stored(content[:half] + bytes(len(content) - half)))


@pytest.mark.parametrize("kind", LOSSLESS | LOSSY)
@pytest.mark.parametrize("padding", [bytes(64), b"\xff" * 7, b"written by a camera"])
def test_bytes_behind_the_image_do_not_matter(kind, padding, scene, stored, capfd):
    content = (LOSSLESS | LOSSY)[kind](scene)[1]
    np.testing.assert_array_equal(read_image(stored(content + padding)), read_image(stored(content)))
    assert capfd.readouterr().err == ""


@budget(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.sampled_from([PNG, b"II*\0", b"MM\0*", b"\xff\xd8\xff", b""]), rest=st.binary(max_size=200))
def test_no_bytes_whatever_get_past_the_reader(start, rest, stored):
    assert refusal(stored(start + rest))


def test_one_wrong_bit_in_a_png_is_refused_in_silence(scene, stored, rng, capfd):
    content = encoded(".png", scene)
    for at in rng.integers(8, len(content), 200):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        assert refusal(stored(bytes(damaged)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("at", [2, 20])
def test_stray_bytes_between_the_parts_of_a_jpeg_are_refused_in_silence(at, scene, stored, capfd):
    """The first segment has 18 bytes behind the start marker. libjpeg would skip the strays and print a complaint."""
    content = encoded(".jpg", gray(scene))
    assert content[at] == 0xFF
    assert refusal(stored(content[:at] + b"stray" + content[at:]))
    assert capfd.readouterr() == ("", "")


OPTIONAL = [(b"iCCP", b"junk\0\0" + zlib.compress(bytes(200))), (b"gAMA", bytes(4)), (b"tEXt", b"no separator")]


def test_a_png_s_optional_parts_change_nothing_and_cause_no_complaint(scene, stored, capfd):
    np.testing.assert_array_equal(read_image(stored(with_chunks(encoded(".png", scene), *OPTIONAL))), scene)
    assert capfd.readouterr().err == ""


REFUSED = {
    "nothing": (lambda scene: b"", "is empty"),
    "text": (lambda scene: b"frame,stamp\n1,2\n", "is not a PNG, TIFF or JPEG image; convert it"),
    "BMP": (lambda scene: encoded(".bmp", gray(scene)), "is not a PNG, TIFF or JPEG image; convert it"),
    "float TIFF": (lambda scene: encoded(".tiff", scene.astype(np.float32)), "holds float32 values; export"),
    "signed TIFF": (lambda scene: encoded(".tiff", scene.astype(np.int16)), "holds int16 values; export"),
    "no pixels": (lambda scene: PNG + chunk(b"IHDR", bytes(13)) + chunk(b"IEND", b""), "damaged"),
    "a giant": (
        lambda scene: PNG + chunk(b"IHDR", struct.pack(">IIBBBBB", 10**5, 10**5, 8, 0, 0, 0, 0)) + chunk(b"IEND", b""),
        "impossible",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_thermal_image_is_refused_with_the_reason(kind, scene, stored):
    content, reason = REFUSED[kind]
    assert reason in refusal(stored(content(scene)))


def test_a_missing_file_is_refused(tmp_path):
    assert "no such image" in refusal(tmp_path / "frame.png")


def test_a_folder_is_refused(tmp_path):
    assert "cannot be read (Is a directory)" in refusal(tmp_path)


@pytest.mark.parametrize("suffix", [".png", ".tiff", ".jpg"])
@pytest.mark.parametrize("palette", [cv2.COLORMAP_JET, cv2.COLORMAP_INFERNO, cv2.COLORMAP_BONE])
def test_a_false_colour_picture_is_refused(suffix, palette, scene, stored):
    message = refusal(stored(encoded(suffix, cv2.applyColorMap(gray(scene), palette))))
    assert "is a false-colour picture" in message
    assert "export the raw counts, or a white-hot gray image" in message


@pytest.mark.parametrize(("shift", "accepted"), [(2, True), (3, False)])
def test_channels_may_differ_by_two_counts_on_average(shift, accepted, scene, stored):
    plane = gray(scene) // np.uint8(2)
    path = stored(encoded(".png", cv2.merge([plane, plane, plane + np.uint8(shift)])))
    if accepted:
        assert np.abs(read_image(path).astype(int) - plane).max() <= shift
    else:
        assert f"differ by {shift}.0 counts" in refusal(path)


def test_every_gray_of_16_bits_survives_three_channels(stored):
    every = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    np.testing.assert_array_equal(read_image(stored(encoded(".png", cv2.merge([every] * 3)))), every)


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_what_is_written_is_read_back(depth, tmp_path, rng):
    counts = rng.integers(0, np.iinfo(depth).max, SHAPE, endpoint=True).astype(depth)
    write_png(tmp_path / "new/frame.png", counts)
    np.testing.assert_array_equal(read_image(tmp_path / "new/frame.png"), counts)


def test_colours_are_written_red_first(tmp_path):
    picture = np.zeros((*SHAPE, 3), np.uint8)
    picture[..., 0] = 200
    write_png(tmp_path / "red.png", picture)
    blue_first = cv2.imread(str(tmp_path / "red.png"), cv2.IMREAD_COLOR)
    assert blue_first[0, 0].tolist() == [0, 0, 200]


def test_a_picture_is_written_under_no_other_suffix(tmp_path):
    with pytest.raises(InputError, match=r"sheet\.jpg: pictures are written as PNG"):
        write_png(tmp_path / "sheet.jpg", np.zeros(SHAPE, np.uint8))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_beside_what_is_written(tmp_path, scene):
    for _ in range(2):
        write_png(tmp_path / "frame.png", scene)
    assert [path.name for path in tmp_path.iterdir()] == ["frame.png"]


BACKGROUND = 24


def columns_with_ink(sheet):
    return np.flatnonzero((sheet != BACKGROUND).any(axis=(0, 2)))


def test_a_sheet_holds_its_pictures_at_one_width_in_rows():
    pictures = [np.full((40 + 20 * index, 100), 100 + index, np.uint8) for index in range(5)]
    sheet = draw_contact_sheet([("", picture) for picture in pictures], columns=2, width=50)
    for index, picture in enumerate(pictures):
        assert (sheet == 100 + index).all(axis=2).sum() == 50 * len(picture) // 2
    assert sheet.shape[1] == 2 * 50 + 3 * 8


def test_a_sheet_keeps_the_order_of_reading():
    cells = [("", np.full((50, 50), 100 + index, np.uint8)) for index in range(4)]
    sheet = draw_contact_sheet(cells, columns=2, width=50)
    corners = [np.argwhere((sheet == 100 + index).all(axis=2)).min(axis=0).tolist() for index in range(4)]
    assert corners == sorted(corners)
    assert corners[0][0] == corners[1][0] < corners[2][0] == corners[3][0]


def test_a_sheet_takes_colours_and_grays():
    red = np.zeros((50, 50, 3), np.uint8)
    red[..., 0] = 255
    sheet = draw_contact_sheet([("", red), ("", np.full((50, 50), 255, np.uint8))], columns=2, width=50)
    assert (sheet == (255, 0, 0)).all(axis=2).sum() == 2500
    assert (sheet == 255).all(axis=2).sum() == 2500


@pytest.mark.parametrize("caption", ["a name", "24 °C in größe", "a name\nand a second line", "x" * 500])
def test_a_caption_is_written_under_its_picture_and_not_beside_it(caption):
    background = np.full((50, 120), BACKGROUND, np.uint8)
    inked = columns_with_ink(draw_contact_sheet([(caption, background), ("", background)], columns=2, width=120))
    assert len(inked)
    assert 8 <= inked.min() <= inked.max() < 8 + 120


def test_a_caption_too_long_for_its_picture_ends_in_dots():
    sheet = draw_contact_sheet([("x" * 500, np.full((50, 120), BACKGROUND, np.uint8))], columns=1, width=120)
    inked = columns_with_ink(sheet)
    last = (sheet[:, inked.max() - 5 : inked.max() + 1] != BACKGROUND).any(axis=(1, 2))
    assert 1 <= last.sum() <= 3


def test_a_caption_has_a_line_for_each_of_its_lines():
    picture = np.zeros((50, 120), np.uint8)
    heights = [len(draw_contact_sheet([(caption, picture)], columns=1, width=120)) for caption in ("", "a", "a\nb")]
    assert heights[1] - heights[0] == heights[2] - heights[1] > 0


@pytest.mark.parametrize(("cells", "columns", "width"), [(0, 2, 50), (1, 0, 50), (1, 2, 0)])
def test_a_sheet_of_nothing_is_refused(cells, columns, width):
    with pytest.raises(ValueError, match=f"got {cells}, {columns} and {width}"):
        draw_contact_sheet([("", np.zeros((50, 50), np.uint8))] * cells, columns, width)
