"""K and W on a device in float64, behind the seam of `places/matrices.py`.

K is `K₀ − Vᵀ diag(s) V`: the downdates V of the newest updates wait, and all of K is rewritten when `UPDATES` of them
do. A product with what waits costs 3·UPDATES rows; rewriting K costs two passes over 571 MB at d = 8448.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tmapr.artifacts.arrays import Arrays
from tmapr.places.matrices import pack
from tmapr.places.triangle import RANK, to_dense

UPDATES = 16
_FIRST_CAPACITY = 64


class TorchMatrices:
    """Reading waits for the device once, absorbing never does."""

    def __init__(
        self,
        W: Float[np.ndarray, "dim classes"],
        ridge: float,
        K: Arrays | None = None,
        *,
        device: torch.device | str = "cpu",
    ) -> None:
        dim, self._classes = W.shape
        self._ridge, self._device = ridge, torch.device(device)
        self._waiting, self._signs = self._zeros(UPDATES * RANK, dim), self._zeros(UPDATES * RANK, 1)
        self._slot = 0
        self._gains = self._zeros(RANK, dim)
        self._W = self._zeros(dim, max(_FIRST_CAPACITY, self._classes))
        self._W[:, : self._classes] = self._send(W)
        if K is None:
            self._K = torch.eye(dim, dtype=torch.float64, device=self._device) / ridge
            return
        self._K = self._send(to_dense(K["tiles"], dim))
        self._waiting[:RANK], self._signs[:RANK] = self._send(K["pending"][:, :dim]), float(K["sign"])
        self._flush()

    @property
    def weights(self) -> Float[np.ndarray, "dim classes"]:
        """A copy of W, read-only."""
        weights = self._W[:, : self._classes].numpy(force=True).copy()
        weights.flags.writeable = False
        return weights

    @property
    def covariance(self) -> Float[np.ndarray, "dim dim"]:
        """A copy of K."""
        settled: Tensor = self._K - self._waiting.T @ (self._signs * self._waiting)
        return settled.cpu().numpy()

    def read(self, X: Float[np.ndarray, "3 dim"]) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3 classes"]]:
        """X K Xᵀ and X W."""
        rows = self._send(X)
        torch.mm(rows, self._K, out=self._gains)
        self._gains -= (rows @ self._waiting.T * self._signs.T) @ self._waiting
        read = torch.cat([rows @ self._gains.T, rows @ self._W[:, : self._classes]], dim=1).cpu().numpy()
        return np.ascontiguousarray(read[:, :RANK]), np.ascontiguousarray(read[:, RANK:])

    def absorb(self, correction: Float[np.ndarray, "3 classes"], factor: Float[np.ndarray, "3 3"], sign: float) -> None:
        """W now, K when enough of them wait."""
        both = self._send(np.concatenate([factor, correction], axis=1))
        self._W[:, : self._classes].addmm_(self._gains.T, both[:, RANK:])
        here = slice(self._slot * RANK, (self._slot + 1) * RANK)
        torch.mm(both[:, :RANK], self._gains, out=self._waiting[here])
        self._signs[here] = sign
        self._slot += 1
        if self._slot == UPDATES:
            self._flush()

    def _flush(self) -> None:
        self._K.addmm_(self._waiting.T, self._signs * self._waiting, alpha=-1)
        self._waiting.zero_()
        self._slot = 0

    def grow(self, classes: int) -> None:
        """Capacity doubles."""
        if classes > self._W.shape[1]:
            wider = self._zeros(len(self._W), max(classes, 2 * self._W.shape[1]))
            wider[:, : self._classes] = self._W[:, : self._classes]
            self._W = wider
        self._classes = classes

    def arrays(self) -> dict[str, np.ndarray]:
        """As `TiledMatrices` gives it, so that a state goes from one to the other."""
        self._flush()
        self._K = (self._K + self._K.T) / 2  # what is saved is what is gone on with
        arrays = pack(self._K.cpu().numpy(), self.weights, self._ridge)
        del arrays["ridge"]
        return arrays

    def _zeros(self, rows: int, columns: int) -> Float[Tensor, "{rows} {columns}"]:
        return torch.zeros(rows, columns, dtype=torch.float64, device=self._device)

    def _send(self, array: Float[np.ndarray, "..."]) -> Tensor:
        return torch.tensor(array, dtype=torch.float64, device=self._device)
