"""A sequence from wherever it lies: by the layout an experiment names, or by looking at what is there."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tmapr.data.bag import GUESSED, Topics, read_bag
from tmapr.data.drives import Layout, find_recording, locate, recognize
from tmapr.data.folder import read_folder
from tmapr.data.ms2 import read_ms2
from tmapr.data.sequence import Sequence
from tmapr.data.stereo import SIDES
from tmapr.data.sthereo import read_sthereo
from tmapr.data.video import read_video
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame, Frame


def open_sequence(
    layout: Layout, root: Path, name: str, frame: CoordinateFrame | None = None, topics: Topics = GUESSED
) -> Sequence:
    """The sequence of that name in a data set; without a frame, positions on Earth are relative to its own first.

    In the layout `folder` a name may be that of any recording that `open_path` recognises.
    """
    if layout == "bag":
        return read_bag(locate(layout, root, name), name, frame, topics)
    if layout == "ms2":
        return read_ms2(root, name, frame)
    if layout == "sthereo":
        return read_sthereo(root, name, frame)
    if recognize(find_recording(root / name)) == "folder":
        return read_folder(root, name, frame)
    return open_path(root / name, topics, name, frame)


def open_path(
    path: Path, topics: Topics = GUESSED, name: str | None = None, frame: CoordinateFrame | None = None
) -> Sequence:
    """The sequence in a folder, a bag or a video, whichever layout it has, called by its own name or by another.

    A stereo data set's drive stands for its left camera; DRIVE/right is the other one.
    """
    given = path if path.name not in ("", "..") else path.resolve()
    found = find_recording(given)
    sequence = _open_found(found, given, topics, frame)
    return sequence if name is None else _rename(sequence, name)


def _open_found(found: Path, given: Path, topics: Topics, frame: CoordinateFrame | None) -> Sequence:
    kind = recognize(found)
    if kind == "bag":
        return read_bag(found, found.stem, frame, topics)
    if kind == "video":
        return read_video(found, found.stem, frame)
    if kind == "folder":
        refuse_absent(found)
        return read_folder(found.parent, found.name, frame)
    drive, side = found.absolute(), given.name if given != found else SIDES[0]
    if kind == "ms2":
        return read_ms2(drive.parent.parent, f"{drive.name}/{side}", frame)
    return read_sthereo(drive.parent, f"{drive.name}/{side}", frame)


def refuse_absent(path: Path) -> None:
    """Refuse a path at which no recording can be."""
    if not os.path.lexists(path):
        raise InputError(f"{path}: no such folder, bag or video; name where the recording lies")
    if path.is_file() and recognize(path) == "folder":
        raise InputError(f"{path}: is no recording; give a folder of images, a bag or a video")


def _rename(sequence: Sequence, name: str) -> Sequence:
    if sequence.name == name:
        return sequence
    return replace(sequence, name=name, start=partial(_pass_renamed, sequence.start, name))


def _pass_renamed(start: Callable[[], Iterator[Frame]], name: str) -> Iterator[Frame]:
    return (replace(frame, sequence=name) for frame in start())
