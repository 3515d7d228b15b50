"""Videos: what is read is what was filmed, at the times that the container tells; what is no video is never opened."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from commandline import command
from tmapr.data.coordinates import from_degrees, tangent_plane
from tmapr.data.folder import read_folder
from tmapr.data.video import VIDEOS, read_video
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame, Odometry

HEIGHT, WIDTH, FRAMES, TENTH = 128, 160, 12, 100_000_000
LOSSLESS = [
    ("FFV1", "mkv", np.uint8),
    ("FFV1", "mkv", np.uint16),
    ("FFV1", "avi", np.uint16),
    ("Y800", "avi", np.uint8),
]
LOSSY = [("VP80", "webm"), ("MJPG", "avi"), ("mp4v", "mp4"), ("mp4v", "mov"), ("VP80", "mkv")]
AWAY = [0, 33, 67, 105, 700, 733, 800, 2500, 2600, 2700, 2800, 2900]


def scene(number, dtype=np.uint8):
    """A picture with fine and coarse structure that moves on; in 16 bits its counts are those of a thermal camera."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    waves = np.sin((columns + 5 * number) / 9) * np.cos(rows / 17)
    return (110 + 90 * waves).astype(np.uint8) if dtype is np.uint8 else (7000 + 900 * waves).astype(np.uint16)


def film(path, codec="FFV1", pictures=None, rate=10.0):
    """Write pictures as OpenCV does, gray or coloured."""
    pictures = [scene(number) for number in range(FRAMES)] if pictures is None else pictures
    shape, depth = (pictures[0].shape, pictures[0].dtype) if pictures else ((HEIGHT, WIDTH, 3), np.uint8)
    options = [cv2.VIDEOWRITER_PROP_IS_COLOR, int(len(shape) == 3)]
    options += [cv2.VIDEOWRITER_PROP_DEPTH, cv2.CV_16U] if depth == np.uint16 else []
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter.fourcc(*codec), rate, shape[1::-1], options)
    assert writer.isOpened()
    for picture in pictures:
        writer.write(picture)
    writer.release()
    return path


def colour(gray):
    return cv2.cvtColor(gray, cv2.COLOR_GRAY2BGR)


def stamps(sequence):
    return [frame.stamp for frame in sequence]


def refusal(path):
    """The one line, which begins with the file's name, that answers the attempt to go through a video."""
    with pytest.raises(InputError) as caught:
        list(read_video(path, "drive"))
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("codec", "suffix", "dtype"), LOSSLESS)
def test_a_lossless_video_is_read_as_it_was_filmed_to_the_bit(tmp_path, codec, suffix, dtype):
    filmed = [scene(number, dtype) for number in range(FRAMES)]
    sequence = read_video(film(tmp_path / f"drive.{suffix}", codec, filmed), "night")
    assert (sequence.name, len(sequence), sequence.frame) == ("night", FRAMES, CoordinateFrame())
    for row, (frame, picture) in enumerate(zip(sequence, filmed, strict=True)):
        assert (frame.sequence, frame.index, frame.stamp) == ("night", row, row * TENTH)
        assert (frame.position, frame.heading, frame.file, frame.motion) == (None, None, None, None)
        assert frame.image().dtype == dtype
        np.testing.assert_array_equal(frame.image(), picture)


@pytest.mark.parametrize(("codec", "suffix"), LOSSY)
def test_a_lossy_video_is_read_as_the_gray_of_its_pictures(tmp_path, codec, suffix):
    filmed = [scene(number) for number in range(FRAMES)]
    path = film(tmp_path / f"drive.{suffix}", codec, [colour(picture) for picture in filmed])
    for frame, picture in zip(read_video(path, "night"), filmed, strict=True):
        assert frame.image().dtype == np.uint8
        assert cv2.PSNR(frame.image(), picture) > 30  # dB: the neighbour in time has 20
    assert cv2.PSNR(scene(0), scene(1)) < 22


def test_stamps_are_the_containers_where_the_rate_varies(tmp_path):
    path = film(tmp_path / "drive.mkv")
    content, at = bytearray(path.read_bytes()), 0
    for row, moment in enumerate(AWAY):  # each block of Matroska's begins with its track and its time in ms
        block = b"\x81" + struct.pack(">h", 100 * row) + (b"\0" if row else b"\x80")
        at = content.index(block, at) + 1
        content[at : at + 2] = struct.pack(">h", moment)
    path.write_bytes(content)
    assert stamps(read_video(path, "drive")) == [moment * 1_000_000 for moment in AWAY]


def test_every_pass_begins_at_the_first_frame_and_leaves_no_file_open(tmp_path):
    sequence = read_video(film(tmp_path / "drive.mkv"), "drive")
    first, second = (np.stack([frame.image() for frame in sequence]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    held = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    assert not any(name.startswith(str(tmp_path)) for name in held)


def test_a_table_beside_a_video_says_when_and_where_its_frames_were_taken(tmp_path):
    path = film(tmp_path / "drive.mkv")
    lon, lat = 9.19 + np.arange(FRAMES) * 1e-5, np.full(FRAMES, 48.78)
    rows = [f"{1_700_000_000 + row / 8},{lon[row]:.6f},{lat[row]},0.5,7.5" for row in range(FRAMES)]
    rows[3] = "1700000000.375,,,,"
    (tmp_path / "drive.csv").write_text("\n".join(["stamp,lon,lat,heading,speed", *rows]))
    sequence = read_video(path, "drive")
    frames = list(sequence)
    assert stamps(frames) == [(1_700_000_000 * 8 + row) * 125_000_000 for row in range(FRAMES)]
    assert sequence.frame == tangent_plane(lon[0], lat[0])
    expected = from_degrees(lon, lat, sequence.frame)
    np.testing.assert_allclose(
        [frame.position for frame in frames if frame.index != 3], np.delete(expected, 3, 0), atol=1e-9
    )
    assert (frames[3].position, frames[3].heading, frames[3].motion) == (None, None, None)
    assert (frames[4].heading, frames[4].motion) == (0.5, Odometry(7.5))
    np.testing.assert_array_equal(frames[4].image(), scene(4))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stamp,x,y\n0,1,2\n", "has 1 rows, drive.mkv has 12 frames; give it a row for each frame"),
        ("time,x,y\n" + "0,1,2\n" * FRAMES, "needed are stamp and at most one pair"),
        ("stamp,x\n" + "0,1\n" * FRAMES, "needed are stamp and at most one pair"),
        ("stamp,x,y\n" + "0,1,far\n" * FRAMES, "line 2: y is 'far', not a number"),
        ("", "lists no frame"),
    ],
)
def test_a_wrong_table_is_refused_by_its_name(tmp_path, text, words):
    path = film(tmp_path / "drive.mkv")
    (tmp_path / "drive.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_video(path, "drive")
    assert str(caught.value).startswith(str(tmp_path / "drive.csv"))
    assert words in str(caught.value)


def test_the_content_is_told_apart_by_the_video_and_by_its_table(tmp_path):
    path, table = film(tmp_path / "drive.mkv"), tmp_path / "drive.csv"
    plain = read_video(path, "drive")
    assert read_video(path, "drive").whole == plain.whole != ""
    table.write_text("stamp\n" + "".join(f"{row}\n" for row in range(FRAMES)))
    listed = read_video(path, "drive")
    table.write_text("stamp\n" + "".join(f"{row + 10}\n" for row in range(FRAMES)))
    wholes = {plain.whole, listed.whole, read_video(path, "drive").whole}
    film(path, pictures=[scene(number) for number in range(5)])
    table.unlink()
    shorter = read_video(path, "drive")
    assert (len(shorter), len(wholes | {shorter.whole})) == (5, 4)


@pytest.mark.parametrize(("codec", "suffix"), [("FFV1", "mkv"), ("VP80", "webm"), ("MJPG", "avi")])
def test_of_a_video_that_was_cut_off_the_frames_that_are_there_are_read(tmp_path, codec, suffix):
    filmed = [colour(scene(number)) for number in range(FRAMES)]
    whole = film(tmp_path / f"whole.{suffix}", codec, filmed)
    content = whole.read_bytes()
    cut = tmp_path / f"cut.{suffix}"
    cut.write_bytes(content[: 8 * len(content) // 10])
    there = read_video(cut, "cut")
    assert FRAMES // 2 <= len(there) < FRAMES  # the first picture is longer than the others
    # Of the last one a decoder may make what it can.
    for frame, picture in list(zip(there, read_video(whole, "whole"), strict=False))[:-1]:
        assert frame.stamp == picture.stamp
        np.testing.assert_array_equal(frame.image(), picture.image())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_an_mp4_that_was_cut_off_has_no_index_and_is_refused(tmp_path, share):
    path = film(tmp_path / "drive.mp4", "mp4v", [colour(scene(number)) for number in range(FRAMES)])
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert refusal(path).endswith("cannot be decoded; it is cut off or damaged, or OpenCV's FFmpeg lacks its codec")


def test_a_video_without_frames_is_refused(tmp_path):
    assert refusal(film(tmp_path / "drive.avi", "MJPG", [])).endswith(
        "holds no frame that can be decoded; is it whole?"
    )


def test_a_playlist_that_calls_itself_a_video_is_not_followed(tmp_path):
    secret = film(tmp_path / "secret.webm", "VP80", [colour(scene(0))])
    path = tmp_path / "drive.mp4"
    path.write_text(f"ffconcat version 1.0\nfile {secret.name}\n")
    assert cv2.VideoCapture(str(path), cv2.CAP_FFMPEG).read()[0]  # FFmpeg alone shows the other file
    assert refusal(path).endswith("holds no MP4, MOV, AVI, Matroska or WebM; convert it to one of them")


@pytest.mark.parametrize(
    "content",
    [b"", b"\0", b"#EXTM3U\nother.ts\n", b"<?xml version='1.0'?><MPD/>", b"RIFF\0\0\0\0WAVEfmt ", b"GIF89a" * 9],
)
def test_what_begins_as_no_video_does_is_refused(tmp_path, content):
    path = tmp_path / f"drive{VIDEOS[len(content) % len(VIDEOS)]}"
    path.write_bytes(content)
    assert "holds no MP4" in refusal(path)


@pytest.mark.parametrize("start", [b"\0\0\0\x18ftypisom", b"\x1a\x45\xdf\xa3", b"RIFF\xff\xff\0\0AVI LIST"])
def test_a_good_beginning_alone_is_no_video(tmp_path, rng, start):
    path = tmp_path / "drive.mkv"
    path.write_bytes(start + rng.bytes(5000))
    assert "cannot be decoded" in refusal(path)


@pytest.mark.parametrize(("codec", "suffix"), [("FFV1", "mkv"), ("VP80", "webm"), ("MJPG", "avi"), ("mp4v", "mp4")])
def test_a_video_damaged_anywhere_gives_frames_or_a_refusal(tmp_path, rng, codec, suffix):
    whole = film(tmp_path / f"drive.{suffix}", codec, [colour(scene(number)) for number in range(4)]).read_bytes()
    read, refusals = 0, []
    for attempt in range(24):
        content = bytearray(whole)
        for at in rng.integers(12, len(content) if attempt % 2 else 800, 8):
            content[at] = rng.integers(256)
        path = tmp_path / f"{attempt}.{suffix}"
        path.write_bytes(content)
        try:
            read += all(frame.stamp is not None for frame in read_video(path, "drive"))
        except InputError as error:
            refusals.append(str(error).startswith(str(path)))
    assert all(refusals)
    assert read + len(refusals) == 24
    assert min(read, len(refusals)) > 0


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "drive.mp4")
    assert "is a FIFO" in refusal(tmp_path / "drive.mp4")
    assert refusal(tmp_path / "none.mp4").endswith("no such file")


def test_a_size_that_no_memory_should_hold_is_refused(tmp_path):
    path = film(tmp_path / "drive.avi", "Y800")
    content = path.read_bytes()
    size = struct.pack("<ii", WIDTH, HEIGHT)
    assert content.count(size) >= 1
    path.write_bytes(content.replace(size, struct.pack("<ii", 12_000, 11_000)))
    assert "claims 12000x11000 pixels of 24 bits, which are more than 256 MiB" in refusal(path)


def test_a_picture_in_false_colours_among_gray_ones_is_refused_by_its_number(tmp_path):
    pictures = [colour(scene(number)) for number in range(FRAMES)]
    pictures[4] = cv2.applyColorMap(scene(4), cv2.COLORMAP_JET)
    frames = list(read_video(film(tmp_path / "drive.mkv", "FFV1", pictures), "drive"))
    np.testing.assert_array_equal(frames[5].image(), scene(5))
    with pytest.raises(InputError, match=r"drive\.mkv, frame 4: is in false colours"):
        frames[4].image()


def test_a_small_mark_in_colour_leaves_a_gray_video_gray(tmp_path):
    picture = colour(scene(0))
    picture[4:16, 4:30] = (0, 0, 255)
    (frame,) = read_video(film(tmp_path / "drive.mkv", "FFV1", [picture]), "drive")
    np.testing.assert_array_equal(frame.image()[20:], scene(0)[20:])


def test_gray_of_more_than_8_bits_that_opencv_cannot_give_is_refused(tmp_path):
    path = film(tmp_path / "drive.mkv", "png ", [scene(0, np.uint16)])  # the higher byte first
    assert "OpenCV reads 8 bits of its gray, which has more; convert it" in refusal(path)


def test_a_video_that_shrinks_under_its_reader_is_told(tmp_path):
    path = film(tmp_path / "drive.mkv")
    sequence = read_video(path, "drive")
    film(path, pictures=[scene(number) for number in range(5)])
    with pytest.raises(InputError, match="changed while it was read: it had 12 frames, and ends after 5"):
        list(sequence)


def test_import_writes_the_pictures_and_the_times_of_a_video(tmp_path):
    path = film(tmp_path / "drive.mkv", "FFV1", [scene(number, np.uint16) for number in range(FRAMES)])
    assert command("import", path, tmp_path / "out", "--quiet") == 0
    written = read_folder(tmp_path, "out")
    assert stamps(written) == [row * TENTH for row in range(FRAMES)]
    for number, frame in enumerate(written):
        np.testing.assert_array_equal(frame.image(), scene(number, np.uint16))


def test_check_tells_of_a_cut_video_without_a_word_of_the_decoders(tmp_path):
    path = film(tmp_path / "drive.webm", "VP80", [colour(scene(number)) for number in range(FRAMES)])
    path.write_bytes(path.read_bytes()[:-200])
    # In a process of its own: FFmpeg is told to be silent once, before the first video of a process.
    said = subprocess.run([sys.executable, "-m", "tmapr", "check", path], capture_output=True, text=True)
    assert (said.returncode, said.stderr, "160x128, 8 bit" in said.stdout) == (0, "", True)
