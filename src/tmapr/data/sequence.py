"""A sequence of frames, whatever layout it lies in on disk.

Frames are made as they are iterated over and images are read when they are asked for, so that a sequence of any length
takes the memory of its stamps and poses.
"""

from collections import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import isnan
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, Shaped

from tmapr.artifacts.images import read_image
from tmapr.data.poses import Poses
from tmapr.types import CoordinateFrame, Frame, Odometry


@dataclass(frozen=True, slots=True)
class Sequence:
    """One traverse: `start` begins a pass over its frames; `frame` says what its positions are relative to.

    `whole` names the content of a recording whose images are no files: while it stays, nothing of it has changed.
    """

    name: str
    frame: CoordinateFrame
    count: int
    start: Callable[[], Iterator[Frame]]
    whole: str = ""

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Frame]:
        return self.start()

    def __getitem__(self, part: slice) -> "Sequence":
        """Part of the sequence, or every so manieth frame of it; frames keep their index."""
        rows = range(self.count)[part]
        if rows.step < 1:
            raise ValueError(f"time runs forward: a step must be positive, got {rows.step}")
        passing = partial(_pass_over, self.start, rows)
        return replace(self, count=len(rows), start=passing)


def _pass_over(start: Callable[[], Iterator[Frame]], rows: range) -> Iterator[Frame]:
    return islice(start(), rows.start, rows.stop, rows.step)


def from_arrays(
    name: str,
    frame: CoordinateFrame,
    stamps: Int[np.ndarray, " frames"],
    image: Callable[[int], Shaped[np.ndarray, "height width"]],
    positions: Float[np.ndarray, "frames 2"],
    headings: Float[np.ndarray, " frames"],
    files: abc.Sequence[Path] | None = None,
    motion: Float[np.ndarray, "frames 2"] | None = None,
) -> Sequence:
    """The sequence whose image number i is `image(i)`; `motion` has speeds and yaw rates. NaN: there is none."""
    return _list_frames(name, frame, Poses(stamps, positions, headings), motion, lambda row: partial(image, row), files)


def _list_frames(
    name: str,
    frame: CoordinateFrame,
    poses: Poses,
    motion: Float[np.ndarray, "frames 2"] | None,
    image: Callable[[int], Callable[[], Shaped[np.ndarray, "height width"]]],
    files: abc.Sequence[Path] | None,
) -> Sequence:
    def start() -> Iterator[Frame]:
        for row in range(len(poses.stamps)):
            yield make_frame(name, row, poses, motion, image(row), files[row] if files else None)

    return Sequence(name, frame, len(poses.stamps), start)


def make_frame(
    name: str,
    row: int,
    poses: Poses,
    motion: Float[np.ndarray, "frames 2"] | None,
    image: Callable[[], Shaped[np.ndarray, "height width"]],
    file: Path | None = None,
) -> Frame:
    """The frame that a row of tables tells of, with its image."""
    position, heading = poses.positions[row], float(poses.headings[row])
    moved = None if motion is None else Odometry.from_numbers(*motion[row].tolist())
    placed = None if np.isnan(position).any() else position
    return Frame(name, row, int(poses.stamps[row]), image, placed, None if isnan(heading) else heading, file, moved)


def from_files(
    name: str,
    frame: CoordinateFrame,
    files: abc.Sequence[Path],
    poses: Poses,
    motion: Float[np.ndarray, "frames 2"] | None = None,
) -> Sequence:
    """The sequence of image files, each taken at the stamp, the pose and the motion of the same row."""
    return _list_frames(name, frame, poses, motion, lambda row: partial(read_image, files[row]), files)
