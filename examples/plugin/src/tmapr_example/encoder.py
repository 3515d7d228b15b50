"""An encoder: how strong edges of each direction are, cell by cell.

A toy: what a first layer of a network learns, written by hand. tmapr's pooling, a SALAD head or a pose head trained on
these tokens makes the rest.
"""

from math import pi

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d


class Gradients(nn.Module):
    """Tokens on a grid of cells: the gradient's length, shared out over directions by how well it points there."""

    def __init__(self, directions: int = 8, cell: int = 16) -> None:
        super().__init__()
        if directions < 2 or cell < 2:
            raise ValueError(f"at least 2 directions and cells of 2 pixels, got {directions} and {cell}")
        angles = torch.arange(directions) * (2 * pi / directions)
        self.register_buffer("across", torch.stack([angles.cos(), angles.sin()]), persistent=False)
        self._cell = cell

    def forward(self, pictures: Tensor) -> Tensor:
        """[images, 3, height, width] become [images, rows, columns, directions]."""
        gray = pictures.mean(dim=1)
        along_x = gray[:, 1:, 1:] - gray[:, 1:, :-1]
        along_y = gray[:, 1:, 1:] - gray[:, :-1, 1:]
        edges = torch.stack([along_x, along_y], dim=-1) @ self.get_buffer("across")
        strength = edges.clamp(min=0).permute(0, 3, 1, 2)
        return avg_pool2d(strength, self._cell, ceil_mode=True).permute(0, 2, 3, 1)
