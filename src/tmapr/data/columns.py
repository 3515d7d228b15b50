"""What a table with a row for each frame says of it: `frames.csv` in a folder, or the table beside a video.

Columns are stamp and, where known, x, y (metres) or lon, lat (degrees) or easting, northing, zone (UTM, such as 52N),
heading (radians, 0 = East, counter-clockwise), speed (forward, m/s) and yaw_rate (rad/s, positive to the left). Other
columns are left aside, unless their name seems to mean one of these.
"""

from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from jaxtyping import Float

from tmapr.data.coordinates import from_degrees, from_utm, tangent_plane, utm_grid
from tmapr.data.fitting import refuse_kind
from tmapr.data.motion import LIMITS, refuse_absurd
from tmapr.data.poses import Poses, wrap_angles
from tmapr.data.stamps import parse_stamps
from tmapr.data.trajectory import TextTable
from tmapr.exceptions import InputError
from tmapr.geodesy import is_utm_zone
from tmapr.types import CoordinateFrame

_PAIRS = (("x", "y"), ("lon", "lat"), ("easting", "northing"))
_KNOWN = ("stamp", "file", *(name for pair in _PAIRS for name in pair), "zone", "heading", *LIMITS)
_MEANT = {
    "timestamp": "stamp", "time": "stamp", "stamp_ns": "stamp", "filename": "file", "image": "file", "path": "file",
    "long": "lon", "lng": "lon", "longitude": "lon", "latitude": "lat", "yaw": "heading", "theta": "heading",
}  # fmt: skip
_MAX_HEADING = 6.3  # radians: a larger one is in degrees


@dataclass(frozen=True, slots=True)
class Listed:
    """Poses and, as speeds and yaw rates, motion, a row a frame; NaN where there is none."""

    poses: Poses
    motion: Float[np.ndarray, "rows 2"]
    frame: CoordinateFrame


def read_columns(table: TextTable, frame: CoordinateFrame | None, needed: tuple[str, ...]) -> Listed:
    """All that a table says; without a frame, positions on Earth are relative to its own first one."""
    if not table.lines:
        raise InputError(f"{table.path}: lists no frame")
    _refuse_columns(table, needed)
    stamps = parse_stamps(table.columns["stamp"], table.where)
    positions, placed = _read_positions(table, frame)
    return Listed(Poses(stamps, positions, _read_headings(table)), _read_motion(table), placed)


def _refuse_columns(table: TextTable, needed: tuple[str, ...]) -> None:
    header = set(table.columns)
    given = [header & {*pair} for pair in _PAIRS if header & {*pair}]
    wrong = not {*needed} <= header or len(given) > 1 or any(len(pair) == 1 for pair in given)
    hint = ""
    for column in sorted(header - set(_KNOWN)):
        meant = _MEANT.get(column) or "".join(get_close_matches(column[:20], _KNOWN, 1, cutoff=0.8))
        if meant and meant not in header:
            wrong, hint = True, f"; is {column[:20]!r} the {meant}?"
    if wrong:
        found = ", ".join(table.columns)[:200]
        wanted = f"{','.join(needed)} and at most one pair of x,y or lon,lat or easting,northing"
        raise InputError(f"{table.path}: has the columns {found}; needed are {wanted}{hint}")


def _read_positions(
    table: TextTable, frame: CoordinateFrame | None
) -> tuple[Float[np.ndarray, "rows 2"], CoordinateFrame]:
    if "x" in table.columns:
        pairs, own = table.pairs("x", "y"), CoordinateFrame()
        if np.isnan(pairs[:, 0]).all():
            return pairs, frame or own
        refuse_kind(str(table.path), own, frame)
        return pairs, own
    if "easting" in table.columns:
        return _read_utm(table, frame)
    degrees = table.degrees() if "lon" in table.columns else np.full((len(table.lines), 2), np.nan)
    fixes = degrees[~np.isnan(degrees[:, 0])].tolist()
    if not fixes:
        return degrees, frame or CoordinateFrame()
    own = tangent_plane(*fixes[0])
    refuse_kind(str(table.path), own, frame)
    plane = frame or own
    return from_degrees(degrees[:, 0], degrees[:, 1], plane), plane


def _read_utm(table: TextTable, frame: CoordinateFrame | None) -> tuple[Float[np.ndarray, "rows 2"], CoordinateFrame]:
    zones = table.columns.get("zone", [])
    if not zones or len(set(zones)) > 1 or not is_utm_zone(zones[0]):
        raise InputError(f"{table.path}: easting,northing need a column zone with one UTM zone, such as 52N")
    places = table.pairs("easting", "northing")
    known = places[~np.isnan(places[:, 0])].tolist()
    if not known:
        return places, frame or CoordinateFrame()
    own = utm_grid(zones[0], *known[0])
    refuse_kind(str(table.path), own, frame)
    grid = frame or own
    return from_utm(places[:, 0], places[:, 1], zones[0], grid), grid


def _read_headings(table: TextTable) -> Float[np.ndarray, " rows"]:
    if "heading" not in table.columns:
        return np.full(len(table.lines), np.nan)
    headings = table.numbers("heading")
    for row in np.flatnonzero(np.abs(headings) > _MAX_HEADING).tolist():
        raise InputError(f"{table.where(row)}: heading is {headings[row]:g}; it must be in radians, 0 = East")
    return np.where(np.abs(headings) > np.pi, wrap_angles(headings), headings)


def _read_motion(table: TextTable) -> Float[np.ndarray, "rows 2"]:
    columns = []
    for name in LIMITS:
        values = table.numbers(name) if name in table.columns else np.full(len(table.lines), np.nan)
        for row in np.flatnonzero(~np.isnan(values)).tolist():
            refuse_absurd(table.where(row), name, values[row])
        columns.append(values)
    return np.column_stack(columns)
