"""Metres on a plane and degrees on the ellipsoid WGS 84: tangent planes (ENU) and the UTM grid.

A plane and back is exact to 0.01 µm within 50 km of its origin, UTM to 3 µm within a zone, also at the antimeridian and
at the poles. Heights play no part: a position stands for the point of the ellipsoid above or below it.
"""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

ENU, UTM, LOCAL = "enu", "utm", "local"

_SEMI_MAJOR = 6_378_137.0  # metres, WGS 84
_FLATTENING = 1 / 298.257223563
_ECCENTRICITY2 = _FLATTENING * (2 - _FLATTENING)
_ZONE = re.compile(r"(0?[1-9]|[1-5]\d|60)([NS])")

_SCALE, _FALSE_EASTING, _FALSE_NORTHING = 0.9996, 500_000.0, 10_000_000.0
_WIDEST = 1_000_000.0
"""Metres from the middle of a zone: three times as far as any zone reaches. Beyond, a position is none of its grid."""
_N = _FLATTENING / (2 - _FLATTENING)
_RECTIFYING = _SEMI_MAJOR / (1 + _N) * (1 + _N**2 / 4 + _N**4 / 64)
"""Radius of the circle that is as long as a meridian."""
# Krüger's series, to the fourth power of n: the next one is 1e-14 radians.
_TO_SPHERE = (
    _N / 2 - 2 / 3 * _N**2 + 37 / 96 * _N**3 - _N**4 / 360,
    _N**2 / 48 + _N**3 / 15 - 437 / 1440 * _N**4,
    17 / 480 * _N**3 - 37 / 840 * _N**4,
    4397 / 161280 * _N**4,
)
"""From the grid to the sphere that the ellipsoid is mapped to without a change of angles."""
_TO_ELLIPSOID = (
    2 * _N - 2 / 3 * _N**2 - 2 * _N**3 + 116 / 45 * _N**4,
    7 / 3 * _N**2 - 8 / 5 * _N**3 - 227 / 45 * _N**4,
    56 / 15 * _N**3 - 136 / 35 * _N**4,
    4279 / 630 * _N**4,
)
"""From latitudes on that sphere to latitudes on the ellipsoid."""


@dataclass(frozen=True, slots=True)
class CoordinateFrame:
    """What positions are relative to. One map has one; mixing two is refused."""

    kind: str = LOCAL
    zone: str | None = None
    origin: tuple[float, ...] = ()

    @property
    def on_earth(self) -> bool:
        """Whether its positions have a longitude and a latitude."""
        if len(self.origin) != 2 or not np.isfinite(self.origin).all():
            return False
        if self.kind == UTM:
            return self.zone is not None and is_utm_zone(self.zone)
        return self.kind == ENU and abs(self.origin[1]) <= 90

    def to_degrees(self, positions: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"] | None:
        """Longitudes, from -180 to less than 180, and latitudes; None in a local frame.

        NaN where a position is: unknown, or so far away that the ellipsoid has no point above or below it.
        """
        if not self.on_earth:
            return None
        if self.kind == ENU:
            return degrees_on_plane(positions, self.origin[0], self.origin[1])
        return degrees_on_grid(positions + np.array(self.origin), str(self.zone))

    def find_lon_lat(self, position: Float[np.ndarray, "2"]) -> tuple[float, float] | None:
        """The same of one position; None where it has neither."""
        found = self.to_degrees(position[None].astype(float))
        if found is None or np.isnan(found).any():
            return None
        return float(found[0, 0]), float(found[0, 1])


LOCAL_FRAME = CoordinateFrame()
"""Metres from nobody knows where."""


def is_utm_zone(zone: str) -> bool:
    """Whether it is the number of a zone and its hemisphere, as in 52N."""
    return _ZONE.fullmatch(zone) is not None


def metres_on_plane(degrees: Float[np.ndarray, "n 2"], longitude: float, latitude: float) -> Float[np.ndarray, "n 2"]:
    """East and North of an origin, in the plane that touches the ellipsoid there."""
    offset = _to_cartesian(degrees) - _to_cartesian(np.array([[longitude, latitude]]))
    east, north, _ = _find_axes(longitude, latitude)
    # Not one product with both: BLAS then rounds otherwise, and kept digests of positions would no longer be theirs.
    return np.stack([offset @ east, offset @ north], axis=-1)


def degrees_on_plane(
    positions: Float[np.ndarray, "n 2"], longitude: float, latitude: float
) -> Float[np.ndarray, "n 2"]:
    """Where the vertical of the origin, moved to each position, meets the ellipsoid: the root of a quadratic.

    Newton's method on longitude and latitude would divide by the cosine of the latitude, which is 0 at a pole.
    """
    east, north, up = _find_axes(longitude, latitude)
    level = _to_cartesian(np.array([[longitude, latitude]])) + positions @ np.stack([east, north])
    # Stretched by 1 / sqrt(1 - e²) along its axis the ellipsoid is a sphere: |level + u up|² = a² for u.
    stretch = np.array([1.0, 1.0, 1 / np.sqrt(1 - _ECCENTRICITY2)])
    level, up = level * stretch, up * stretch
    half, square = level @ up, up @ up
    # (|level| + a)(|level| - a) keeps the digits that |level|² - a² would lose.
    length = np.linalg.norm(level, axis=1)
    root = half**2 - square * (length + _SEMI_MAJOR) * (length - _SEMI_MAJOR)
    u = (np.sqrt(np.where(root >= 0, root, np.nan)) - half) / square
    x, y, z = (level + u[:, None] * up).T
    latitudes = np.arctan2(z, np.sqrt(1 - _ECCENTRICITY2) * np.hypot(x, y))
    return np.column_stack([_wrap(np.degrees(np.arctan2(y, x))), np.degrees(latitudes)])


def degrees_on_grid(points: Float[np.ndarray, "n 2"], zone: str) -> Float[np.ndarray, "n 2"]:
    """Longitude and latitude of eastings and northings, by the inverse of Krüger's series."""
    found = _ZONE.fullmatch(zone)
    if found is None:
        raise ValueError(f"a UTM zone is 1 to 60 and N or S, got {zone!r}")
    east = points[:, 0] - _FALSE_EASTING
    north = points[:, 1] - (_FALSE_NORTHING if found[2] == "S" else 0.0)
    east = np.where(np.abs(east) <= _WIDEST, east, np.nan)
    grid = (north + 1j * east) / (_SCALE * _RECTIFYING)
    sphere = grid - sum(term * np.sin(2 * order * grid) for order, term in enumerate(_TO_SPHERE, start=1))
    xi, eta = sphere.real, sphere.imag
    # hypot rather than the arcsine of sin ξ / cosh η, which is blind near a pole.
    conformal = np.arctan2(np.sin(xi), np.hypot(np.sinh(eta), np.cos(xi)))
    terms = (term * np.sin(2 * order * conformal) for order, term in enumerate(_TO_ELLIPSOID, start=1))
    latitudes = conformal + sum(terms)
    longitudes = 6 * int(found[1]) - 183 + np.degrees(np.arctan2(np.sinh(eta), np.cos(xi)))
    return np.column_stack([_wrap(longitudes), np.degrees(latitudes)])


def _wrap(longitudes: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """From -180 to less than 180, in two steps: -180 less a hair, plus 360, may round to 180."""
    raised = np.where(longitudes < -180, longitudes + 360, longitudes)
    return np.where(raised >= 180, raised - 360, raised)


def _find_axes(longitude: float, latitude: float) -> Float[np.ndarray, "3 3"]:
    """East, North and up at a point, as rows, seen from the middle of the Earth."""
    lon, lat = np.radians([longitude, latitude])
    return np.array(
        [
            [-np.sin(lon), np.cos(lon), 0.0],
            [-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)],
            [np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)],
        ]
    )


def _to_cartesian(degrees: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 3"]:
    """Metres from the middle of the Earth to points on the ellipsoid."""
    lon, lat = np.radians(degrees).T
    normal = _SEMI_MAJOR / np.sqrt(1 - _ECCENTRICITY2 * np.sin(lat) ** 2)
    flat, high = normal * np.cos(lat), normal * (1 - _ECCENTRICITY2) * np.sin(lat)
    return np.column_stack([flat * np.cos(lon), flat * np.sin(lon), high])
