"""K and W on the device, as they are written down: dense, float64, and slow."""

import torch


class DenseRidge:
    """What the places on the device ask of a ridge, and what lessons do to it."""

    def __init__(self, ridge, device="cpu"):
        self.ridge = ridge.ridge
        self.K = torch.as_tensor(ridge.covariance).to(device)
        self.W = torch.as_tensor(ridge.weights.copy()).to(device)

    def observe(self, rows):
        energy = (rows[0] * rows[0]).sum()
        share = self.ridge * torch.dot(rows[0], self.K @ rows[0]) / energy
        return rows @ self.W, torch.where(energy > 0, share.clamp_max(1.0), 1.0)

    def absorb(self, lesson, classes):
        """A lesson of one of so many places."""
        missing = classes - self.W.shape[1]
        self.W = torch.cat([self.W, self.W.new_zeros(len(self.W), missing)], dim=1)
        X = lesson.weights.sqrt()[:, None] * lesson.rows
        Y = torch.zeros(3, classes, dtype=torch.float64)
        Y[:, lesson.place] = lesson.weights.sqrt()[:, None]
        gain = self.K @ X.T
        innovation = torch.eye(3, dtype=torch.float64) + X @ gain
        self.W = self.W + gain @ torch.linalg.solve(innovation, Y - X @ self.W)
        self.K = self.K - gain @ torch.linalg.solve(innovation, gain.T)
