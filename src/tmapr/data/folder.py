"""The layout for people's own data: `frames.csv` beside the images.

Columns `stamp,file` and, where they are known, `x,y` in metres and `heading` in radians. A stamp is integer
nanoseconds, seconds (any number of decimals, read exactly) or ISO-8601.
"""

import csv
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path

import numpy as np

from tmapr.artifacts.images import read_image
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame, Frame

_KNOWN = ("stamp", "file", "x", "y", "heading")
_LATEST_SECONDS = (
    10_000_000_000  # the year 2286: a larger number cannot be seconds, and no stamp in use is smaller in ns
)


def read_folder(root: Path, name: str) -> Sequence:
    """The sequence in ROOT/NAME."""
    path = root / name / "frames.csv"
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream, skipinitialspace=True))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; it must list stamp,file and, if known, x,y,heading") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: is not a CSV file in UTF-8 ({error})") from None
    if not rows:
        raise InputError(f"{path}: lists no frame")
    columns = [column.strip() for column in rows[0] if column]
    if not {"stamp", "file"} <= set(columns) or ("x" in columns) != ("y" in columns):
        raise InputError(f"{path}: has the columns {', '.join(columns)}; needed are stamp,file and both or none of x,y")
    unknown = [column for column in columns if column not in _KNOWN]
    if unknown:
        raise InputError(f"{path}: column {unknown[0]!r} is unknown; known are {', '.join(_KNOWN)}")
    frames = tuple(_frame(path, name, row, cells) for row, cells in enumerate(rows))
    return Sequence(name, frames, CoordinateFrame())


def _frame(path: Path, sequence: str, row: int, cells: dict[str, str]) -> Frame:
    where = f"{path}, line {row + 2}"
    if None in cells or None in cells.values():
        raise InputError(f"{where}: has {len(list(cells))} cells too many or too few for its columns")
    x, y, heading = (_number(where, column, cells.get(column, "")) for column in ("x", "y", "heading"))
    if (x is None) != (y is None):
        raise InputError(f"{where}: has only one of x and y; give both, or leave both empty")
    position = None if x is None or y is None else np.array([x, y])
    file = path.parent / cells["file"].strip()
    return Frame(sequence, row, _stamp(where, cells["stamp"].strip()), partial(read_image, file), position, heading)


def _number(where: str, column: str, text: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{where}: {column} is {text!r}, not a number") from None
    if not np.isfinite(value):
        raise InputError(f"{where}: {column} is {text}; leave it empty where it is unknown")
    return value


def _stamp(where: str, text: str) -> int:
    """Integer nanoseconds since the epoch, from whichever way the stamp is written."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return _from_iso(where, text)
    if not number.is_finite() or abs(number) >= 2**63:
        raise InputError(f"{where}: stamp {text!r} is no time")
    if "." not in text and abs(number) > _LATEST_SECONDS:
        return int(number)
    return int((number * NANOSECONDS).to_integral_value())


def _from_iso(where: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{where}: stamp {text!r} is neither seconds, nor nanoseconds, nor ISO-8601") from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * NANOSECONDS + since.microseconds * 1_000
