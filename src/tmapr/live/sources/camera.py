"""A camera by Video4Linux: its counts in 16 bits where the driver gives them (Y16), else gray in 8 bits.

A frame is stamped when it is handed over, on the clock that all others use; the driver's own stamps are of another one.
A camera that goes away is opened again when it comes back.
"""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tmapr.artifacts.images import Counts, measure_colour, silent_opencv
from tmapr.data.video import MAX_COLOUR
from tmapr.exceptions import InputError
from tmapr.live.events import Arrival, Event
from tmapr.types import Frame

_AGAIN = 1.0
"""Seconds between attempts at a camera that is gone."""


class Camera:
    """One that OpenCV can open: /dev/video0."""

    waits = False

    def __init__(self, device: Path) -> None:
        self.name = str(device)
        self._device = device
        self._closed = threading.Event()
        self._capture = self._open()
        if self._capture is None:
            raise InputError(f"{device}: cannot be opened as a camera; `v4l2-ctl --list-devices` names those there are")
        first = self._read()
        if first is not None:
            first()  # what no frame of it can be read from is refused now

    def __iter__(self) -> Iterator[Event]:
        """The frames as the driver gives them."""
        index = 0
        while not self._closed.is_set():
            image = self._read()
            if image is None:
                self._closed.wait(_AGAIN)
                self._capture = self._capture or self._open()
                continue
            yield Arrival(Frame("camera", index, time.time_ns(), image), time.monotonic_ns())
            index += 1
        if self._capture is not None:
            self._capture.release()

    def close(self) -> None:
        """Let go of the camera after the frame that is being read."""
        self._closed.set()

    def _open(self) -> Any:
        import cv2

        with silent_opencv():
            capture = cv2.VideoCapture(str(self._device), cv2.CAP_V4L2)
            if not capture.isOpened():
                return None
            capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"Y16 "))
            capture.set(cv2.CAP_PROP_CONVERT_RGB, 0)
            capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)  # the newest frame, not the oldest that waits
        return capture

    def _read(self) -> Callable[[], Counts] | None:
        """What gives the counts of the next picture; None while the camera is gone."""
        if self._capture is None:
            return None
        with silent_opencv():
            came, picture = self._capture.read()
        if not came:
            self._capture.release()
            self._capture = None
            return None
        width, height = (int(self._capture.get(side)) for side in (3, 4))
        return partial(unpack_picture, picture.copy(), width, height, self.name)


def unpack_picture(picture: np.ndarray, width: int, height: int, where: str) -> Counts:
    """The counts in what OpenCV hands over unconverted: 16-bit gray, its bytes in a row, YUYV, 8-bit gray or BGR."""
    if picture.dtype == np.uint16 and picture.ndim == 2:
        return picture
    planes = picture.shape[2] if picture.ndim == 3 else 1
    if picture.dtype != np.uint8:
        planes = 0
    if planes == 1 and picture.size == 2 * width * height:
        return np.ascontiguousarray(picture).reshape(-1).view("<u2").reshape(height, width)
    if planes == 1 and picture.size == width * height:
        return picture.reshape(height, width)
    if planes == 2:  # brightness and colour by turns
        return np.ascontiguousarray(picture[:, :, 0])
    if planes == 3:
        blue, green, red = (np.ascontiguousarray(picture[:, :, plane]) for plane in range(3))
        if measure_colour([blue, green, red]) > MAX_COLOUR:
            raise InputError(f"{where}: gives false colours; choose a gray palette or 16-bit counts in its settings")
        return blue
    given = f"{picture.dtype} of shape {picture.shape}"
    raise InputError(f"{where}: gives pictures of {given}, which are no counts; set it to Y16 or gray")
