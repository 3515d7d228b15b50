"""One read and one decode of an image for all that is kept of it: the digest and the keypoints beside the percept.

Whoever encodes asks for images in threads, in any order; what each tells besides is noted there, and taken in order.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tmapr.artifacts.images import decode_image, open_image
from tmapr.artifacts.sources import UNREADABLE, digest_content, digest_file
from tmapr.data.survey import digest_counts
from tmapr.exceptions import InputError
from tmapr.keypoints import NOTHING, Keypoints
from tmapr.types import Frame, Picture


class Note(NamedTuple):
    """What is kept of an image beside its percept: a digest and, unless nobody wants them, its keypoints."""

    content: str
    keypoints: Keypoints | None


class ImageReader:
    """Frames whose images are noted when they are read; `find` gives the keypoints of a content, if they are wanted."""

    def __init__(self, find: Callable[[str, Picture], Keypoints | None]) -> None:
        self._find = find
        self._notes: dict[int, Note] = {}

    def attach(self, row: int, frame: Frame) -> Frame:
        """The same frame, noted under its row when its image is read."""
        return replace(frame, image=partial(self._read, row, frame))

    def take(self, row: int) -> Note:
        """What was noted, which is forgotten."""
        return self._notes.pop(row)

    def _read(self, row: int, frame: Frame) -> Picture:
        content = UNREADABLE
        try:
            if frame.file is None:
                counts = frame.image()
                content = digest_counts(counts)
            else:
                data = open_image(frame.file)
                content = digest_content(data)
                counts = decode_image(data, str(frame.file))
        except InputError:
            if content == UNREADABLE and frame.file:
                content = digest_file(frame.file)  # one that is too large for an image has a digest too
            self._notes[row] = Note(content, NOTHING)
            raise
        self._notes[row] = Note(content, self._find(content, counts))
        return counts
