"""A recording as it is now, without its images: stamps, poses, motion, and what each image is made from.

Only images whose size or time stamp is not known are read, and where these will be read anyway, none.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.artifacts.sources import UNREAD, UNREADABLE, Sources, Trust, digest_content, digest_file
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame, Frame, Picture


@dataclass(frozen=True, slots=True)
class Survey:
    """One row a frame; NaN where there is none."""

    frame: CoordinateFrame
    stamps: Int[np.ndarray, " frames"]
    truth: Float[np.ndarray, "frames 2"]
    headings: Float[np.ndarray, " frames"]
    motion: Float[np.ndarray, "frames 2"]
    sources: Sources

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def placed(self) -> Bool[np.ndarray, " frames"]:
        """Which frames have a position."""
        return ~np.isnan(self.truth).any(axis=1)


_Known = Mapping[str, tuple[int, int, str]]


def survey(
    sequence: Sequence, root: Path, known: Sources | None = None, trust: Trust = "stamps", *, later: bool = False
) -> Survey:
    """Go through a recording once; `known` is what an earlier survey found.

    With `later` the contents of files that it did not know are left to whoever reads them.
    """
    believed: _Known = {}
    digested = frozenset(known.files if known else ()) if later else None
    if known is not None and trust == "stamps":
        sized = zip(known.sizes.tolist(), known.modified.tolist(), known.contents, strict=True)
        believed = dict(zip(known.files, sized, strict=True))
    rows, identities = list[tuple[float, ...]](), list[tuple[str, int, int, str]]()
    stamps = list[int]()
    for frame in sequence:
        stamps.append(frame.stamp)
        position = (np.nan, np.nan) if frame.position is None else frame.position.tolist()
        motion = (np.nan, np.nan) if frame.motion is None else frame.motion.numbers
        rows.append((*position, np.nan if frame.heading is None else frame.heading, *motion))
        identities.append(_identify(frame, root, believed, digested))
    files, sizes, modified, contents = zip(*identities, strict=True) if identities else ((), (), (), ())
    numbers = np.array(rows, dtype=float).reshape(-1, 5)
    sources = Sources(files, np.array(sizes, np.int64), np.array(modified, np.int64), contents, sequence.whole)
    return Survey(sequence.frame, np.array(stamps, np.int64), numbers[:, :2], numbers[:, 2], numbers[:, 3:], sources)


def _identify(frame: Frame, root: Path, believed: _Known, digested: Set[str] | None) -> tuple[str, int, int, str]:
    """The name, size, time stamp and content of a frame's image; if it is none of those to be `digested`, unread."""
    if frame.file is None:
        return "", 0, 0, UNREAD if digested is not None and "" not in digested else _digest_image(frame)
    base = next((base for base in (root, root.absolute()) if frame.file.is_relative_to(base)), Path())
    name = str(frame.file.relative_to(base) if frame.file.is_relative_to(base) else frame.file)
    try:
        found = frame.file.stat()  # before it is read: whatever changes later has another time stamp
        size, modified = found.st_size, found.st_mtime_ns
        kept = believed.get(name)
        if kept and kept[:2] == (size, modified) and kept[2] != UNREADABLE:
            return name, *kept
        unread = digested is not None and name not in digested
        return name, size, modified, UNREAD if unread else digest_file(frame.file)
    except OSError:
        return name, 0, 0, UNREADABLE


def _digest_image(frame: Frame) -> str:
    try:
        return digest_counts(frame.image())
    except InputError:
        return UNREADABLE


def digest_counts(counts: Picture) -> str:
    """Of an image that is no file."""
    whole = np.ascontiguousarray(counts)
    return digest_content(f"{whole.dtype.str} {whole.shape}".encode(), whole.data)
