"""From a descriptor to the classifier's input z: a fixed lift, a principal subspace, or nothing.

A linear classifier on the raw descriptor cannot bend; a fixed random layer with a ReLU (ACIL's buffer) lets it.
All three are scaled so that ‖z‖² averages 1, so that a ridge λ means the same for each.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from tmapr.config import Settings

_ROUNDING = 1e-10


class Projection(Settings):
    """How the classifier's input is made from a descriptor."""

    kind: Literal["lift", "pca", "identity"] = Field(
        "lift", description="lift: random ReLU features; pca: principal subspace of the reference; identity"
    )
    dimension: int = Field(2048, ge=2, le=16384, description="dimension of z (lift and pca)")
    seed: int = Field(0, ge=0, description="seed of the lift's random matrix")

    def fit(self, descriptors: Float[np.ndarray, "refs dim"]) -> "Projector":
        """The projector for descriptors like these; only pca looks at their values."""
        width = descriptors.shape[1]
        if self.kind == "identity":
            return Projector(np.zeros(width), np.eye(width), rectified=False)
        if self.kind == "pca":
            return principal(descriptors, self.dimension)
        return Projector(np.zeros(width), _lift(self.seed, width, self.dimension), rectified=True)


@dataclass(frozen=True, slots=True)
class Projector:
    """z = (d − mean) · matrix, rectified for a lift."""

    mean: Float[np.ndarray, " dim"]
    matrix: Float[np.ndarray, "dim out"]
    rectified: bool

    @property
    def dimension(self) -> int:
        """The length of z."""
        return self.matrix.shape[1]

    def __call__(self, descriptors: Float[np.ndarray, "k dim"]) -> Float[np.ndarray, "k out"]:
        """Project rows."""
        projected = (descriptors - self.mean) @ self.matrix
        return np.maximum(projected, 0.0, out=projected) if self.rectified else projected


def principal(descriptors: Float[np.ndarray, "refs dim"], dimension: int) -> Projector:
    """The principal subspace, at most as wide as the data allow, scaled to a mean ‖z‖² of 1."""
    mean = descriptors.mean(axis=0)
    _, spread, axes = np.linalg.svd(descriptors - mean, full_matrices=False)
    # Below this a direction is rounding, also where all descriptors are equal because the robot was parked.
    kept = min(dimension, int(np.count_nonzero(spread > _ROUNDING * np.linalg.norm(descriptors))))
    if not kept:
        return Projector(mean, axes[:1].T, rectified=False)
    energy = float(np.sum(spread[:kept] ** 2)) / len(descriptors)
    return Projector(mean, axes[:kept].T / np.sqrt(energy), rectified=False)


def _lift(seed: int, width: int, dimension: int) -> Float[np.ndarray, "dim out"]:
    """Uniform entries of variance 2 / dimension, so that E‖max(0, dR)‖² = 1 for a unit d.

    They are made from the generator's raw integers, whose stream is fixed by PCG64's definition. NumPy does not
    promise that for its distributions, and a seed must mean the same matrix in every map ever saved.
    """
    raw = np.random.PCG64(seed).random_raw(width * dimension)
    uniform = (raw >> np.uint64(11)) * 2.0**-53
    return ((2.0 * uniform - 1.0) * np.sqrt(6.0 / dimension)).reshape(width, dimension)
