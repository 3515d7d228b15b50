"""Pictures of the map's references, for as long as the recordings that were mapped are at hand."""

import os
from tempfile import TemporaryFile

import cv2
import numpy as np

from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.live.viewer.moments import BOX, UNREADABLE
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.page.footage import read_picture
from tmapr.retrieval.memory import Memory
from tmapr.types import Frame

_QUALITY = 85


class ReferencePictures:
    """By their rows in the map. A traverse is opened when one of its references is asked for the first time.

    Matches come in any order. Images that are files are read when they are asked for; those of bags and videos come
    only in their order, so that all that are references are laid aside once, in a file that has no name.
    """

    def __init__(self, experiment: Experiment, memory: Memory) -> None:
        self._experiment, self._memory = experiment, memory
        self._traverses: dict[str, dict[int, Frame | slice] | str] = {}
        """What is known of each reference, by its frame; or in words why nothing is."""
        self._aside = TemporaryFile()  # noqa: SIM115 - closed by `close`

    def read(self, row: int) -> PagePicture | str:
        """The picture of a reference, or in words why there is none."""
        name = str(self._memory.sequences[row])
        if name not in self._traverses:
            self._traverses[name] = self._open(name)
        known = self._traverses[name]
        if isinstance(known, str):
            return known
        kept = known.get(int(self._memory.frames[row]))
        found = self._take(kept) if isinstance(kept, slice) else self._see(kept) if kept else None
        return UNREADABLE if found is None else found

    def close(self) -> None:
        """Forget what was laid aside."""
        self._aside.close()

    def _open(self, name: str) -> dict[int, Frame | slice] | str:
        """One pass; an image is of use only if it has the stamp of the frame that was mapped."""
        rows = np.flatnonzero(self._memory.sequences == name)
        stamps = dict(zip(self._memory.frames[rows].tolist(), self._memory.stamps[rows].tolist(), strict=True))
        found: dict[int, Frame | slice] = {}
        at = f"at {self._experiment.data.root}"
        try:
            for frame in open_data(self._experiment.data, name):
                if frame.index not in stamps:
                    continue
                if frame.stamp != stamps[frame.index]:
                    return f"images of {name} {at} are of another recording"
                if frame.file is not None:
                    found[frame.index] = frame
                elif (picture := self._see(frame)) is not None:
                    found[frame.index] = self._lay(picture)
        except (InputError, OSError):
            return f"images of {name} are not {at}"
        return found

    def _see(self, frame: Frame) -> PagePicture | None:
        try:
            return read_picture(frame, self._experiment.perception.image, BOX)
        except OSError:  # the file went since
            return None

    def _lay(self, picture: PagePicture) -> slice:
        _, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        start = self._aside.seek(0, os.SEEK_END)
        return slice(start, start + self._aside.write(encoded.tobytes()))

    def _take(self, kept: slice) -> PagePicture | None:
        self._aside.seek(kept.start)
        return cv2.imdecode(np.frombuffer(self._aside.read(kept.stop - kept.start), np.uint8), cv2.IMREAD_GRAYSCALE)
