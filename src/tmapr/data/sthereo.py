"""STheReO, a car's stereo thermal cameras with surveyed poses, as its authors lay it out:

    ROOT/SEQ/image/stereo_thermal_14_left/NANOSECONDS.png …    (and stereo_thermal_14_right)
    ROOT/SEQ/pose/global_pose.csv

The two cameras are not triggered together: each has stamps of its own. A row of poses (there is no header) is either
seconds, x, y, z in UTM 52N and roll, pitch, yaw in degrees, or, as in MulRan, integer nanoseconds and a 3×4 matrix row
by row.

There is a pose for about every metre driven: a few a second, and none for as long as the car stands. Images are taken
between them.
"""

import math
from pathlib import Path

import numpy as np
from jaxtyping import Int

from tmapr.data.coordinates import UTM, from_utm, utm_grid
from tmapr.data.fitting import refuse_kind
from tmapr.data.poses import NO_POSES, Poses, wrap_angles
from tmapr.data.sequence import Sequence, from_files
from tmapr.data.stamps import parse_nanoseconds, parse_stamp
from tmapr.data.stereo import list_names, refuse_skew, split_name, write_images
from tmapr.data.trajectory import parse_number, read_text
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame

ZONE = "52N"
_STANDING = 2.0
"""Metres: with no pose in between, two this close are those before and after a stop (1.3 apart at Valley's first)."""

_DIGITS = 18
"""Of nanoseconds since 1973: shorter numbers count images, or seconds."""

_EULER, _MATRIX = 7, 13
"""Columns of the two kinds of pose files."""

_EASTINGS, _NORTHINGS = (100_000, 900_000), (0, 10_000_000)
"""Metres: what lies in a UTM zone."""


def read_sthereo(root: Path, name: str, frame: CoordinateFrame | None = None) -> Sequence:
    """Sequence SEQ/left or SEQ/right; without a frame, positions count from the whole metres of its first pose."""
    sequence, side = split_name(name, "an STheReO")
    table = _pose_file(root / sequence)
    files, stamps = _list_images(_image_folder(root / sequence, side))
    poses = NO_POSES
    if table.parent.exists():
        frame, poses = _read_poses(table, frame)
    return from_files(name, frame or CoordinateFrame(), files, poses.at(stamps, standing=_STANDING))


def write_sthereo(root: Path, name: str, sequence: Sequence, every: int = 1) -> None:
    """Write a sequence with positions in UTM 52N as SEQ/left or SEQ/right, with a pose for every so manieth frame.

    The poses that the other camera's writing left are kept.
    """
    drive, side = split_name(name, "an STheReO")
    folder, table = _image_folder(root / drive, side), _pose_file(root / drive)
    if folder.exists():
        raise InputError(f"{folder}: exists already; remove it, or write to another folder")
    if sequence.frame.kind == UTM and sequence.frame.zone != ZONE:
        raise InputError(f"{sequence.name}: positions are in UTM zone {sequence.frame.zone}; STheReO's is {ZONE}")
    taken = write_images(sequence, UTM, lambda _, stamp: _require_new(folder / f"{stamp}.png"))
    posed = np.flatnonzero(np.isfinite(taken.positions).all(axis=1))
    if len(posed) and not table.exists():
        rows = np.union1d(posed[::every], posed[-1:])  # nothing is known of images after the last pose
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text("".join(_format_pose(taken, row, sequence) for row in rows.tolist()))


def _image_folder(drive: Path, side: str) -> Path:
    return drive / "image" / f"stereo_thermal_14_{side}"


def _pose_file(drive: Path) -> Path:
    return drive / "pose" / "global_pose.csv"


def _require_new(file: Path) -> Path:
    if file.exists():
        raise InputError(f"{file}: is there already; a second image with its stamp cannot be written")
    return file


def _list_images(folder: Path) -> tuple[list[Path], Int[np.ndarray, " images"]]:
    """The images in the order of their stamps."""
    files = [folder / name for name in list_names(folder)]
    if not files:
        raise InputError(f"{folder}: is empty; it must hold images named NANOSECONDS.png")
    for file in files:
        if file.suffix != ".png" or not (file.stem.isdecimal() and len(file.stem) >= _DIGITS):
            raise InputError(f"{file}: is not named by its stamp, NANOSECONDS.png")
    stamps = np.array([parse_nanoseconds(file.stem, f"{file}") for file in files])
    order = np.argsort(stamps, kind="stable")
    return [files[row] for row in order], stamps[order]


def _read_poses(table: Path, frame: CoordinateFrame | None) -> tuple[CoordinateFrame, Poses]:
    """The poses of a table, and what they are relative to."""
    rows = [line.split(",") for line in read_text(table).rstrip().splitlines()]
    if not rows:
        raise InputError(f"{table}: holds no pose")

    def where(row: int) -> str:
        return f"{table}, line {row + 1}"

    for row, cells in enumerate(rows):
        if len(cells) not in (_EULER, _MATRIX) or len(cells) != len(rows[0]):
            raise InputError(f"{where(row)}: has {len(cells)} columns; all rows must have {_EULER}, or all {_MATRIX}")
    parse = parse_stamp if len(rows[0]) == _EULER else parse_nanoseconds
    stamps = np.array([parse(cells[0], where(row)) for row, cells in enumerate(rows)])
    easting, northing, headings = np.array([_parse_pose(cells[1:], where(row)) for row, cells in enumerate(rows)]).T
    own = utm_grid(ZONE, float(easting[0]), float(northing[0]))
    refuse_kind(str(table), own, frame)
    frame = frame or own
    return frame, Poses(stamps, from_utm(easting, northing, ZONE, frame), wrap_angles(headings))


def _parse_pose(cells: list[str], where: str) -> tuple[float, float, float]:
    """Easting, northing and heading."""
    values = [parse_number(cell, f"column {column}", where) for column, cell in enumerate(cells, start=2)]
    if len(cells) == _EULER - 1:
        easting, northing, heading = values[0], values[1], math.radians(values[5])
    else:
        refuse_skew(np.array(values[0::4]), where)
        easting, northing, heading = values[3], values[7], math.atan2(values[4], values[0])
    if not (_EASTINGS[0] <= easting <= _EASTINGS[1] and _NORTHINGS[0] <= northing <= _NORTHINGS[1]):
        raise InputError(f"{where}: easting {easting:g}, northing {northing:g} lie in no UTM zone; delete a broken row")
    return easting, northing, heading


def _format_pose(taken: Poses, row: int, sequence: Sequence) -> str:
    if np.isnan(taken.headings[row]):
        raise InputError(f"{sequence.name}: frame {row} has a position and no heading; a row of STheReO's has both")
    seconds, rest = divmod(int(taken.stamps[row]), NANOSECONDS)
    east, north = (taken.positions[row] + np.array(sequence.frame.origin)).tolist()
    return f"{seconds}.{rest:09d},{east!r},{north!r},0.0,0.0,0.0,{float(np.degrees(taken.headings[row]))!r}\n"
