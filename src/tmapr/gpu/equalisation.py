"""OpenCV's CLAHE in torch: contrast-limited adaptive histogram equalisation with the same integers and roundings."""

import numpy as np
import torch
from jaxtyping import Float32, Int32
from torch import Tensor, nn

GRAYS = 256

Size = tuple[int, int]


class Equalisation(nn.Module):
    """Each tile has gray levels of its own; a pixel's is a mixture of those of the four tiles around it.

    What does not depend on the picture is laid out once, for pictures of one size. Of the result only `kept` is made:
    what a crop leaves.
    """

    below: Tensor
    beside: Tensor
    tiles: Tensor
    around: Tensor
    across: Tensor
    down: Tensor

    def __init__(self, clip_limit: float, tiles: int, given: Size, kept: tuple[slice, slice]) -> None:
        super().__init__()
        self._count = tiles * tiles
        self._kept = kept
        padded = pad_to_tiles(given, tiles)
        self._pads = padded != given
        height, width = (side // tiles for side in padded)
        self._limit = max(int(clip_limit * (height * width) / GRAYS), 1)
        self._scale = float(np.float32(GRAYS - 1) / np.float32(height * width))
        rows, columns = (
            np.pad(np.arange(side), (0, to - side), "reflect") for side, to in zip(given, padded, strict=True)
        )
        tile = np.arange(padded[0])[:, None] // height * tiles + np.arange(padded[1]) // width
        self._lay_out(below=rows, beside=columns, tiles=tile.ravel() * GRAYS)
        upper, down = place_between(np.arange(given[0])[kept[0]], height)
        left, across = place_between(np.arange(given[1])[kept[1]], width)
        cells = upper[:, None] * (tiles + 1) + left
        self._lay_out(around=_list_neighbours(tiles)[cells.ravel()].T * GRAYS)
        self.register_buffer("across", torch.from_numpy(across.T.copy()), persistent=False)
        self.register_buffer("down", torch.from_numpy(down.T[:, :, None].copy()), persistent=False)

    def _lay_out(self, **indices: np.ndarray) -> None:
        for name, index in indices.items():
            self.register_buffer(name, torch.from_numpy(index.astype(np.int32)), persistent=False)

    def forward(self, grays: Int32[Tensor, "images height width"]) -> Int32[Tensor, "images rows columns"]:
        """The picture with its contrast, where it is kept."""
        images = len(grays)
        padded = grays.index_select(1, self.below).index_select(2, self.beside) if self._pads else grays
        values = count_values(padded.flatten(1) + self.tiles, self._count * GRAYS)
        tables = self._make_tables(values.view(images, self._count, GRAYS)).flatten()
        kept = grays[:, *self._kept]
        start = torch.arange(images, dtype=torch.int32, device=grays.device)[:, None] * (self._count * GRAYS)
        asked = self.around[:, None] + (kept.flatten(1) + start)
        found = tables.index_select(0, asked.flatten()).view(4, *kept.shape)
        upper, lower = (left * self.across[0] + right * self.across[1] for left, right in (found[:2], found[2:]))
        mixed = upper * self.down[0] + lower * self.down[1]
        return mixed.round().int().clamp(0, GRAYS - 1)

    def _make_tables(self, values: Int32[Tensor, "images tiles 256"]) -> Float32[Tensor, "images tiles 256"]:
        """The gray that each gray becomes in a tile: cumulative counts, none of which exceeds the limit by much."""
        clipped = values.clamp(max=self._limit)
        excess = (values - clipped).sum(dim=2, keepdim=True, dtype=torch.int32)
        rest = excess % GRAYS
        step = (GRAYS // rest.clamp(min=1)).clamp(min=1)
        gray = torch.arange(GRAYS, dtype=torch.int32, device=values.device)
        # What does not divide by 256 goes to every so manieth gray, from black on, until it is spent.
        spread = clipped + excess // GRAYS + ((gray % step == 0) & (gray // step < rest))
        return (spread.cumsum(dim=2, dtype=torch.int32).float() * self._scale).round().clamp(0, GRAYS - 1)


def count_values(values: Int32[Tensor, "images n"], bins: int) -> Int32[Tensor, "images {bins}"]:
    """How often each value below `bins` occurs; integers, so the order in which a device adds them is no matter."""
    counts = torch.zeros(len(values), bins, dtype=torch.int32, device=values.device)
    ones = torch.ones(1, 1, dtype=torch.int32, device=values.device).expand(values.shape)
    return counts.scatter_add_(1, values.long(), ones)


def pad_to_tiles(given: Size, tiles: int) -> Size:
    """Sides that tiles divide. As OpenCV has it: where one does not, a side that does gets a row for every tile."""
    if all(side % tiles == 0 for side in given):
        return given
    height, width = given
    return height + tiles - height % tiles, width + tiles - width % tiles


def place_between(pixels: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Between the middles of which tiles pixels lie (0: before the first), and the shares of the two."""
    place = pixels.astype(np.float32) * (np.float32(1) / np.float32(side)) - np.float32(0.5)
    before = np.floor(place)
    second = place - before
    return before.astype(int) + 1, np.stack([np.float32(1) - second, second], axis=-1)


def _list_neighbours(tiles: int) -> np.ndarray:
    """The four tiles around each corner of the tiles' grid; at the border, the same ones twice."""
    sides = np.stack([np.maximum(np.arange(tiles + 1) - 1, 0), np.minimum(np.arange(tiles + 1), tiles - 1)])
    corners = sides.T[:, None, :, None] * tiles + sides.T[None, :, None, :]
    return corners.reshape(-1, 4)
