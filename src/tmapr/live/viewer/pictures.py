"""Pictures of the map's references, for as long as the recordings that were mapped are at hand."""

import os
from tempfile import TemporaryFile
from threading import Event, Lock, Thread

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
_PATIENCE = 2.0
"""Seconds in which a folder is listed, whatever its size; a drive does not wait for more than that."""


class ReferencePictures:
    """By their rows in the map; matches come in any order.

    Images that are files are read when they are asked for. Those of bags and videos come only in their order: all that
    are references are laid aside once, in a file that has no name. Meanwhile, which may take minutes, there is none.
    """

    def __init__(self, experiment: Experiment, memory: Memory) -> None:
        self._experiment, self._memory = experiment, memory
        self._traverses: dict[str, dict[int, Frame | slice] | str] = {}
        """What is known of each reference, by its frame; or in words why nothing is."""
        self._aside = TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._using, self._closed = Lock(), Event()
        self._opening = Thread(target=self._open_all, name="tmapr pictures", daemon=True)
        self._opening.start()
        self._opening.join(_PATIENCE)

    def wait(self) -> None:
        """Until all of them are at hand, for whoever is in no hurry."""
        self._opening.join()

    def read(self, row: int) -> PagePicture | str:
        """The picture of a reference, or in words why there is none."""
        name = str(self._memory.sequences[row])
        known = self._traverses.get(name, f"images of {name} are still being read")
        if isinstance(known, str):
            return known
        kept = known.get(int(self._memory.frames[row]))
        found = self._take(kept) if isinstance(kept, slice) else self._see(kept) if kept else None
        return UNREADABLE if found is None else found

    def close(self) -> None:
        """Forget what was laid aside."""
        self._closed.set()
        self._opening.join(_PATIENCE)
        with self._using:
            self._aside.close()

    def _open_all(self) -> None:
        for name in np.unique(self._memory.sequences).tolist():
            self._traverses[name] = self._open(name)

    def _open(self, name: str) -> dict[int, Frame | slice] | str:
        """One pass; an image is of use only if it has the stamp of the frame that was mapped."""
        rows = np.flatnonzero(self._memory.sequences == name)
        stamps = dict(zip(self._memory.frames[rows].tolist(), self._memory.stamps[rows].tolist(), strict=True))
        found: dict[int, Frame | slice] = {}
        absent = f"images of {name} are not at {self._experiment.data.root}"
        try:
            for frame in open_data(self._experiment.data, name):
                if self._closed.is_set():
                    return absent
                if frame.index not in stamps:
                    continue
                if frame.stamp != stamps[frame.index]:
                    return f"images of {name} at {self._experiment.data.root} are of another recording"
                if frame.file is not None:
                    found[frame.index] = frame
                elif (picture := self._see(frame)) is not None:
                    found[frame.index] = self._lay(picture)
        except (InputError, OSError):
            return absent
        return found

    def _see(self, frame: Frame) -> PagePicture | None:
        try:
            return read_picture(frame, self._experiment.perception.image, BOX)
        except OSError:  # the file went since
            return None

    def _lay(self, picture: PagePicture) -> slice:
        _, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        with self._using:
            start = self._aside.seek(0, os.SEEK_END)
            return slice(start, start + self._aside.write(encoded.tobytes()))

    def _take(self, kept: slice) -> PagePicture | None:
        with self._using:
            self._aside.seek(kept.start)
            encoded = self._aside.read(kept.stop - kept.start)
        return cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_GRAYSCALE)
