"""The text files that lie beside images: TUM and KITTI trajectories, stamps, and tables with commas.

A refusal names the file and the line. Headings are yaw, 0 = East, counter-clockwise: of the body's x axis in a TUM
file, of the camera's viewing direction in a KITTI file.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tmapr.data.poses import Poses
from tmapr.data.stamps import parse_stamps
from tmapr.exceptions import InputError
from tmapr.files import TABLE_BYTES
from tmapr.files import read_text as read_whole
from tmapr.types import FARTHEST

TUM = ("stamp", "x", "y", "z", "qx", "qy", "qz", "qw")
KITTI = tuple(f"number {place}" for place in range(1, 13))

_STAMP_NAMES = ("stamp", "timestamp", "time", "stamp_ns", "timestamp_ns")
_MAX_NORM_ERROR = 0.01  # of a quaternion or an axis: four decimals are common and round by less
_MOST_ROWS, _MOST_COLUMNS = 2_000_000, 200


@dataclass(frozen=True, slots=True)
class TextTable:
    """A file's cells by column; `lines` says where its rows stand."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    lines: Sequence[int]
    unit: str = "line"

    def where(self, row: int) -> str:
        """How a refusal of something in this row begins."""
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def numbers(self, name: str) -> Float[np.ndarray, " rows"]:
        """A column of numbers; NaN where a cell is empty."""
        cells = enumerate(self.columns[name])
        return np.array([parse_number(cell, name, self.where(row)) if cell else np.nan for row, cell in cells])

    def pairs(self, first: str, second: str) -> Float[np.ndarray, "rows 2"]:
        """Two columns of numbers whose cells are empty in the same rows."""
        pairs = np.column_stack([self.numbers(first), self.numbers(second)])
        for row in np.flatnonzero(np.isnan(pairs).sum(axis=1) == 1).tolist():
            raise InputError(f"{self.where(row)}: has only one of {first} and {second}; give both, or leave both empty")
        return pairs

    def degrees(self) -> Float[np.ndarray, "rows 2"]:
        """Longitudes and latitudes, refused where they are on no map."""
        pairs = self.pairs("lon", "lat")
        for row in np.flatnonzero((np.abs(pairs) > (180, 90)).any(axis=1) | (pairs == 0).all(axis=1)).tolist():
            lon, lat = pairs[row].tolist()
            advice = "lon is within ±180 and lat within ±90 degrees"
            if abs(lat) > 90 >= abs(lon):
                advice = "they seem to be swapped"
            if lon == lat == 0:
                advice = "a receiver without a fix says so; leave both empty"
            raise InputError(f"{self.where(row)}: lon is {lon:g} and lat is {lat:g}; {advice}")
        return pairs

    def stamps(self) -> Int[np.ndarray, " rows"] | None:
        """The column called stamp, timestamp or time, or either with _ns, if there is one."""
        name = next((name for name in _STAMP_NAMES if name in self.columns), None)
        return None if name is None else parse_stamps(self.columns[name], self.where)


def read_tum(path: Path) -> Poses:
    """The poses of a TUM file, `stamp x y z qx qy qz qw` in each line, in a world whose z is up."""
    table = _read_lines(path, TUM)
    stamps = parse_stamps(table.columns["stamp"], table.where)
    x, y, _, qx, qy, qz, qw = (table.numbers(name) for name in TUM[1:])
    norms = np.sqrt(qx**2 + qy**2 + qz**2 + qw**2)
    for row in np.flatnonzero(np.abs(norms - 1) > _MAX_NORM_ERROR).tolist():
        raise InputError(f"{table.where(row)}: the quaternion's length is {norms[row]:.4g}, it must be 1")
    yaw = np.arctan2(2 * (qw * qz + qx * qy), qw**2 + qx**2 - qy**2 - qz**2)
    return Poses(stamps, np.column_stack([x, y]), yaw)


def read_kitti(path: Path) -> tuple[Float[np.ndarray, "poses 2"], Float[np.ndarray, " poses"]]:
    """The positions and headings of a KITTI file: a 3 × 4 matrix [R t] in each line, row by row, without stamps.

    KITTI's world is its first camera: x right, y down, z forward. Seen from above that is the plane (z, −x), where the
    first camera looks along the first axis and a turn to the left is positive.
    """
    table = _read_lines(path, KITTI)
    matrices = np.column_stack([table.numbers(name) for name in KITTI]).reshape(-1, 3, 4)
    R, t = matrices[:, :, :3], matrices[:, :, 3]
    skew = np.abs(R.transpose(0, 2, 1) @ R - np.eye(3)).max(axis=(1, 2))
    for row in np.flatnonzero(skew > 2 * _MAX_NORM_ERROR).tolist():
        raise InputError(f"{table.where(row)}: the first three of its four columns are no rotation")
    return np.column_stack([t[:, 2], -t[:, 0]]), np.arctan2(-R[:, 0, 2], R[:, 2, 2])


def count_columns(path: Path) -> int:
    """How many numbers stand in the first line of a trajectory: as many as TUM or KITTI has, or it is neither."""
    return next((len(cells) for _, cells in _split_lines(path)), 0)


def read_stamps(path: Path) -> Int[np.ndarray, " rows"]:
    """One stamp per line: the first column, or if there is a header the only one or the one that it calls stamp."""
    table = read_table(path, headless=("stamp",))
    if not table.lines:
        raise InputError(f"{path}: holds no stamp")
    if (stamps := table.stamps()) is not None:
        return stamps
    first, *others = table.columns
    if others:
        raise InputError(f"{path}: has the columns {', '.join(table.columns)[:200]}; call the one with stamps stamp")
    return parse_stamps(table.columns[first], table.where)


def read_table(path: Path, headless: Sequence[str] = ()) -> TextTable:
    """A file with commas. `headless` are the names of the first columns of a file that begins without a header."""
    reader = csv.reader(io.StringIO(read_text(path)), strict=True, skipinitialspace=True)
    try:
        rows = _bounded(path, ((reader.line_num, [cell.strip() for cell in cells]) for cells in reader if cells))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: is not a CSV file ({error})") from None
    first = rows[0][1] if rows else []
    if len(first) == 1 and (";" in first[0] or "\t" in first[0]):
        raise InputError(f"{path}: separates its columns with semicolons or tabs; save it with commas")
    # Only a line without a digit is a header: a damaged number taken for one would shift all rows.
    if headless and rows and (re.search("[0-9]", "".join(first)) or not any(first)):
        rest = [""] * (len(first) - len(headless))
        return make_table(path, [*headless[: len(first)], *rest], rows)
    return make_table(path, [" ".join(name.lower().split()) for name in first], rows[1:])


def make_table(
    path: Path, header: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], unit: str = "line"
) -> TextTable:
    """The table of these lines; a column without a name is left aside."""
    if twice := [name for name in header if name and header.count(name) > 1]:
        raise InputError(f"{path}: has the column {twice[0][:40]!r} twice")
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"{path}, {unit} {line}: has {len(cells)} cells, there must be {len(header)}")
    columns = {name: [cells[at] for _, cells in rows] for at, name in enumerate(header) if name}
    return TextTable(path, columns, [line for line, _ in rows], unit)


def read_text(path: Path) -> str:
    """A text file, with or without a byte order mark."""
    try:
        return read_whole(path, TABLE_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        kind = path.suffix[1:].upper() or "text"
        raise InputError(f"{path}: is not a {kind} file in UTF-8 ({error.reason} at byte {error.start})") from None


def parse_number(text: str, what: str, where: str) -> float:
    """A finite number, no larger than metres on Earth can be."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{where}: {what} is {text[:40]!r}, not a number") from None
    if not math.isfinite(value):
        raise InputError(f"{where}: {what} is {text[:40]}; leave it empty where it is unknown, or leave out the line")
    if abs(value) > FARTHEST:
        raise InputError(f"{where}: {what} is {value:g}, farther than any place on Earth")
    return value


def _split_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Each line's cells between spaces, without comments and empty lines."""
    lines = enumerate(read_text(path).split("\n"), start=1)
    return _bounded(path, ((line, cells) for line, text in lines if (cells := text.partition("#")[0].split())))


def _bounded(path: Path, lines: Iterable[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """The lines, as many and as wide as a drive can need; refused while they are read, not when memory is gone."""
    kept: list[tuple[int, list[str]]] = []
    for line, cells in lines:
        if len(cells) > _MOST_COLUMNS or len(kept) > _MOST_ROWS:
            raise InputError(
                f"{path}, line {line}: has {len(cells)} cells; a table has at most {_MOST_COLUMNS} columns and"
                f" {_MOST_ROWS} rows"
            )
        kept.append((line, cells))
    return kept


def _read_lines(path: Path, names: Sequence[str]) -> TextTable:
    rows = _split_lines(path)
    if not rows:
        raise InputError(f"{path}: holds no pose")
    return make_table(path, names, rows)
