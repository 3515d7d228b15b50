"""From a descriptor to the classifier's input z: a fixed lift, a principal subspace, or nothing.

A linear classifier on the raw descriptor cannot bend; a fixed random layer with a ReLU (ACIL's buffer) lets it.
All three are scaled so that ‖z‖² averages 1, so that a ridge λ means the same for each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int8
from pydantic import Field

from tmapr.artifacts.arrays import Arrays
from tmapr.config import Settings
from tmapr.places.lift import VARIANCE, times_bytes
from tmapr.places.triangle import RANK, round_up

_ROUNDING = 1e-10
_ENOUGH_ROWS = 2000
_FOUR = 4


@dataclass(frozen=True, slots=True)
class Identity:
    """z = d."""

    width: int

    @property
    def dimension(self) -> int:
        """The length of z."""
        return self.width

    def __call__(self, descriptors: Float[np.ndarray, "k width"]) -> Float[np.ndarray, "k width"]:
        """The rows themselves."""
        return descriptors.copy()


@dataclass(frozen=True, slots=True)
class Subspace:
    """z = (d − mean) · axes."""

    mean: Float[np.ndarray, " width"]
    axes: Float[np.ndarray, "width dimension"]

    @property
    def width(self) -> int:
        """The length of a descriptor."""
        return self.axes.shape[0]

    @property
    def dimension(self) -> int:
        """The length of z."""
        return self.axes.shape[1]

    def __call__(self, descriptors: Float[np.ndarray, "k width"]) -> Float[np.ndarray, "k dimension"]:
        """Project rows."""
        return (descriptors - self.mean) @ self.axes


def fit_subspace(descriptors: Float[np.ndarray, "refs dim"], dimension: int) -> Subspace:
    """The principal subspace, at most as wide as the data allow, scaled to a mean ‖z‖² of 1.

    A long traverse is sampled evenly: the axes are known long before ten thousand frames are decomposed.
    """
    kept_rows = min(len(descriptors), _ENOUGH_ROWS)
    descriptors = descriptors[np.linspace(0, len(descriptors) - 1, kept_rows).astype(int)]
    mean = descriptors.mean(axis=0)
    _, spread, axes = np.linalg.svd(descriptors - mean, full_matrices=False)
    # Below this a direction is rounding, also where all descriptors are equal because the robot was parked.
    kept = min(dimension, int(np.count_nonzero(spread > _ROUNDING * np.linalg.norm(descriptors))))
    if not kept:
        return Subspace(mean, axes[:1].T)
    energy = float(np.sum(spread[:kept] ** 2)) / len(descriptors)
    return Subspace(mean, axes[:kept].T / np.sqrt(energy))


@dataclass(frozen=True, slots=True)
class Lift:
    """z = max(0, d · R), with the entries of R as bytes (see lift.py) and scaled so that E‖z‖² = 1 for a unit d."""

    width: int
    dimension: int
    matrix: Int8[np.ndarray, " size"]

    @classmethod
    def from_seed(cls, seed: int, width: int, dimension: int) -> "Lift":
        """The bytes are the generator's raw integers, whose stream is fixed by PCG64's definition.

        NumPy does not promise that for its distributions, and a seed must mean the same matrix in every map.
        """
        size = round_up(width, _FOUR) * dimension
        raw = np.random.PCG64(seed).random_raw(-(-size // 8)).astype("<u8")
        return cls(width, dimension, raw.view(np.int8)[:size])

    def __call__(self, descriptors: Float[np.ndarray, "k width"]) -> Float[np.ndarray, "k dimension"]:
        """Lift rows, three at a time."""
        lifted = np.concatenate(list(self._blocks(descriptors)))[: len(descriptors)]
        return np.maximum(lifted, 0.0, out=lifted)

    def _blocks(self, descriptors: Float[np.ndarray, "k width"]) -> Iterator[Float[np.ndarray, "3 dimension"]]:
        scale = np.sqrt(2.0 / (self.dimension * VARIANCE))
        for start in range(0, len(descriptors), RANK):
            block = descriptors[start : start + RANK]
            rows = np.zeros((RANK, round_up(self.width, _FOUR)))
            rows[: len(block), : self.width] = scale * block
            product = np.empty((RANK, self.dimension))
            times_bytes(rows, self.matrix, product)
            yield product


Projector = Identity | Subspace | Lift
"""Takes rows of length `width` to rows of length `dimension`."""


class Projection(Settings):
    """How the classifier's input is made from a descriptor."""

    kind: Literal["lift", "pca", "identity"] = Field(
        "lift", description="lift: random ReLU features; pca: principal subspace of the reference; identity"
    )
    dimension: int = Field(2048, ge=2, le=16384, description="dimension of z (lift and pca)")
    seed: int = Field(0, ge=0, description="seed of the lift's random matrix")

    def fit(self, descriptors: Float[np.ndarray, "refs dim"]) -> Projector:
        """The projector for descriptors like these; only pca looks at their values."""
        width = descriptors.shape[1]
        if self.kind == "identity":
            return Identity(width)
        if self.kind == "pca":
            return fit_subspace(descriptors, self.dimension)
        return Lift.from_seed(self.seed, width, self.dimension)

    def load(self, fitted: Arrays) -> Projector:
        """The projector that was fitted before, see `Classifier.projection_arrays`."""
        if self.kind == "pca":
            return Subspace(fitted["projector.mean"], fitted["projector.axes"])
        return self.fit(np.zeros((1, int(fitted["width"]))))
