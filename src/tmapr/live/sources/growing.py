"""A folder into which somebody writes images while it is watched: those that come after the beginning, by their names.

A stamp is the one in the name, else the time at which the file was written. Files should be moved into the folder when
they are whole; one that is not is tried again for a while.
"""

import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tmapr.artifacts.images import read_image
from tmapr.data.names import list_files
from tmapr.data.stamps import is_stamp, parse_stamp
from tmapr.exceptions import InputError
from tmapr.live.events import Arrival, Event
from tmapr.types import Frame

_SUFFIXES = (".png", ".tif", ".tiff", ".jpg", ".jpeg")
_PAUSE = 0.02
_UNFINISHED = 1.0
"""Seconds for which a file that cannot be read may still be written."""


class Growing:
    """Watches a folder. What is there already is the past."""

    waits = False

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder}: is no folder; name one that images are written into")
        self.name = str(folder)
        self._folder = folder
        self._known = set(self._list())
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Event]:
        """The images as they come; those that came together in the order of their names."""
        index = 0
        while not self._closed.is_set():
            found = self._list()
            new = sorted(set(found) - self._known)
            self._known &= set(found)  # a folder that is emptied now and then keeps no list of what was in it
            for name in new:
                file = self._folder / name
                if self._closed.is_set() or not self._is_whole(file):
                    break
                self._known.add(name)
                yield Arrival(_make_frame(file, index), time.monotonic_ns())
                index += 1
            self._closed.wait(_PAUSE)

    def close(self) -> None:
        """Watch no longer."""
        self._closed.set()

    def _list(self) -> list[str]:
        try:
            return [name for name in list_files(self._folder) if name.lower().endswith(_SUFFIXES) and name[0] != "."]
        except (InputError, OSError):  # it may be unmounted for a moment
            return []

    def _is_whole(self, file: Path) -> bool:
        """Whether it can be read, or can no longer be hoped for: then its frame is faulty."""
        try:
            read_image(file)
        except InputError:
            try:
                return time.time() - os.stat(file).st_mtime > _UNFINISHED
            except OSError:
                return True
        return True


def _make_frame(file: Path, index: int) -> Frame:
    try:
        stamp = parse_stamp(file.stem, str(file)) if is_stamp(file.stem) else os.stat(file).st_mtime_ns
    except OSError:
        stamp = time.time_ns()
    return Frame(file.parent.name, index, stamp, partial(read_image, file), file=file)
