"""What positions are relative to: a tangent plane for longitude and latitude, a shifted UTM grid, or nothing known.

Longitude and latitude become metres East and North of an origin (true north); UTM coordinates lose an integer origin
(grid north). The two norths differ by up to some degrees, so one map has one kind.
"""

import numpy as np
from jaxtyping import Float

from tmapr.exceptions import InputError
from tmapr.geodesy import ENU, LOCAL, UTM, metres_on_plane
from tmapr.types import CoordinateFrame

__all__ = ["ENU", "LOCAL", "UTM", "describe", "from_degrees", "from_utm", "tangent_plane", "to_degrees", "utm_grid"]


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
    return metres_on_plane(np.stack([longitudes, latitudes], axis=-1), frame.origin[0], frame.origin[1])


def to_degrees(positions: Float[np.ndarray, "n 2"], frame: CoordinateFrame) -> Float[np.ndarray, "n 2"]:
    """Longitude and latitude of positions in a tangent plane or on a UTM grid; NaN of those that are NaN."""
    degrees = frame.to_degrees(positions)
    if degrees is None:
        raise InputError(f"positions in {describe(frame)} have no longitude and latitude")
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
