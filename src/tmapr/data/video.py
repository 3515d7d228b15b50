"""Videos, decoded by the FFmpeg in OpenCV's wheel: their brightness as 8-bit gray, or 16-bit gray where they hold it.

A frame's stamp is its presentation time, from 0 at the first: containers keep these for each frame, whatever the rate.
How many frames there are is known only by decoding them, so that a video is gone through once when it is opened, as far
as it is whole. Frames come in their order and hold their pictures, each for as long as the frame itself is held.

Beside DRIVE.mp4 there may be DRIVE.csv with a row for each frame: when and where it was taken, in the columns of
`frames.csv` without the file.

OpenCV gives 16-bit gray (FFV1, gray16le) bit for bit if it is asked not to convert, and nothing else of more than 8
bits: what it calls raw is then one plane of a picture, read as if it had 8.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Int, UInt8, UInt16

from tmapr.artifacts.images import Counts, measure_colour, silent_opencv
from tmapr.artifacts.sources import digest_states
from tmapr.data.columns import Listed, read_columns
from tmapr.data.poses import Poses
from tmapr.data.sequence import Sequence, make_frame
from tmapr.data.trajectory import read_table
from tmapr.exceptions import InputError
from tmapr.files import open_regular, refuse_pixels
from tmapr.types import CoordinateFrame, Frame

VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm")

_BOXES = (b"ftyp", b"moov", b"mdat", b"wide")
_MATROSKA = b"\x1a\x45\xdf\xa3"
_GRAY16 = b"Y1\0\x10"
_DEEP = (*(b"Y1\0" + bytes([bits]) for bits in (9, 10, 12, 14)), *(bytes([bits]) + b"\x001Y" for bits in range(9, 17)))
"""Gray of more than 8 bits that OpenCV cannot give: 9 to 14 of them, or the higher byte first."""

MAX_COLOUR = 8.0
"""Counts between the channels of a gray video, on average: coarse steps of its chroma leave a few, palettes tens."""

_MOST = 2_000_000
"""Frames: a day at 23 Hz. A file of a few bytes can claim any number."""

Picture = UInt8[np.ndarray, "height width 3"] | UInt16[np.ndarray, "height width"]


@dataclass(frozen=True, slots=True)
class _Footage:
    """A video's presentation times, and whether its counts have 16 bits."""

    stamps: Int[np.ndarray, " frames"]
    deep: bool


def read_video(path: Path, name: str, frame: CoordinateFrame | None = None) -> Sequence:
    """The frames of a video, as far as it is whole; positions where the table beside it has them."""
    _prove_container(path)
    table = path.with_suffix(".csv")
    beside = os.path.lexists(table)
    footage = _scan(path, digest_states([path], str(path.absolute())))
    listed = _read_beside(path, table, len(footage.stamps), frame) if beside else _list_times(footage, frame)
    start = partial(_play, path, name, footage.deep, listed)
    whole = digest_states([path, table] if beside else [path])
    return Sequence(name, listed.frame, len(footage.stamps), start, whole)


def _prove_container(path: Path) -> None:
    """Refuse what is no video by its first bytes: FFmpeg would follow a playlist of that name to any other file."""
    try:
        with open_regular(path) as stream:
            start = stream.read(12)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if not (start[4:8] in _BOXES or start[:4] == _MATROSKA or (start[:4], start[8:]) == (b"RIFF", b"AVI ")):
        raise InputError(f"{path}: holds no MP4, MOV, AVI, Matroska or WebM; convert it to one of them")


@lru_cache(maxsize=64)
def _scan(path: Path, state: str) -> _Footage:  # noqa: ARG001 (a file that changed is another one)
    """Decode a video once, without keeping a picture: mapping opens a sequence several times."""
    stamps: list[int] = []
    with _opened(path) as (capture, deep):
        while capture.grab():
            if not stamps and (first := capture.retrieve())[0]:
                _take_gray(first[1], str(path))  # a palette is refused before hours of it are decoded
            if len(stamps) == _MOST:
                raise InputError(f"{path}: has more than {_MOST} frames; cut it into shorter ones")
            stamps.append(round(capture.get(cv2.CAP_PROP_POS_MSEC) * 1_000_000))
    if not stamps:
        raise InputError(f"{path}: holds no frame that can be decoded; is it whole?")
    return _Footage(np.array(stamps, np.int64), deep)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[cv2.VideoCapture, bool]]:
    """A video before its first frame, and whether its pictures will have 16 bits."""
    capture = _open(path)
    try:
        layout = int(capture.get(cv2.CAP_PROP_CODEC_PIXEL_FORMAT)) & 0xFFFFFFFF
        tag = layout.to_bytes(4, "little")
        if tag in _DEEP:
            raise InputError(
                f"{path}: OpenCV reads 8 bits of its gray, which has more; convert it: `ffmpeg -i IN -c:v ffv1 -pix_fmt"
                " gray16le OUT.mkv`"
            )
        deep = tag == _GRAY16
        width, height = (int(capture.get(side)) for side in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
        refuse_pixels(str(path), height, width, 16 if deep else 24)
        if deep:
            capture.release()
            capture = _open(path, cv2.CAP_PROP_CONVERT_RGB, 0)
        yield capture, deep
    finally:
        capture.release()


def _open(path: Path, *options: int) -> cv2.VideoCapture:
    # A path from the root: what begins otherwise may be an address to FFmpeg.
    with silent_opencv():
        capture = cv2.VideoCapture(str(path.absolute()), cv2.CAP_FFMPEG, options)
    if not capture.isOpened():
        raise InputError(f"{path}: cannot be decoded; it is cut off or damaged, or OpenCV's FFmpeg lacks its codec")
    return capture


def _play(path: Path, name: str, deep: bool, listed: Listed) -> Iterator[Frame]:
    count = len(listed.poses.stamps)
    with _opened(path) as (capture, now):
        for row in range(count):
            found, picture = capture.read()
            if not found or now != deep:
                raise InputError(f"{path}: changed while it was read: it had {count} frames, and ends after {row}")
            image = partial(_take_gray, picture, f"{path}, frame {row}")
            yield make_frame(name, row, listed.poses, listed.motion, image)


def _take_gray(picture: Picture, where: str) -> Counts:
    """The counts of a decoded picture; a palette cannot be undone, and its brightness need not follow temperature."""
    if picture.ndim == 2:
        return picture
    colour = measure_colour(cv2.split(picture))
    if colour > MAX_COLOUR:
        raise InputError(
            f"{where}: is in false colours (its channels differ by {colour:.1f} counts on average); record it in gray,"
            " or take its brightness, which need not follow temperature: `ffmpeg -i IN -vf format=gray OUT.mkv`"
        )
    return cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)


def _list_times(footage: _Footage, frame: CoordinateFrame | None) -> Listed:
    unknown = np.full((len(footage.stamps), 2), np.nan)
    return Listed(Poses(footage.stamps, unknown, unknown[:, 0]), unknown, frame or CoordinateFrame())


def _read_beside(video: Path, path: Path, frames: int, frame: CoordinateFrame | None) -> Listed:
    table = read_table(path)
    listed = read_columns(table, frame, needed=("stamp",))
    if len(table.lines) != frames:
        raise InputError(
            f"{path}: has {len(table.lines)} rows, {video.name} has {frames} frames; give it a row for each frame, or"
            " another name if it is of something else"
        )
    return listed
