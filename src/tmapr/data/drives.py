"""Where sequences lie, and which of them are of one drive: two cameras, two names of one folder, a link into another.

A drive is the folder that the layout gives it (MS2, STheReO), the folder of a sequence, or a file. It is told by marks:
the places that belong to it, each as a path without links and as the file that the system has there. Two sequences are
of one drive if they share a mark. What is not on this machine is told by its path alone. Stamps tell nothing: they
repeat in copies, and differ between the cameras of one car.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tmapr.data.stereo import SIDES
from tmapr.data.video import VIDEOS
from tmapr.exceptions import InputError

Layout = Literal["ms2", "sthereo", "folder", "bag"]
Mark = str | tuple[int, int]
"""A path without links, or the device and the number of a file."""

Kind = Literal["ms2", "sthereo", "folder", "bag", "video"]
"""What a recording turns out to be."""

BAGS = (".bag", ".mcap", ".db3")
_CAMERAS: Mapping[Kind, str] = {"ms2": "thr/img_left", "sthereo": "image/stereo_thermal_14_left"}
_PARTS: Mapping[Kind, tuple[str, ...]] = {
    "ms2": (
        "thr",
        *(f"thr/img_{side}" for side in SIDES),
        *(f"thr/img_{side}_timestamp.txt" for side in SIDES),
        "gps_imu/data_timestamp.txt",
    ),
    "sthereo": ("image", *(f"image/stereo_thermal_14_{side}" for side in SIDES), "pose/global_pose.csv"),
    "folder": ("images", "frames.csv", "times.txt", "trajectory.txt", "poses.txt"),
    "video": (),
}
"""What a drive has once: if it is another one's, by a link of either kind, both are one."""


def locate(layout: Layout, root: Path, name: str) -> Path:
    """The folder or the file of a sequence's drive; a name need not tell a file's suffix."""
    if layout == "bag":
        return _take_only(root / name, list_bags(root / name))
    if layout == "folder":
        return find_recording(root / name)
    return (root / "sync_data" if layout == "ms2" else root) / _without_side(Path(name))


def find_recording(path: Path) -> Path:
    """The recording that a path stands for: what is there, else a bag or a video of that name, one camera of a drive.

    Where there is none, the path itself.
    """
    if os.path.lexists(path):
        return path
    drive = _without_side(path)
    if drive != path and recognize(drive) in _CAMERAS:
        return drive
    return _take_only(path, _list_suffixed(path, (*BAGS, *VIDEOS)))


def _take_only(path: Path, there: list[Path]) -> Path:
    if len(there) > 1:
        raise InputError(f"{path}: there are {there[0].name} and {there[1].name}; name one with its suffix")
    return there[0] if there else path


def recognize(path: Path) -> Kind:
    """What lies there, by its name and by what is in it; what cannot be told is a folder of images."""
    if path.suffix in BAGS or os.path.exists(path / "metadata.yaml"):
        return "bag"
    if path.suffix.lower() in VIDEOS and not os.path.isdir(path):
        return "video"
    return next((kind for kind, part in _CAMERAS.items() if os.path.isdir(path / part)), "folder")


def list_bags(path: Path) -> list[Path]:
    """The bags that a name may stand for."""
    return [*([path] if os.path.exists(path) else []), *_list_suffixed(path, BAGS)]


def _list_suffixed(path: Path, suffixes: Collection[str]) -> list[Path]:
    candidates = [path.with_name(path.name + suffix) for suffix in suffixes if path.name]
    return [candidate for candidate in candidates if os.path.exists(candidate)]


def _without_side(path: Path) -> Path:
    """The drive, of which a path or a name may tell one camera."""
    return path.parent if path.name in SIDES else path


@dataclass(frozen=True, slots=True)
class Drives:
    """Of which drive each sequence is, by its marks and by lists of sequences that are of one."""

    marks: Mapping[str, Mapping[Mark, str]]
    listed: Mapping[str, Collection[str]]

    def explain(self, one: str, other: str) -> str | None:
        """Why two sequences are of one drive; None if they are not."""
        for drive, names in self.listed.items():
            if one in names and other in names:
                return f"data.drives has both in {drive!r}"
        ours, theirs = self.marks[one], self.marks[other]
        shared = next((mark for mark in ours if mark in theirs), None)
        if shared is None:
            return None
        here, there = ours[shared], theirs[shared]
        return f"both have {here}" if here == there else f"{here} and {there} are one"


def find_marks(layout: Layout, root: Path, name: str) -> dict[Mark, str]:
    """The marks of a sequence's drive, each with its path without links; its folder or file comes first."""
    try:
        drive = locate(layout, root, name)
    except InputError:  # several have the name, which is refused when one is opened
        drive = root / name
    return _collect_marks(recognize(drive) if layout == "folder" else layout, drive)


def find_path_marks(path: Path) -> dict[Mark, str]:
    """The same, of a recording wherever it lies."""
    return find_marks("folder", path.parent, path.name)


def _collect_marks(kind: Kind, drive: Path) -> dict[Mark, str]:
    places = _list_bag_files(drive) if kind == "bag" else [drive, *(drive / part for part in _PARTS[kind])]
    marks: dict[Mark, str] = {}
    for place in places:
        path = _resolve(place)
        marks[path] = path
        if number := _find_number(path):
            marks.setdefault(number, path)
    return marks


def _list_bag_files(named: Path) -> list[Path]:
    """A bag, with the files in it if it is a folder, and with its folder and all of that if it is a file in one."""
    found = []
    for bag in list_bags(named) or [named]:
        part_of_whole = os.path.isfile(bag) and os.path.exists(bag.parent / "metadata.yaml")
        whole = bag.parent if part_of_whole else bag
        found += [bag, whole]
        found += sorted(file for file in whole.glob("*") if file.suffix in BAGS) if os.path.isdir(whole) else []
    return found


def _resolve(place: Path) -> str:
    try:
        return os.path.realpath(place)
    except (OSError, ValueError):
        return os.path.normpath(place)


def _find_number(path: str) -> tuple[int, int] | None:
    """The file that the system has there, whatever it is called: hard links, mounts, names in other case."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if found.st_ino else None
