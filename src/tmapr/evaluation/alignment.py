"""The rigid planar fit of one trajectory to another, closed form."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.data.poses import turn_between
from tmapr.exceptions import InputError


@dataclass(frozen=True, slots=True)
class PlanarTransform:
    """p ↦ R(angle) p + translation."""

    angle: float
    translation: Float[np.ndarray, "2"]

    def __call__(self, points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Move points."""
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return points @ np.array([[cosine, sine], [-sine, cosine]]) + self.translation


def fit_planar(source: Float[np.ndarray, "n 2"], target: Float[np.ndarray, "n 2"]) -> PlanarTransform:
    """The rotation and translation that bring `source` nearest to `target` in the least-squares sense."""
    if len(source) < 2:
        raise InputError(f"an alignment needs at least two positions, got {len(source)}")
    angle = turn_between(source - source.mean(axis=0), target - target.mean(axis=0))
    turn = PlanarTransform(angle, np.zeros(2))
    return PlanarTransform(angle, target.mean(axis=0) - turn(source.mean(axis=0)[None])[0])
