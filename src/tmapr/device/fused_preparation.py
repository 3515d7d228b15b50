"""`Preparation` by kernels of its own: the same pictures with a fifteenth of the launches."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int32, Shaped, UInt8
from torch import Tensor, nn

from tmapr.device.equalisation import GRAYS, pad_to_tiles, place_between
from tmapr.device.preparation import Preparation, find_kept, find_ranks
from tmapr.device.resizing import cover, shrinks_by_areas
from tmapr.perception.image import Image
from tmapr.types import HIGHEST_COUNTS

Size = tuple[int, int]
ChoosePreparation = Callable[[Image, Size, np.dtype, Size, torch.device], nn.Module]
"""What prepares images of a size and depth to pictures of another size, on a device."""

_COUNTED, _SUMMED, _TAKEN = 2048, 16, 1024
"""Pixels, groups of counts and pixels of a tile that one program takes at a time."""
_COPIES = 8
"""Histograms of an image."""
_WARPS = 8


class Levels(NamedTuple):
    """The counts that become black, the gains that make others white, and the codes of why there are none."""

    blacks: Int32[Tensor, " images"]
    gains: Float32[Tensor, " images"]
    faults: Int32[Tensor, " images"]


class FusedPreparation(nn.Module):
    """Prepares images of one size and depth that are larger than their pictures, by Triton."""

    below: Tensor
    beside: Tensor
    down_between: Tensor
    down_shares: Tensor
    across_between: Tensor
    across_shares: Tensor
    rows: Tensor
    rows_covered: Tensor
    columns: Tensor
    columns_covered: Tensor

    def __init__(self, image: Image, given: Size, depth: np.dtype, size: Size) -> None:
        super().__init__()
        self._image, self._given, self._size = image, given, size
        self._kept = find_kept(image, given)
        self._mask, highest = int(np.iinfo(depth).max), HIGHEST_COUNTS[depth]
        self._highest = highest[0], highest[-1]
        self._low, self._high = find_ranks(image, given)
        self._lay_out_tiles()
        self._lay_out_areas()

    def _lay_out_tiles(self) -> None:
        """What CLAHE needs to know of each row and column; without it, nothing that is read."""
        tiles = self._image.tiles if self._image.clip_limit else 0
        padded = pad_to_tiles(self._given, tiles) if tiles else self._given
        self._tiles, self._tile = tiles, tuple(side // max(tiles, 1) for side in padded)
        area = self._tile[0] * self._tile[1]
        self._limit = max(int(self._image.clip_limit * area / GRAYS), 1)
        self._scale = float(np.float32(GRAYS - 1) / np.float32(area))
        for axis, (name, place) in enumerate((("below", "down"), ("beside", "across"))):
            side = np.arange(self._given[axis])
            between, shares = place_between(side[self._kept[axis]], self._tile[axis])
            self._keep(name, np.pad(side, (0, padded[axis] - len(side)), "reflect").astype(np.int32))
            self._keep(f"{place}_between", between.astype(np.int32))
            self._keep(f"{place}_shares", shares)

    def _lay_out_areas(self) -> None:
        for name, kept, wanted in zip(("rows", "columns"), self._kept, self._size, strict=True):
            pixels, shares = cover(kept.stop - kept.start, wanted)
            self._keep(name, pixels.numpy())
            self._keep(f"{name}_covered", shares.numpy())

    def _keep(self, name: str, values: np.ndarray) -> None:
        self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(values)), persistent=False)

    def forward(
        self, counts: Shaped[Tensor, "images height width"]
    ) -> tuple[UInt8[Tensor, "images _ _"], Int32[Tensor, " images"]]:
        """Pictures and the codes of their faults; where there is a fault, the picture is anything."""
        bits = counts.view(torch.int16) if counts.dtype == torch.uint16 else counts
        levels = self._find_levels(bits)
        return self._resize(bits, levels, self._make_tables(bits, levels)), levels.faults

    def _find_levels(self, bits: Shaped[Tensor, "images height width"]) -> Levels:
        from tmapr.device import picture_kernels as kernels

        images, pixels, groups = len(bits), self._given[0] * self._given[1], (self._mask + 1) // GRAYS
        histograms = torch.zeros(images, _COPIES, self._mask + 1, dtype=torch.int32, device=bits.device)
        sizes = {"MASK": self._mask, "COPIES": _COPIES}
        kernels.count_counts[(-(-pixels // _COUNTED), images)](bits, histograms, pixels, **sizes, BLOCK=_COUNTED)
        histogram, summed = torch.empty_like(histograms[:, 0]), min(_SUMMED, groups)
        totals = torch.empty_like(histogram[:, :groups])
        kernels.sum_groups[(images * groups // summed,)](histograms, histogram, totals, **sizes, ROWS=summed)
        blacks, faults = (torch.empty(images, dtype=torch.int32, device=bits.device) for _ in range(2))
        levels = Levels(blacks, torch.empty(images, device=bits.device), faults)
        kernels.find_levels[(images,)](
            histogram,
            totals,
            *levels,
            self._low,
            self._high,
            pixels,
            MASK=self._mask,
            GROUPS=groups,
            HIGHEST=self._highest[0],
            OTHER_HIGHEST=self._highest[1],
        )
        return levels

    def _make_tables(
        self, bits: Shaped[Tensor, "images height width"], levels: Levels
    ) -> UInt8[Tensor, "images _ 256"]:
        """The gray levels of every tile; without CLAHE, nothing that is read."""
        from tmapr.device import picture_kernels as kernels

        tables = torch.empty(len(bits), max(self._tiles, 1) ** 2, GRAYS, dtype=torch.uint8, device=bits.device)
        if self._tiles:
            kernels.make_tables[(self._tiles**2, len(bits))](
                bits,
                levels.blacks,
                levels.gains,
                self.below,
                self.beside,
                tables,
                *self._given,
                *self._tile,
                self._limit,
                self._scale,
                TILES=self._tiles,
                MASK=self._mask,
                BLOCK=_TAKEN,
                num_warps=_WARPS,
                enable_fp_fusion=False,
            )
        return tables

    def _resize(
        self, bits: Shaped[Tensor, "images height width"], levels: Levels, tables: UInt8[Tensor, "images _ 256"]
    ) -> UInt8[Tensor, "images _ _"]:
        from tmapr.device import picture_kernels as kernels

        pictures = torch.empty(len(bits), *self._size, dtype=torch.uint8, device=bits.device)
        kernels.resize_areas[(self._size[0], len(bits))](
            bits,
            levels.blacks,
            levels.gains,
            tables,
            self.down_between,
            self.down_shares,
            self.across_between,
            self.across_shares,
            self.rows,
            self.rows_covered,
            self.columns,
            self.columns_covered,
            pictures,
            *self._given,
            self._kept[0].start,
            self._kept[1].start,
            *self._size,
            TILES=self._tiles,
            DOWN=len(self.rows),
            ACROSS=len(self.columns),
            MASK=self._mask,
            BLOCK=1 << (self._size[1] - 1).bit_length(),
            num_warps=_WARPS,
            enable_fp_fusion=False,
        )
        return pictures


def choose_preparation(image: Image, given: Size, depth: np.dtype, size: Size, device: torch.device) -> nn.Module:
    """By kernels of its own on a GPU (or where Triton interprets them), if it resizes by areas as most cameras need."""
    by_kernels = find_spec("triton") and (device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1")
    fused = by_kernels and not image.bilateral and shrinks_by_areas(image.size_after_crop(*given), size)
    return (FusedPreparation if fused else Preparation)(image, given, depth, size)
