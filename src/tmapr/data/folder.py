"""The layouts for people's own data: one folder per traverse with PNG, TIFF or JPEG images and, whichever comes first,

- `frames.csv`: a table with the columns stamp, file and all others that `columns` reads.
- names `@easting@northing@…`, as in place recognition data sets: positions in UTM, or in a local frame without a zone.
- one trajectory, `*.tum`, `trajectory.txt` or `poses.txt`: TUM, or KITTI with a line for each image in order of names.
- nothing: a sequence without positions.

Without `frames.csv`, stamps come from `times.txt` (a line for each image in order of names), or from the names if each
of them has a time of its own, or else images are 0.1 s apart, from 0, in order of names.
"""

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.images import write_frame
from tmapr.data.columns import read_columns
from tmapr.data.coordinates import ENU, UTM, from_utm, to_degrees, utm_grid
from tmapr.data.fitting import refuse_kind
from tmapr.data.motion import LIMITS
from tmapr.data.names import TIMES, list_files, list_images, names_a_place, parse_places, scan
from tmapr.data.poses import Poses
from tmapr.data.sequence import Sequence, from_files
from tmapr.data.stamps import format_stamps
from tmapr.data.trajectory import KITTI, TextTable, count_columns, read_kitti, read_table, read_tum
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame, Watch

LIST = "frames.csv"

_TRAJECTORIES = ("trajectory.txt", "poses.txt")
_PERIOD = NANOSECONDS // 10


def read_folder(root: Path, name: str, frame: CoordinateFrame | None = None) -> Sequence:
    """The sequence in ROOT/NAME; without a frame, positions on Earth are relative to its own first one."""
    folder = root / name
    if os.path.lexists(folder / LIST):
        return _read_list(name, read_table(folder / LIST), frame)
    files, stamps = list_images(folder)
    if not files:
        raise InputError(f"{folder / LIST}: no such file; it must list stamp,file if the images are not in {folder}")
    if any(map(names_a_place, files)):
        return _read_names(name, files, _assume_stamps(files) if stamps is None else stamps, frame)
    poses = _read_trajectory(folder, files, stamps)
    if np.isnan(poses.positions).all():
        return from_files(name, frame or CoordinateFrame(), files, poses)
    refuse_kind(str(folder), CoordinateFrame(), frame)
    return from_files(name, CoordinateFrame(), files, poses)


def write_folder(directory: Path, sequence: Sequence, watch: Watch = iter) -> None:
    """Write a sequence as images/000000.png … and, last, `frames.csv`: what was cut short has none and is not read.

    Positions in a tangent plane are written as longitude and latitude and those in UTM with their zone, so that two
    sequences still share a frame when they are read; all others are x and y.
    """
    if os.path.lexists(directory) and any(not entry.name.startswith(".") for entry in scan(directory)):
        raise InputError(f"{directory}: is not empty; name a new folder, or remove what an earlier attempt left")
    if not len(sequence):
        raise InputError(f"{sequence.name}: holds no frame")
    stamps, poses = np.zeros(len(sequence), np.int64), np.full((len(sequence), 3), np.nan)
    motion = np.full((len(sequence), 2), np.nan)
    files = [f"images/{row:06d}.png" for row in range(len(sequence))]
    depths: list[int] = []
    for row, frame in zip(watch(range(len(sequence))), sequence, strict=True):
        counts = frame.image()
        depths.append(8 * counts.itemsize)
        if depths[-1] != depths[0]:
            where = frame.file or f"{sequence.name}, frame {frame.index}"
            raise InputError(f"{where}: has {depths[-1]} bits, the images before it have {depths[0]}; keep one kind")
        write_frame(directory / files[row], counts)
        stamps[row] = frame.stamp
        poses[row, :2] = np.nan if frame.position is None else frame.position
        poses[row, 2] = np.nan if frame.heading is None else frame.heading
        motion[row] = np.nan if frame.motion is None else frame.motion.numbers
    columns = [("stamp", *format_stamps(stamps)), ("file", *files), *_format_poses(poses, sequence.frame)]
    columns += _format_columns(tuple(LIMITS), motion)
    write_text(directory / LIST, "".join(f"{','.join(cells)}\n" for cells in zip(*columns, strict=True)))


def _format_poses(poses: Float[np.ndarray, "frames 3"], frame: CoordinateFrame) -> list[tuple[str, ...]]:
    """The columns that say anything: degrees to 0.1 µm, all other numbers so that they read back bit for bit."""
    names, values = ("x", "y", "heading"), poses
    if frame.kind == ENU:
        lon, lat = to_degrees(poses[:, :2], frame).T
        names, values = ("lon", "lat", "heading"), np.column_stack([lon.round(12), lat.round(12), poses[:, 2]])
    if frame.kind == UTM:
        names, values = ("easting", "northing", "heading"), poses + np.array([*frame.origin, 0.0])
    said = _format_columns(names, values)
    return [*said, ("zone", *[str(frame.zone)] * len(poses))] if frame.kind == UTM and said else said


def _format_columns(names: tuple[str, ...], values: Float[np.ndarray, "frames n"]) -> list[tuple[str, ...]]:
    """A name and its cells, empty for NaN, of each column that says anything."""
    columns = zip(names, values.T.tolist(), strict=True)
    cells = [(name, ["" if np.isnan(value) else repr(value) for value in column]) for name, column in columns]
    return [(name, *column) for name, column in cells if any(column)]


def _read_list(name: str, table: TextTable, frame: CoordinateFrame | None) -> Sequence:
    listed = read_columns(table, frame, needed=("stamp", "file"))
    return from_files(name, listed.frame, _find_files(table), listed.poses, listed.motion)


def _find_files(table: TextTable) -> list[Path]:
    """The images that a table names; each of their folders is listed once."""
    files = [table.path.parent / cell for cell in table.columns["file"]]
    present: dict[Path, set[str]] = {}
    for folder in {file.parent for file in files}:
        with suppress(InputError):
            present[folder] = set(list_files(folder))
    missing = [row for row, file in enumerate(files) if file.name not in present.get(file.parent, ())]
    if missing:
        count = f"; {len(missing)} of {len(files)} are missing" if len(missing) > 1 else ""
        named = table.columns["file"][missing[0]][:80]
        raise InputError(f"{table.where(missing[0])}: there is no image {named!r} beside the file{count}")
    return files


def _read_names(
    name: str, files: list[Path], stamps: Int[np.ndarray, " images"], frame: CoordinateFrame | None
) -> Sequence:
    places, headings, zone = parse_places(files)
    own = CoordinateFrame() if zone is None else utm_grid(zone, *places[0])
    refuse_kind(str(files[0].parent), own, frame)
    if zone is None:
        return from_files(name, CoordinateFrame(), files, Poses(stamps, places, headings))
    grid = frame or own
    return from_files(name, grid, files, Poses(stamps, from_utm(places[:, 0], places[:, 1], zone, grid), headings))


def _read_trajectory(folder: Path, files: list[Path], stamps: Int[np.ndarray, " images"] | None) -> Poses:
    """What the trajectory beside the images says of each of them."""
    paths = [folder / name for name in sorted(list_files(folder)) if name in _TRAJECTORIES or name.endswith(".tum")]
    if not paths:
        unknown = np.full((len(files), 2), np.nan)
        return Poses(_assume_stamps(files) if stamps is None else stamps, unknown, unknown[:, 0])
    path, *others = paths
    if others:
        raise InputError(f"{path}: there is {others[0].name} too; keep one trajectory in a folder")
    if stamps is None:
        raise InputError(f"{path}: not all images are named by their time; add {TIMES} with a stamp for each of them")
    if count_columns(path) == len(KITTI):
        positions, headings = read_kitti(path)
        if len(positions) != len(files):
            raise InputError(f"{path}: has {len(positions)} poses for {len(files)} images")
        return Poses(stamps, positions, headings)
    poses = read_tum(path).at(stamps)
    if np.isnan(poses.positions).all():
        raise InputError(f"{path}: no image was taken near the time of a pose; the first image's is {stamps[0]} ns")
    return poses


def _assume_stamps(files: list[Path]) -> Int[np.ndarray, " images"]:
    return np.arange(len(files)) * _PERIOD
