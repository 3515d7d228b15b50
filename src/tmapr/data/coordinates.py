"""What positions are relative to: a tangent plane for longitude and latitude, a shifted UTM grid, or nothing known.

Longitude and latitude become metres East and North of an origin (true north); UTM coordinates lose an integer origin
(grid north). The two norths differ by up to some degrees, so one map has one kind.
"""

import numpy as np
from jaxtyping import Float

from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame

ENU, UTM, LOCAL = "enu", "utm", "local"

_SEMI_MAJOR = 6_378_137.0  # metres, WGS 84
_FLATTENING = 1 / 298.257223563
_ECCENTRICITY2 = _FLATTENING * (2 - _FLATTENING)


def tangent_plane(longitude: float, latitude: float) -> CoordinateFrame:
    """East and North of this point, given in degrees."""
    return CoordinateFrame(ENU, None, (longitude, latitude))


def utm_grid(zone: str, easting: float, northing: float) -> CoordinateFrame:
    """The UTM grid, counted from the whole metres of this point: float32 could not hold a northing."""
    return CoordinateFrame(UTM, zone, (float(np.floor(easting)), float(np.floor(northing))))


def from_degrees(
    longitudes: Float[np.ndarray, " n"], latitudes: Float[np.ndarray, " n"], frame: CoordinateFrame
) -> Float[np.ndarray, "n 2"]:
    """Metres in a tangent plane. Heights are left out: a fix's are metres wrong and the map is planar."""
    if frame.kind != ENU:
        raise InputError(f"longitude and latitude cannot be placed in {describe(frame)}; map with one kind of position")
    center = _to_cartesian(np.radians(np.array(frame.origin)))
    offset = _to_cartesian(np.radians(np.stack([longitudes, latitudes], axis=-1))) - center
    lon, lat = np.radians(frame.origin)
    east = np.array([-np.sin(lon), np.cos(lon), 0.0])
    north = np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
    return np.stack([offset @ east, offset @ north], axis=-1)


def to_degrees(positions: Float[np.ndarray, "n 2"], frame: CoordinateFrame) -> Float[np.ndarray, "n 2"]:
    """Longitude and latitude of positions in a tangent plane, by Newton's method on `from_degrees`."""
    lon, lat = frame.origin
    degrees = np.tile([lon, lat], (len(positions), 1)).astype(float)
    scale = _metres_per_degree(lat)
    for _ in range(_NEWTON_STEPS):
        degrees += (positions - from_degrees(degrees[:, 0], degrees[:, 1], frame)) / scale
    return degrees


def from_utm(
    easting: Float[np.ndarray, " n"], northing: Float[np.ndarray, " n"], zone: str, frame: CoordinateFrame
) -> Float[np.ndarray, "n 2"]:
    """Metres from the frame's origin on the grid of the same zone."""
    if frame.kind != UTM or frame.zone != zone:
        raise InputError(f"UTM {zone} coordinates cannot be placed in {describe(frame)}; map with one kind of position")
    return np.stack([easting, northing], axis=-1) - np.array(frame.origin)


def describe(frame: CoordinateFrame) -> str:
    """A frame in words."""
    if frame.kind == ENU:
        return f"the tangent plane at {frame.origin[0]:.6f}°, {frame.origin[1]:.6f}°"
    if frame.kind == UTM:
        return f"UTM {frame.zone} from {frame.origin[0]:.0f}, {frame.origin[1]:.0f}"
    return "a local frame"


_NEWTON_STEPS = 12


def _metres_per_degree(latitude: float) -> Float[np.ndarray, "2"]:
    curvature = np.sqrt(1 - _ECCENTRICITY2 * np.sin(np.radians(latitude)) ** 2)
    normal, meridional = _SEMI_MAJOR / curvature, _SEMI_MAJOR * (1 - _ECCENTRICITY2) / curvature**3
    return np.radians(1.0) * np.array([normal * np.cos(np.radians(latitude)), meridional])


def _to_cartesian(angles: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n 3"]:
    """Metres from the middle of the Earth to points on the ellipsoid, given by longitude and latitude in radians."""
    lon, lat = angles[..., 0], angles[..., 1]
    normal = _SEMI_MAJOR / np.sqrt(1 - _ECCENTRICITY2 * np.sin(lat) ** 2)
    return np.stack(
        [
            normal * np.cos(lat) * np.cos(lon),
            normal * np.cos(lat) * np.sin(lon),
            normal * (1 - _ECCENTRICITY2) * np.sin(lat),
        ],
        axis=-1,
    )
