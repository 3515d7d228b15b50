"""OpenCV's INTER_AREA for gray pictures, in torch: the same integers and float32 sums in the same order.

Its three ways: blocks of whole pixels where both sides are multiples; weighted areas where both sides shrink; and where
one grows, a bilinear mixture in fixed point. Pictures come and go as integers of 0 to 255 in int32.
"""

from functools import reduce
from math import ceil, floor

import numpy as np
import torch
from jaxtyping import Float, Int32
from torch import Tensor, nn

Size = tuple[int, int]
Grays = Int32[Tensor, "images _ _"]

_LEAST_SHARE = 1e-3
"""Of a pixel, below which it does not count."""
_ONE = 2048
"""Fixed point: 11 bits of a weight, of which a row and a column have one each."""


def choose_resize(given: Size, size: Size) -> nn.Module:
    """What makes pictures of `size` (height, width) from those of another."""
    if given == size:
        return nn.Identity()
    if shrinks_by_areas(given, size):
        return _Areas(given, size)
    return _WholeBlocks(given, size) if _shrinks(given, size) else _Mixture(given, size)


def shrinks_by_areas(given: Size, size: Size) -> bool:
    """Whether pixels are weighted by what is covered of them: no side grows, and one is no multiple."""
    return _shrinks(given, size) and any(side % wanted for side, wanted in zip(given, size, strict=True))


def _shrinks(given: Size, size: Size) -> bool:
    return all(side >= wanted for side, wanted in zip(given, size, strict=True))


class _WholeBlocks(nn.Module):
    """Means of blocks of whole pixels."""

    def __init__(self, given: Size, size: Size) -> None:
        super().__init__()
        self._size = size
        self._block = given[0] // size[0], given[1] // size[1]

    def forward(self, grays: Grays) -> Grays:
        (height, width), (rows, columns) = self._size, self._block
        sums = grays.view(-1, height, rows, width, columns).sum(dim=(2, 4), dtype=torch.int32)
        if self._block == (2, 2):
            return (sums + 2) >> 2  # halves go up here, and to the even one elsewhere
        return (sums.float() * float(np.float32(1) / np.float32(rows * columns))).round().int()


class _Areas(nn.Module):
    """Means over what each pixel covers of the larger picture, columns first."""

    across: Tensor
    shares_across: Tensor
    down: Tensor
    shares_down: Tensor

    def __init__(self, given: Size, size: Size) -> None:
        super().__init__()
        for axis, (name, side, wanted) in enumerate(zip(("down", "across"), given, size, strict=True)):
            pixels, shares = cover(side, wanted)
            self.register_buffer(name, pixels, persistent=False)
            self.register_buffer(f"shares_{name}", shares if axis else shares[..., None], persistent=False)

    def forward(self, grays: Grays) -> Grays:
        images, height, _ = grays.shape
        taken = grays.float().index_select(2, self.across.flatten()).view(images, height, *self.across.shape)
        narrow = _add_in_order(taken * self.shares_across, dim=2)
        taken = narrow.index_select(1, self.down.flatten()).view(images, *self.down.shape, narrow.shape[2])
        return _add_in_order(taken * self.shares_down, dim=1).round().int().clamp(0, 255)


def cover(side: int, wanted: int) -> tuple[Int32[Tensor, "most {wanted}"], Float[Tensor, "most {wanted}"]]:
    """The pixels under each of the wanted ones and their shares; where others have more, pixel 0 with share 0."""
    scale = 1 / (wanted / side)  # OpenCV's, which is not always side / wanted
    under = []
    for place in range(wanted):
        start = place * scale
        end = start + scale
        length = min(scale, side - start)
        last = min(floor(end), side - 1)
        first = min(ceil(start), last)
        parts = [(first - 1, first - start)] if first - start > _LEAST_SHARE else []
        parts += [(pixel, 1.0) for pixel in range(first, last)]
        if end - last > _LEAST_SHARE:
            parts.append((last, min(end - last, 1.0, length)))
        under.append([(pixel, part / length) for pixel, part in parts])
    most = max(map(len, under))
    filled = np.array([parts + [(0, 0.0)] * (most - len(parts)) for parts in under])
    return torch.from_numpy(filled[..., 0].T.astype(np.int32)), torch.from_numpy(filled[..., 1].T.astype(np.float32))


def _add_in_order(parts: Float[Tensor, "*_"], *, dim: int) -> Float[Tensor, "*_"]:
    """A sum whose rounding is that of a loop; torch's own adds in whatever order is fast."""
    return reduce(torch.add, parts.unbind(dim))


class _Mixture(nn.Module):
    """Between the two nearest rows and columns, in fixed point."""

    columns: Tensor
    weights_across: Tensor
    rows: Tensor
    weights_down: Tensor

    def __init__(self, given: Size, size: Size) -> None:
        super().__init__()
        rows, down = _find_neighbours(given[0], size[0])
        columns, across = _find_neighbours(given[1], size[1])
        # Beyond the last column there is none to mix with; rows are mixed with themselves there.
        across = np.where(columns[0] >= given[1] - 1, np.float32(0), across)
        self._place("rows", "weights_down", np.minimum(rows, given[0] - 1), _to_fixed_point(down)[..., None])
        self._place("columns", "weights_across", np.minimum(columns, given[1] - 1), _to_fixed_point(across))

    def _place(self, pixels: str, weights: str, found: np.ndarray, fixed: np.ndarray) -> None:
        self.register_buffer(pixels, torch.from_numpy(found.astype(np.int32)), persistent=False)
        self.register_buffer(weights, torch.from_numpy(fixed), persistent=False)

    def forward(self, grays: Grays) -> Grays:
        left, right = (grays.index_select(2, columns) for columns in self.columns)
        wide = (left * self.weights_across[0] + right * self.weights_across[1]) >> 4
        above, below = (wide.index_select(1, rows) for rows in self.rows)
        mixed = ((above * self.weights_down[0]) >> 16) + ((below * self.weights_down[1]) >> 16)
        return ((mixed + 2) >> 2).clamp(0, 255)


def _find_neighbours(side: int, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """The two pixels around each wanted one, the second of which may not exist, and the share of the second."""
    growth = wanted / side
    scale = 1 / growth
    places = np.arange(wanted)
    first = np.floor(places * scale).astype(int)
    share = ((places + 1) - (first + 1) * growth).astype(np.float32)
    share = np.where(share <= 0, np.float32(0), share - np.floor(share))
    return np.stack([first, first + 1]), share


def _to_fixed_point(share: np.ndarray) -> np.ndarray:
    """The weights of the first and of the second pixel."""
    return np.rint(np.stack([np.float32(1) - share, share]) * np.float32(_ONE)).astype(np.int32)
