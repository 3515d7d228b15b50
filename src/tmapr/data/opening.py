"""A sequence from wherever it lies: by the layout an experiment names, or by looking at what is there."""

from pathlib import Path

from tmapr.data.bag import GUESSED, Topics, read_bag
from tmapr.data.drives import BAGS, Layout, list_bags, locate
from tmapr.data.folder import read_folder
from tmapr.data.ms2 import read_ms2
from tmapr.data.sequence import Sequence
from tmapr.data.sthereo import read_sthereo
from tmapr.data.video import VIDEOS, read_video
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame

_READERS = {"ms2": read_ms2, "sthereo": read_sthereo, "folder": read_folder}


def open_sequence(
    layout: Layout, root: Path, name: str, frame: CoordinateFrame | None = None, topics: Topics = GUESSED
) -> Sequence:
    """The sequence of that name in a data set; without a frame, positions on Earth are relative to its own first."""
    if layout == "bag":
        return read_bag(_find_bag(root / name), name, frame, topics)
    return _READERS[layout](root, name, frame)


def is_there(layout: Layout, root: Path, name: str) -> bool:
    """Whether the sequence's files are on this machine, right or wrong."""
    there = locate(layout, root, name)
    return _find_bag(there).exists() if layout == "bag" else there.exists()


def open_path(path: Path, topics: Topics = GUESSED) -> Sequence:
    """The sequence in a folder, a bag or a video; of a stereo data set, that of the left camera."""
    named = path if path.name not in ("", "..") else path.resolve()
    if named.suffix in BAGS or (named / "metadata.yaml").exists():
        return read_bag(named, named.stem, None, topics)
    if named.suffix.lower() in VIDEOS and not named.is_dir():
        return read_video(named, named.stem)
    if (named / "thr/img_left").is_dir():
        return read_ms2(named.absolute().parent.parent, f"{named.name}/left")
    if (named / "image/stereo_thermal_14_left").is_dir():
        return read_sthereo(named.absolute().parent, f"{named.name}/left")
    return read_folder(named.parent, named.name)


def _find_bag(path: Path) -> Path:
    """The bag of that name: a name need not tell its suffix."""
    there = list_bags(path)
    if len(there) > 1:
        raise InputError(f"{path}: there are {there[0].name} and {there[1].name}; name one with its suffix")
    return there[0] if there else path
