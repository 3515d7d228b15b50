"""The pictures of a film: those of the drive as they come, those of its matches from a file.

A film may be of any length, so no picture is kept in memory: the drive is read once and in its order. Matches come in
any order; each is read once, before the film begins, and laid aside on disk in a file that has no name.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import cv2
import numpy as np

from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.page.footage import AbsentError, group_by_traverse, stream_pictures
from tmapr.reports.reported import ReportedRun, ReportedSequence

UNREADABLE = "this image cannot be read"
_BOX = (720, 960)
"""The most rows and columns of a picture: a film's frame has no room for more."""


class Reel:
    """The pictures of a drive; `absent` says why there is none, where there is none."""

    def __init__(self, run: ReportedRun, sequence: ReportedSequence, rows: Sequence[int]) -> None:
        stamps = {row: int(sequence.table.stamps[row]) for row in rows}
        self._pictures = stream_pictures(run.experiment, sequence.name, stamps, _BOX)
        self._row = -1
        self._picture: PagePicture | None = None
        self.absent = UNREADABLE
        self.wind(rows[0])

    @property
    def shape(self) -> tuple[int, int] | None:
        """Rows and columns of the picture that was wound to."""
        if self._picture is None:
            return None
        height, width = self._picture.shape
        return height, width

    def wind(self, row: int) -> PagePicture | None:
        """The picture of a row; rows are to come in their order."""
        try:
            while self._row < row:
                self._row, self._picture = next(self._pictures)
        except StopIteration:
            self._row, self._picture = row, None
        except AbsentError as absent:
            self._row, self._picture, self.absent = row, None, str(absent)
        return self._picture


class Shelf:
    """Pictures of references, by their rows in the map."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the shelf
        self._places: dict[int, tuple[int, int]] = {}
        self._absent: dict[str, str] = {}

    def __enter__(self) -> "Shelf":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what a full disk did not take is of no use any more
            self._file.close()

    def lay(self, run: ReportedRun, rows: Iterable[int]) -> Iterator[None]:
        """Lay these references aside, one at a time; each traverse is gone through once."""
        memory = run.memory
        for name, wanted in group_by_traverse(memory, rows).items():
            stamps = {int(memory.frames[row]): int(memory.stamps[row]) for row in wanted}
            known = {int(memory.frames[row]): row for row in wanted}
            try:
                for frame, picture in stream_pictures(run.experiment, name, stamps, _BOX):
                    if picture is not None:
                        self._keep(known[frame], picture)
                    yield
            except AbsentError as absent:
                self._absent[name] = str(absent)

    def take(self, row: int) -> PagePicture | None:
        """The picture of a reference."""
        if row not in self._places:
            return None
        start, length = self._places[row]
        self._file.seek(start)
        return cv2.imdecode(np.frombuffer(self._file.read(length), np.uint8), cv2.IMREAD_GRAYSCALE)

    def explain(self, traverse: str) -> str:
        """Why there is no picture of a traverse's frame."""
        return self._absent.get(traverse, UNREADABLE)

    def _keep(self, row: int, picture: PagePicture) -> None:
        _, encoded = cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 1])
        start = self._file.seek(0, os.SEEK_END)
        self._places[row] = (start, self._file.write(encoded.tobytes()))
