"""K and W as they are written down: dense, float64, every entry read and rewritten. An oracle, and slow."""

import torch
from torch import Tensor

from tmapr.places.analytic import Ridge


class DenseRidge:
    """What places on a device ask of a ridge, and what lessons do to it."""

    def __init__(self, dim: int, ridge: float, classes: int, device: torch.device) -> None:
        self.ridge = ridge
        self.K = torch.eye(dim, dtype=torch.float64, device=device) / ridge
        self.W = torch.zeros((dim, classes), dtype=torch.float64, device=device)

    @classmethod
    def copy(cls, ridge: Ridge, device: torch.device) -> "DenseRidge":
        """What a ridge of the CPU knows."""
        made = cls(ridge.dim, ridge.ridge, ridge.classes, device)
        made.K.copy_(torch.as_tensor(ridge.covariance))
        made.W.copy_(torch.as_tensor(ridge.weights.copy()))
        return made

    def observe(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """X W, and the leverage of the first row; kept for `absorb_place`."""
        self._rows, self._gain = rows, self.K @ rows.T
        energy = rows[0] @ rows[0]
        share = (self.ridge * (rows[0] @ self._gain[:, 0]) / energy).clamp_max(1.0)
        return rows @ self.W, torch.where(energy > 0, share, 1.0)

    def grow(self, classes: int) -> None:
        """Make room for more classes."""
        missing = classes - self.W.shape[1]
        self.W = torch.cat([self.W, self.W.new_zeros((len(self.W), missing))], dim=1)

    def absorb_place(self, place: Tensor, weights: Tensor) -> None:
        """Learn the rows last observed, all of one place."""
        roots = weights.sqrt()
        gain, X = self._gain * roots, self._rows * roots[:, None]
        innovation = torch.eye(len(X), dtype=torch.float64, device=X.device) + X @ gain
        Y = (torch.arange(self.W.shape[1], device=X.device) == place) * roots[:, None]
        self.W += gain @ torch.linalg.solve(innovation, Y - X @ self.W)
        self.K -= gain @ torch.linalg.solve(innovation, gain.T)
