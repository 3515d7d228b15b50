"""Ways of learning one sample, eq. (2), and the floors under them: the product's, BLAS, NumPy.

All take a sample's three rows with weights 1, 0.35 and 0.35 and own their arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np
from jaxtyping import Float
from scipy.linalg.blas import dsymv, dsyr

from tmapr.places.analytic import Ridge

CLASSES = 150
RIDGE = 0.01
WEIGHTS = np.array([1.0, 0.35, 0.35])


@dataclass(frozen=True, slots=True)
class Sample:
    """A frame's three sigma points as the classifier gets them."""

    rows: Float[np.ndarray, "3 dim"]
    targets: Float[np.ndarray, "3 classes"]


def samples(dim: int, rng: np.random.Generator) -> Iterator[Sample]:
    """Rows like a lift's: rectified, of length 1, three of a kind."""
    while True:
        rows = np.maximum(rng.normal(size=dim) + 0.3 * rng.normal(size=(3, dim)), 0.0)
        targets = np.zeros((3, CLASSES))
        targets[:, rng.integers(CLASSES)] = 1.0
        yield Sample(rows / np.linalg.norm(rows, axis=1, keepdims=True), targets)


@numba.njit(nogil=True, fastmath={"reassoc"})
def read(array):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(array.size):
        total += array[i]
    return total


@numba.njit(nogil=True)
def rewrite(array, step):  # type: ignore[no-untyped-def]
    for i in range(array.size):
        array[i] += step


class Floor:
    """What eq. (2) has to move at least if it is done as written: K once in for K Xᵀ, once in and out for the downdate.

    It does no arithmetic worth the name and leaves W out.
    """

    def __init__(self, dim: int) -> None:
        self.triangle = np.ones(dim * (dim + 1) // 2)

    def __call__(self, _sample: object = None) -> None:
        """Read it, then rewrite it."""
        read(self.triangle)
        rewrite(self.triangle, 1e-9)


class OnePass:
    """What the fused update has to move at least: the triangle and W, each once in and out."""

    def __init__(self, dim: int) -> None:
        self.everything = np.ones(dim * (dim + 1) // 2 + dim * CLASSES)

    def __call__(self, _sample: object = None) -> None:
        """Rewrite everything once."""
        rewrite(self.everything, 1e-9)


class Ours:
    """The product's update."""

    def __init__(self, dim: int, ridge: Ridge | None = None) -> None:
        self.ridge = ridge or Ridge(dim, RIDGE, CLASSES)

    def __call__(self, sample: Sample) -> None:
        """Learn a sample."""
        self.ridge.learn(sample.rows, sample.targets, WEIGHTS)


class SymmetricBlas:
    """Three rank-1 updates with the BLAS routines made for a triangle, in place (Fortran order, float64)."""

    def __init__(self, dim: int) -> None:
        self.K = np.asfortranarray(np.eye(dim) / RIDGE)
        self.W = np.zeros((dim, CLASSES))
        self._change = np.empty_like(self.W)

    def __call__(self, sample: Sample) -> None:
        """Learn a sample, row by row."""
        for root, row, target in zip(np.sqrt(WEIGHTS), sample.rows, sample.targets, strict=True):
            x = root * row
            gain = dsymv(1.0, self.K, x, lower=1)
            innovation = 1.0 + x @ gain
            residual = (root * target - x @ self.W) / innovation
            np.multiply(gain[:, None], residual, out=self._change)
            self.W += self._change
            self.K = dsyr(-1.0 / innovation, gain, a=self.K, lower=1, overwrite_a=1)


class AsWritten:
    """The paper's eq. (2) in NumPy: the full K, and W = KQ anew each time."""

    def __init__(self, dim: int) -> None:
        self.K = np.eye(dim) / RIDGE
        self.Q = np.zeros((dim, CLASSES))
        self.W = np.zeros((dim, CLASSES))

    def __call__(self, sample: Sample) -> None:
        """Learn a sample."""
        X, Y = np.sqrt(WEIGHTS)[:, None] * sample.rows, np.sqrt(WEIGHTS)[:, None] * sample.targets
        gain = self.K @ X.T
        self.K = self.K - gain @ np.linalg.inv(np.eye(3) + X @ gain) @ (X @ self.K)
        self.Q = self.Q + X.T @ Y
        self.W = self.K @ self.Q
