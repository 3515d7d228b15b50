"""Which way the robot faces, and how far that is known: the filter itself tracks positions and velocities only."""

from math import atan2, hypot, pi
from typing import NamedTuple

import numpy as np

from tmapr.live.events import Answer
from tmapr.types import NANOSECONDS, Estimate

UNOBSERVED = 1e6
"""A variance, in square metres or radians: whoever fuses it learns nothing, and no covariance becomes singular."""
HEADING = 0.2**2
"""Of the mapped route's heading where it was recognised: lanes and swerves are within some ten degrees."""
_HEAD = 0.5**2
"""Of the pose head's, which nobody has measured in weather that it did not see."""
_SHARPEST = 0.3
"""Radians: a velocity whose direction is known worse than that says nothing of where the robot faces."""
_DRIFT = 0.01**2
"""Square radians a second by which a robot's own odometry turns away."""


class Bearing(NamedTuple):
    """Radians counter-clockwise from East (the map's x), and their variance."""

    yaw: float
    variance: float


class _Anchor(NamedTuple):
    seen: Bearing
    turned: float | None
    """The yaw of the robot's own odometry then."""
    stamp: int


class Compass:
    """Remembers the last bearing that was seen: frames without one of their own are answered from it."""

    def __init__(self) -> None:
        self._anchor: _Anchor | None = None

    def follow(self, answer: Answer) -> Bearing | None:
        """The best that is known, in this order; None before anything is.

        The estimate's heading; the last bearing, turned as the robot's odometry turned since; the direction of a
        velocity that is worth one; the last bearing as it was, with a variance that says that nobody observed it.
        """
        estimate, odometry = answer.estimate, answer.odometry
        carried = self._carry(answer)
        if estimate.heading is None and carried:
            return carried
        seen = _see(estimate)
        if seen is None:
            return Bearing(self._anchor.seen.yaw, UNOBSERVED) if self._anchor else None
        self._anchor = _Anchor(seen, odometry.yaw if odometry else None, estimate.stamp)
        return seen

    def _carry(self, answer: Answer) -> Bearing | None:
        anchor, odometry = self._anchor, answer.odometry
        if anchor is None or anchor.turned is None or odometry is None:
            return None
        seconds = (answer.estimate.stamp - anchor.stamp) / NANOSECONDS
        yaw = wrap(anchor.seen.yaw + odometry.yaw - anchor.turned)
        return Bearing(yaw, anchor.seen.variance + _DRIFT * seconds)


def _see(estimate: Estimate) -> Bearing | None:
    """What this frame itself says."""
    if estimate.heading is not None:
        return Bearing(wrap(estimate.heading), HEADING if estimate.percept.heading is None else _HEAD)
    vx, vy = estimate.belief.mean[2:].tolist()
    speed = hypot(vx, vy)
    if speed == 0.0:
        return None
    across = np.array([-vy, vx]) / speed
    variance = float(across @ estimate.belief.covariance[2:, 2:] @ across) / speed**2
    if variance > _SHARPEST**2:
        return None
    # The position of a robot that reverses moves to where its back is.
    motion = estimate.percept.motion
    reverses = motion is not None and motion.speed is not None and motion.speed < 0
    return Bearing(wrap(atan2(vy, vx) + (pi if reverses else 0.0)), variance)


def wrap(angle: float) -> float:
    """The same direction, from -π to less than π."""
    return (angle + pi) % (2 * pi) - pi
