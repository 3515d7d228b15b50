"""Descriptors without weights: averages over a grid, the generalised mean, and descriptors joined.

All have unit length; where all tokens are 0 an average has no direction, and its descriptor is 0 rather than NaN.
"""

from collections.abc import Sequence
from typing import Protocol, cast, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, normalize

from tmapr.perception.encoder import Features

_LEAST = 1e-6


@runtime_checkable
class Aggregator(Protocol):
    """One encoder pass becomes a vector per image, of unit length; dot products are similarities."""

    dim: int

    def __call__(self, features: Features) -> Float[Tensor, "images dim"]:
        """Describe the images of one encoder pass."""
        ...


class GridPooling(nn.Module):
    """Averages of the `first` channels (or all) over `rows` × `columns` cells of the image.

    Cell-major: the channels of the upper left cell come first, then those of its right neighbour.
    """

    def __init__(self, channels: int, *, rows: int = 2, columns: int = 4, first: int | None = None) -> None:
        super().__init__()
        if rows < 1 or columns < 1:
            raise ValueError(f"a grid must have at least 1×1 cells, got {rows}×{columns}")
        if first is not None and not 1 <= first <= channels:
            raise ValueError(f"first must be between 1 and the {channels} channels of a token, got {first}")
        self.rows, self.columns = rows, columns
        self.kept = first or channels
        self.dim = rows * columns * self.kept

    def forward(self, features: Features) -> Float[Tensor, "images {self.dim}"]:
        """The averages, cell after cell."""
        kept = features._replace(tokens=features.tokens[..., : self.kept])
        cells = average_tokens(kept, self.rows, self.columns).tokens
        return normalize(cells.flatten(1), dim=1)


class Gem(nn.Module):
    """The generalised mean (Σ xᵖ / n)^(1/p) of every channel; what is below 10⁻⁶ counts as 10⁻⁶."""

    def __init__(self, channels: int, *, power: float = 3.0) -> None:
        super().__init__()
        if not power > 0:
            raise ValueError(f"power must be positive, got {power}")
        self.power = power
        self.dim = channels

    def forward(self, features: Features) -> Float[Tensor, "images {self.dim}"]:
        """The mean of every channel over the image."""
        tokens = features.tokens.clamp(min=_LEAST)
        # Relative to the largest, a high power cannot overflow; float16 would at 41³.
        largest = tokens.amax(dim=1, keepdim=True)
        mean = (tokens / largest).pow(self.power).mean(dim=1).pow(1 / self.power)
        return normalize(mean * largest[:, 0], dim=1)


class Joined(nn.Module):
    """Descriptors side by side: a similarity is the mean of the parts' similarities, weighted by weight²."""

    def __init__(self, parts: Sequence[Aggregator], weights: Sequence[float]) -> None:
        super().__init__()
        if not parts or len(parts) != len(weights):
            raise ValueError(f"every part needs one weight, got {len(parts)} parts and {len(weights)} weights")
        if not all(weight > 0 for weight in weights):
            raise ValueError(f"weights must be positive, got {list(weights)}")
        # Python cannot say "a module that is a descriptor"; ModuleList refuses what is no module.
        self.parts = nn.ModuleList(cast("Sequence[nn.Module]", parts))
        self.weights = tuple(weights)
        self.dim = sum(part.dim for part in parts)

    def forward(self, features: Features) -> Float[Tensor, "images {self.dim}"]:
        """The parts side by side, each times its weight."""
        parts = [weight * part(features) for weight, part in zip(self.weights, self.parts, strict=True)]
        return normalize(torch.cat(parts, dim=1), dim=1)


def average_tokens(features: Features, rows: int, columns: int) -> Features:
    """The tokens averaged to a grid of `rows` × `columns`; cells that do not divide the patches overlap by one."""
    images, _, channels = features.tokens.shape
    image = features.tokens.transpose(1, 2).reshape(images, channels, features.rows, features.columns)
    cells = adaptive_avg_pool2d(image, (rows, columns))
    return Features(cells.flatten(2).transpose(1, 2), features.summary, rows, columns)
