"""What the two public stereo data sets share: names of sequences and cameras, numbered files, stamps, images."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt16

from tmapr.artifacts.images import write_frame
from tmapr.data.coordinates import describe
from tmapr.data.names import scan
from tmapr.data.poses import Poses
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.types import Frame

SIDES = ("left", "right")
_MAX_SKEW = 0.01
"""How far the length of a direction in a pose file may be from 1: they are printed with few decimals."""


def write_images(sequence: Sequence, kind: str, path: Callable[[int, int], Path]) -> Poses:
    """Write every image as 16-bit PNG to `path(row, stamp)`; the poses of the frames, NaN where there is none."""
    if not len(sequence):
        raise InputError(f"{sequence.name}: has no frame to write")
    stamps, positions, headings = [], [], []
    for row, frame in enumerate(sequence):
        if frame.position is not None and sequence.frame.kind != kind:
            raise InputError(
                f"{sequence.name}: positions are in {describe(sequence.frame)}, this layout has kind {kind!r}"
            )
        write_frame(path(row, frame.stamp), _read_counts(frame))
        stamps.append(frame.stamp)
        positions.append(np.full(2, np.nan) if frame.position is None else frame.position)
        headings.append(np.nan if frame.heading is None else frame.heading)
    return Poses(np.array(stamps), np.array(positions), np.array(headings))


def _read_counts(frame: Frame) -> UInt16[np.ndarray, "height width"]:
    image = frame.image()
    if image.dtype != np.uint16:
        raise InputError(f"{frame.sequence}: image {frame.index} holds {image.dtype}; this layout has 16-bit counts")
    return image


def split_name(name: str, layout: str) -> tuple[str, str]:
    """The folder and the side of the camera that a sequence's name tells."""
    sequence, separator, side = name.partition("/")
    if not (sequence and separator and side in SIDES):
        raise InputError(f"{name!r} names no sequence of {layout} folder; write SEQUENCE/left or SEQUENCE/right")
    return sequence, side


def list_names(folder: Path) -> list[str]:
    """The names in a folder, without hidden ones: file managers leave those. No file is opened or even looked at."""
    return sorted(entry.name for entry in scan(folder) if not entry.name.startswith("."))


def refuse_skew(direction: Float[np.ndarray, "3"], where: str) -> None:
    """A column of a rotation has length 1."""
    length = float(np.linalg.norm(direction))
    if abs(length - 1) > _MAX_SKEW:
        raise InputError(f"{where}: is no pose; a column of its rotation has length {length:g} instead of 1")
