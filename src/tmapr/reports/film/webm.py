"""WebM with VP8, which every browser plays and whose encoder comes with OpenCV's wheel; written frame by frame."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import cv2

from tmapr.artifacts.letters import Pixels
from tmapr.exceptions import InputError

_ROOM = 1 << 20
"""Bytes that a disk must still have after a film was written to it: more than an encoder holds back."""


class WebmWriter:
    """Writes the frames of a video into an open file."""

    def __init__(self, stream: IO[bytes], rate: float) -> None:
        self._stream, self._rate = stream, rate
        self._writer: cv2.VideoWriter | None = None
        self._frames = 0

    def write(self, pixels: Pixels) -> None:
        """The next frame; all are of one size."""
        if self._writer is None:
            self._writer = self._open(pixels.shape[1], pixels.shape[0])
        self._writer.write(pixels)
        self._frames += 1

    def finish(self) -> None:
        """Ends the file, and proves that it is whole: the encoder does not say where a disk was full."""
        if self._writer is not None:
            self._writer.release()
        size = self._stream.seek(0, os.SEEK_END)
        self._stream.write(bytes(_ROOM))
        self._stream.truncate(size)
        with _named(self._stream) as name:
            if not _has_frame(name, self._frames - 1):
                raise InputError("the film could not be written to its end; is the disk full?")

    def _open(self, width: int, height: int) -> cv2.VideoWriter:
        # The encoder goes by a name, and has opened the file when it is made.
        with _named(self._stream) as name, _hushed():
            codec = cv2.VideoWriter.fourcc(*"VP80")
            writer = cv2.VideoWriter(name, cv2.CAP_FFMPEG, codec, self._rate, (width, height))
        if not writer.isOpened():
            raise InputError("this OpenCV writes no WebM; name a .gif with --out, or install opencv-python-headless")
        return writer


@contextmanager
def _named(stream: IO[bytes]) -> Iterator[str]:
    """A name with the suffix by which the format is known; the file's own ends otherwise until it is whole."""
    with TemporaryDirectory(prefix="tmapr-film-") as folder:
        link = Path(folder) / "film.webm"
        link.symlink_to(f"/dev/fd/{stream.fileno()}")
        yield str(link)


def _has_frame(name: str, number: int) -> bool:
    reader = cv2.VideoCapture(name, cv2.CAP_FFMPEG)
    reader.set(cv2.CAP_PROP_POS_FRAMES, number)
    found, _ = reader.read()
    reader.release()
    return bool(found)


@contextmanager
def _hushed() -> Iterator[None]:
    """Around a library that writes to the standard error of the process and cannot be asked not to."""
    sys.stderr.flush()
    kept = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
