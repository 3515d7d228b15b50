"""What moves while one drives: cars and people that follow the route in either direction, each at a pace of its own.

A mover is rigid and turns at the route's corners at once. What heats it is solved for where it starts; it keeps that
warmth, and other movers are no obstacle to it.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from tmapr.simulation.scene import Scene


@dataclass(frozen=True, slots=True)
class Movers:
    """Surfaces, each in the coordinates of the mover it is of: x ahead, y to its left. A row for each surface."""

    shape: Scene
    route: Float[np.ndarray, "corners 2"]
    started: Float[np.ndarray, " surfaces"]
    """Metres along the route at the beginning."""
    speed: Float[np.ndarray, " surfaces"]
    """m/s along the route; negative against it."""
    lane: float
    """Metres to the right of the route's middle, as a mover goes."""

    def scene_at(self, seconds: float) -> Scene:
        """All surfaces where they are at a time."""
        legs = np.diff(self.route, axis=0)
        lengths = np.hypot(*legs.T)
        ends = np.concatenate([[0.0], np.cumsum(lengths)])
        along = np.mod(self.started + self.speed * seconds, ends[-1])
        leg = np.minimum(np.searchsorted(ends, along, side="right") - 1, len(legs) - 1)
        onward = legs[leg] / lengths[leg, None]
        ahead = np.sign(self.speed)[:, None] * onward
        left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
        place = self.route[leg] + (along - ends[leg])[:, None] * onward - self.lane * left
        origin, *edges = (_turn(each, ahead, left) for each in (self.shape.origin, self.shape.along, self.shape.across))
        origin[:, :2] += place
        return replace(self.shape, origin=origin, along=edges[0], across=edges[1])


def _turn(
    vectors: Float[np.ndarray, "n 3"], ahead: Float[np.ndarray, "n 2"], left: Float[np.ndarray, "n 2"]
) -> Float[np.ndarray, "n 3"]:
    """Vectors of movers in the world."""
    flat = vectors[:, :1] * ahead + vectors[:, 1:2] * left
    return np.concatenate([flat, vectors[:, 2:]], axis=1)
