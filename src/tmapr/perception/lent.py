"""Glances in memory that two processes map: what is large is put into a frame's place, what is small is told.

place   counts | picture | sketch
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped, UInt8

from tmapr.config import Settings
from tmapr.exceptions import InputError
from tmapr.perception.glance import UNREADABLE, Glance, Glancer
from tmapr.perception.gyroscope import LARGEST_SKETCH, Sight
from tmapr.perception.image import Image
from tmapr.types import Fault

Told = list[Any] | None
"""As JSON has it: shape and type of counts, whether a network is given something or why not, sizes to compare."""

_LINE = 64
"""Bytes of a cache line: arrays begin at multiples of it."""


class Task(Settings):
    """What a process is told once: how to look at images, and how many of them, of how many bytes, have a place."""

    image: Image
    size: tuple[int, int]
    compares: bool
    prepares: bool
    frames: int
    counts: int

    @property
    def glancer(self) -> Glancer:
        """What looks at images so."""
        return Glancer(self.image, self.size, self.compares, self.prepares)

    @property
    def starts(self) -> tuple[int, int, int]:
        """Where pictures and sketches begin in a place, and where it ends."""
        picture = _round_up(self.counts)
        sketch = picture + _round_up(self.size[0] * self.size[1])
        return picture, sketch, sketch + _round_up(4 * LARGEST_SKETCH)


class Places:
    """Memory for the glances of one chunk."""

    def __init__(self, task: Task, memory: UInt8[np.ndarray, " bytes"]) -> None:
        self._task = task
        self._rows = memory.reshape(task.frames, task.starts[2])

    def put(self, number: int, glance: Glance) -> Told:
        """Keep a glance in a place; ValueError for one that cannot be lent: too large, or refused."""
        counts, picture, sight = glance
        if counts is None:
            return None
        if counts.nbytes > self._task.counts or isinstance(picture, InputError):
            raise ValueError("whoever asked has to look at this image")
        self._find(number, 0, counts.shape, counts.dtype)[...] = counts
        at_picture, at_sketch, _ = self._task.starts
        if isinstance(picture, np.ndarray) and self._task.prepares:
            self._find(number, at_picture, picture.shape, np.uint8)[...] = picture
        sketch = sight.sketch if sight else None
        if sketch is not None:
            self._find(number, at_sketch, sketch.shape, np.float32)[...] = sketch
        fault = picture.value if isinstance(picture, Fault) else isinstance(picture, np.ndarray)
        return [counts.shape, counts.dtype.str, fault, sight and sight.size, None if sketch is None else sketch.shape]

    def take(self, number: int, told: Told) -> Glance:
        """The same glance. Its counts stay in their place and are gone with the next chunk; all else is copied."""
        if told is None:
            return UNREADABLE
        shape, dtype, pictured, size, sketched = told
        at_picture, at_sketch, _ = self._task.starts
        counts = self._find(number, 0, shape, dtype)
        picture = self._find(number, at_picture, self._task.size, np.uint8) if self._task.prepares else counts
        sketch = self._find(number, at_sketch, sketched, np.float32).copy() if sketched else None
        given = Fault(pictured) if isinstance(pictured, str) else picture.copy() if pictured else None
        return Glance(counts, given, Sight(tuple(size), sketch) if size else None)

    def _find(self, number: int, start: int, shape: Sequence[int], dtype: Any) -> Shaped[np.ndarray, "..."]:
        kind = np.dtype(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        return self._rows[number, start : start + size].view(kind).reshape(shape)


def _round_up(size: int) -> int:
    return -(-size // _LINE) * _LINE
