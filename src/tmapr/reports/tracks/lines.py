"""Lines and boxes in longitude and latitude, across the antimeridian and around a pole, by the rules of RFC 7946."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

DECIMALS = 9
"""Of degrees in texts: 0.1 mm."""
_HALF_TURN = 180.0
_ROUNDED = 1e-6


@dataclass(frozen=True, slots=True)
class Box:
    """Degrees; across the antimeridian `west` is larger than `east`, around a pole the box reaches all around."""

    west: float
    south: float
    east: float
    north: float


def round_degrees(degrees: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
    """As texts have them: longitudes from -180 to less than 180 even after rounding."""
    rounded = np.round(degrees, DECIMALS)
    rounded[:, 0] = np.where(rounded[:, 0] >= _HALF_TURN, -_HALF_TURN, rounded[:, 0])
    return rounded + 0.0  # no -0.0


def write_point(point: Float[np.ndarray, "2"]) -> tuple[str, str]:
    """Longitude and latitude of a rounded point in digits: no format's readers all know exponents."""
    return f"{point[0]:.{DECIMALS}f}", f"{point[1]:.{DECIMALS}f}"


def cut_line(degrees: Float[np.ndarray, "n 2"]) -> list[Float[np.ndarray, "m 2"]]:
    """A line as the parts between the antimeridian's crossings, each of two points or more: none while it stands."""
    kept = _drop_repeated(round_degrees(degrees))
    crossed = np.flatnonzero(np.abs(np.diff(kept[:, 0])) > _HALF_TURN) + 1
    parts = np.split(kept, crossed)
    for number, row in enumerate(crossed.tolist()):
        side, latitude = np.copysign(_HALF_TURN, kept[row - 1, 0]), _cross(kept[row - 1], kept[row])
        parts[number] = np.vstack([parts[number], [side, latitude]])
        parts[number + 1] = np.vstack([[-side, latitude], parts[number + 1]])
    return [part for part in map(_drop_repeated, parts) if len(part) > 1]


def bound(degrees: Float[np.ndarray, "n 2"]) -> Box:
    """The smallest box around points; where they surround a pole it has all longitudes."""
    south, north = degrees[:, 1].min(), degrees[:, 1].max()
    longitudes = np.unique(degrees[:, 0])
    gaps = np.diff(longitudes, append=longitudes[0] + 2 * _HALF_TURN)
    widest = int(gaps.argmax())
    # Points with less than half a turn between neighbours lie all around the pole, or on a line through it.
    if gaps[widest] < _HALF_TURN + _ROUNDED:
        south, north = (south, 90.0) if north > -south else (-90.0, north)
        return Box(-_HALF_TURN, float(south), _HALF_TURN, float(north))
    west = longitudes[(widest + 1) % len(longitudes)]
    return Box(float(west), float(south), float(longitudes[widest]), float(north))


def _cross(before: Float[np.ndarray, "2"], after: Float[np.ndarray, "2"]) -> float:
    """The latitude at which the great circle between two points meets the antimeridian, where y is 0.

    Between longitudes one would interpolate wrongly near a pole, where a metre may be a quarter of a turn.
    """
    (lon, other_lon), (lat, other_lat) = np.radians(np.stack([before, after], axis=1))
    y, other_y = np.cos(lat) * np.sin(lon), np.cos(other_lat) * np.sin(other_lon)
    x, other_x = np.cos(lat) * np.cos(lon), np.cos(other_lat) * np.cos(other_lon)
    shares = np.abs([other_y, y])
    flat, high = shares @ np.array([x, other_x]), shares @ np.sin([lat, other_lat])
    return float(np.round(np.degrees(np.arctan2(high, np.abs(flat))), DECIMALS))


def _drop_repeated(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "m 2"]:
    return points[np.r_[True, (np.diff(points, axis=0) != 0).any(axis=1)][: len(points)]]
