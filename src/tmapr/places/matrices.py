"""K and W where they are kept, and the products with them: on the CPU in tiles, or elsewhere (gpu/torch_matrices.py).

Everything else of the analytic classifier is analytic.py's, once, and asks for no more than this.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays
from tmapr.places.recursion import absorb, read
from tmapr.places.triangle import RANK, from_dense, identity_tiles, round_up, settle_and_multiply, to_dense

LEARN = 1.0
_FIRST_CAPACITY = 64


@runtime_checkable
class Matrices(Protocol):
    """K and W where they are kept: on the CPU in tiles, or on a GPU. X has as many numbers a row as W has rows."""

    @property
    def weights(self) -> Float[np.ndarray, "dim classes"]:
        """W, to be read only."""

    @property
    def covariance(self) -> Float[np.ndarray, "dim dim"]:
        """K as a full matrix."""

    def read(self, X: Float[np.ndarray, "3 dim"]) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3 classes"]]:
        """X K Xᵀ and X W; the gains G = X K are kept for `absorb`."""

    def absorb(self, correction: Float[np.ndarray, "3 classes"], factor: Float[np.ndarray, "3 3"], sign: float) -> None:
        """W += Gᵀ C and K −= sign · (F G)ᵀ F G, with the gains of what was read last."""

    def grow(self, classes: int) -> None:
        """Columns of zeros for more classes."""

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it, the same whatever was read last."""


MakeMatrices = Callable[[Float[np.ndarray, "dim classes"], float, Arrays | None], Matrices]
"""From W, the ridge, and K as `arrays` gave it; without it, K = I/ridge."""


class TiledMatrices:
    """K as the tiles of its triangle (triangle.py), W with room to grow."""

    def __init__(self, W: Float[np.ndarray, "dim classes"], ridge: float, K: Arrays | None = None) -> None:
        self._dim, self._classes = W.shape
        self._tiles = identity_tiles(self._dim, 1.0 / ridge)
        # K is `tiles − sign · pendingᵀ pending`: the newest downdate waits for the next pass (see triangle.py).
        self._pending = np.zeros((RANK, round_up(self._dim)))
        self._sign = LEARN
        self._W = np.zeros((self._dim, max(_FIRST_CAPACITY, self._classes)))
        self._W[:, : self._classes] = W
        self._gains = np.zeros_like(self._pending)
        if K:
            for name, mine in (("tiles", self._tiles), ("pending", self._pending)):
                if K[name].shape != mine.shape:
                    raise ValueError(f"{name} has the shape {K[name].shape}, it must be {mine.shape}")
                mine[:] = K[name]
            self._sign = float(K["sign"])

    @property
    def weights(self) -> Float[np.ndarray, "dim classes"]:
        """W, read-only."""
        view = self._W[:, : self._classes]
        view.flags.writeable = False
        return view

    @property
    def covariance(self) -> Float[np.ndarray, "dim dim"]:
        """K as a full matrix."""
        # Of a copy: whoever only looks may do so from several threads.
        tiles = self._tiles.copy()
        _settle(tiles, self._pending.copy(), self._sign)
        return to_dense(tiles, self._dim)

    def read(self, X: Float[np.ndarray, "3 dim"]) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3 classes"]]:
        """One pass over K, settling what is pending, and one over W."""
        padded = X
        if X.shape != self._pending.shape:
            padded = np.zeros(self._pending.shape)
            padded[:, : self._dim] = X
        settle_and_multiply(self._tiles, self._pending, self._sign, padded, self._gains)
        products, responses = read(padded, self._gains, self._W, self._classes)
        return products, responses

    def absorb(self, correction: Float[np.ndarray, "3 classes"], factor: Float[np.ndarray, "3 3"], sign: float) -> None:
        """One pass over W; K waits."""
        absorb(self._pending, self._gains, self._W, correction, factor)
        self._sign = sign

    def grow(self, classes: int) -> None:
        """Capacity doubles, so growth costs nothing in the long run."""
        if classes > self._W.shape[1]:
            wider = np.zeros((self._dim, max(classes, 2 * self._W.shape[1])))
            wider[:, : self._classes] = self._W[:, : self._classes]
            self._W = wider
        self._classes = classes

    def arrays(self) -> dict[str, np.ndarray]:
        """With nothing pending."""
        _settle(self._tiles, self._pending, self._sign)
        return {
            "tiles": self._tiles,
            "pending": self._pending,
            "sign": np.array(LEARN),
            "weights": self._W[:, : self._classes],
        }


def pack(K: Float[np.ndarray, "dim dim"], W: Float[np.ndarray, "dim classes"], ridge: float) -> dict[str, np.ndarray]:
    """A state as `Ridge.arrays` gives it."""
    return {
        "tiles": from_dense((K + K.T) / 2, 1.0 / ridge),
        "pending": np.zeros((RANK, round_up(len(K)))),
        "sign": np.array(LEARN),
        "weights": W,
        "ridge": np.array(ridge),
    }


def _settle(tiles: Float[np.ndarray, " size"], pending: Float[np.ndarray, "3 padded"], sign: float) -> None:
    """What the next pass would do, by that same pass, for the bits' sake."""
    if pending.any():
        settle_and_multiply(tiles, pending, sign, np.zeros_like(pending), np.empty_like(pending))
