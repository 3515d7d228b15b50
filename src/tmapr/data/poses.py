"""Timed poses, and the poses of images taken between them.

Positions are interpolated linearly and headings along the shorter way round. Nothing is invented: in a gap that is too
long, and before the first and after the last pose, there is no pose.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.types import NANOSECONDS

MAX_GAP = 2.0
"""Seconds: the longest gap between two poses that is bridged."""

MAX_BEYOND = 0.1
"""Seconds: an image this little before the first or after the last pose has that one's."""

_REACH = 100  # poses: a vehicle that stands for an hour must not be searched through for each of them


@dataclass(frozen=True, slots=True)
class Poses:
    """Poses in any order; where stamps repeat, the first counts. NaN: no heading there."""

    stamps: Int[np.ndarray, " poses"]
    positions: Float[np.ndarray, "poses 2"]
    headings: Float[np.ndarray, " poses"]

    def at(
        self,
        stamps: Int[np.ndarray, " images"],
        max_gap: float = MAX_GAP,
        max_beyond: float = MAX_BEYOND,
        standing: float = 0.0,
    ) -> "Poses":
        """The poses at these stamps; NaN where there is none.

        Where poses were recorded every so many metres only, a gap of any length whose ends lie less than `standing`
        metres apart is a vehicle that stood, and is bridged too.
        """
        known, rows = np.unique(self.stamps, return_index=True)
        if not len(known):
            return Poses(stamps, np.full((len(stamps), 2), np.nan), np.full(len(stamps), np.nan))
        # Differences to the first stamp: nanoseconds since the epoch do not fit into a float64.
        times, asked = (known - known[0]).astype(float), (stamps - known[0]).astype(float)
        path = self.positions[rows]
        usable = _covered(times, asked, _bridged(times, path, max_gap, standing), max_beyond)
        positions = np.stack([np.interp(asked, times, axis) for axis in path.T], axis=1)
        headings = np.full(len(stamps), np.nan)
        headed = np.isfinite(self.headings[rows])
        if headed.any():
            since, turned = times[headed], np.unwrap(self.headings[rows][headed])
            directed = _covered(since, asked, _bridged(since, path[headed], max_gap, standing), max_beyond)
            headings = np.where(directed, wrap_angles(np.interp(asked, since, turned)), np.nan)
        return Poses(stamps, np.where(usable[:, None], positions, np.nan), np.where(usable, headings, np.nan))


NO_POSES = Poses(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros(0))


def _bridged(
    times: Float[np.ndarray, " poses"], path: Float[np.ndarray, "poses 2"], max_gap: float, standing: float
) -> Bool[np.ndarray, " poses"]:
    """Whether the gap before each pose is bridged; times in nanoseconds."""
    short = np.diff(times, prepend=times[0]) <= max_gap * NANOSECONDS
    return short | (np.hypot(*np.diff(path, axis=0, prepend=path[:1]).T) < standing)


def _covered(
    times: Float[np.ndarray, " poses"],
    asked: Float[np.ndarray, " images"],
    bridged: Bool[np.ndarray, " poses"],
    max_beyond: float,
) -> Bool[np.ndarray, " images"]:
    """Which instants lie on a pose, in a bridged gap, or hardly beyond the ends; times in nanoseconds."""
    after = np.clip(np.searchsorted(times, asked), 0, len(times) - 1)
    ended = (asked < times[0]) | (asked > times[-1])
    beyond = np.where(asked < times[0], times[0] - asked, asked - times[-1])
    return np.where(ended, beyond <= max_beyond * NANOSECONDS, bridged[after] | (times[after] == asked))


def wrap_angles(angles: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Angles in (−π, π]."""
    return np.pi - (np.pi - angles) % (2 * np.pi)


def fit_rotation(
    source: Float[np.ndarray, "n 2"], target: Float[np.ndarray, "n 2"], least: float = 1.0
) -> float | None:
    """The angle by which the least-squares rigid fit turns `source` onto `target`.

    None if either hardly leaves its mean (by `least` metres, root mean square): noise has no direction.
    """
    if len(source) < 2:
        return None
    a, b = source - source.mean(axis=0), target - target.mean(axis=0)
    if min(np.sum(a**2), np.sum(b**2)) < least**2 * len(source):
        return None
    return turn_between(a, b)


def turn_between(source: Float[np.ndarray, "n 2"], target: Float[np.ndarray, "n 2"]) -> float:
    """The angle of the least-squares rotation of `source` onto `target`, both without their means."""
    cross = source[:, 0] * target[:, 1] - source[:, 1] * target[:, 0]
    return float(np.arctan2(np.sum(cross), np.sum(source * target)))


def track_direction(positions: Float[np.ndarray, "n 2"], least: float = 1.0) -> Float[np.ndarray, " n"]:
    """The direction of travel at each position; NaN where it did not move so many metres within 100 poses.

    Measured between the nearest positions that far away before and after, so that the noise of a standing vehicle's
    fixes gives no direction.
    """
    rows = np.arange(len(positions))
    back, ahead = (_first_away(positions, rows, sign, least) for sign in (-1, 1))
    moved = positions[ahead] - positions[back]
    return np.where(np.hypot(*moved.T) >= least, np.arctan2(moved[:, 1], moved[:, 0]), np.nan)


def _first_away(
    positions: Float[np.ndarray, "n 2"], rows: Int[np.ndarray, " n"], sign: int, least: float
) -> Int[np.ndarray, " n"]:
    """For each row the nearest one in a direction of time that is `least` metres away, or itself."""
    found = rows.copy()
    for offset in range(1, _REACH + 1):
        other = np.clip(rows + sign * offset, 0, len(rows) - 1)
        far = np.hypot(*(positions[other] - positions).T) >= least
        found = np.where((found == rows) & far, other, found)
    return found
