"""A recording as if it were driven now: as fast as it goes, or at so many times its own rate; frames of a program."""

import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from tmapr.data.bag import Topics
from tmapr.data.opening import open_path
from tmapr.exceptions import InputError
from tmapr.inputs import read_frame
from tmapr.live.events import Arrival, Event, Start
from tmapr.types import NANOSECONDS, Frame, Odometry

Given = Event | Frame | tuple[np.ndarray, int] | tuple[np.ndarray, int, Odometry | None]


class Recorded:
    """A folder, a bag or a video. With a rate, frames come by their stamps, and some may be dropped."""

    def __init__(self, path: Path, topics: Topics, rate: float = 0.0) -> None:
        if not 0 <= rate < float("inf"):
            raise InputError(f"--rate {rate:g}: must be 0, for as fast as it goes, or how often as fast as recorded")
        self.name = str(path)
        self.waits = rate == 0
        self._rate = rate
        self._sequence = open_path(path, topics)
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Event]:
        """The frames in their order."""
        began, first = time.monotonic(), None
        for frame in self._sequence:
            first = frame.stamp if first is None else first
            if self._rate:
                due = began + (frame.stamp - first) / NANOSECONDS / self._rate
                self._closed.wait(max(0.0, due - time.monotonic()))
            if self._closed.is_set():
                return
            yield Arrival(frame)

    def close(self) -> None:
        """End before the next frame."""
        self._closed.set()


class Iterated:
    """Whatever a program gives: frames, images with their stamps, or events."""

    name = "program"

    def __init__(self, given: Iterable[Given], waits: bool = False) -> None:
        self.waits = waits
        self._given = given
        self._closed = False

    def __iter__(self) -> Iterator[Event]:
        """In the order in which they are given; each has arrived when it is."""
        for each in self._given:
            if self._closed:
                return
            if isinstance(each, Arrival | Start):
                yield each
                continue
            image, stamp, motion = (each, None, None) if isinstance(each, Frame) else (*each, None)[:3]
            yield Arrival(read_frame(image, stamp, motion), None if self.waits else time.monotonic_ns())

    def close(self) -> None:
        """End when the program gives the next one: nobody can take a program's iterator from it."""
        self._closed = True
