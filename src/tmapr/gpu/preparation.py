"""`Image.prepare` where the network is: percentiles, stretch, CLAHE, crop and resize of counts, in torch.

Every step has the integers and the float32 roundings of OpenCV's, so that a picture is the host's. Shapes are fixed and
nothing is asked of the host, so that a CUDA graph can hold it: a fault is a code beside the picture.
"""

from math import ceil
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int32, Int64, Shaped, UInt8
from torch import Tensor, nn

from tmapr.gpu.equalisation import GRAYS, Equalisation, count_values
from tmapr.gpu.resize import choose_resize
from tmapr.perception.image import Image
from tmapr.types import HIGHEST_COUNTS, Fault

FAULTS: tuple[Fault | None, ...] = (None, Fault.EMPTY, Fault.SATURATED)
"""What the codes mean."""

_EMPTY, _SATURATED = 1, 2
_WHITE = GRAYS - 1


class Levels(NamedTuple):
    """The counts that become black and white, and the code of why there are none."""

    black: Int64[Tensor, " images"]
    white: Int64[Tensor, " images"]
    faults: Int32[Tensor, " images"]


class Preparation(nn.Module):
    """Prepares images of one size and depth; what does not depend on their counts is laid out once."""

    ranks: Tensor

    def __init__(self, image: Image, given: tuple[int, int], depth: np.dtype, size: tuple[int, int]) -> None:
        super().__init__()
        if image.bilateral:
            raise ValueError(f"images are smoothed on the host alone, got a bilateral of {image.bilateral}")
        if depth not in HIGHEST_COUNTS:
            raise ValueError(f"counts must be uint8 or uint16, got {depth}")
        self._kept = find_kept(image, given)
        self._bins, self._highest = np.iinfo(depth).max + 1, HIGHEST_COUNTS[depth]
        pixels = given[0] * given[1]
        ranks = [0, *find_ranks(image, given), pixels - 1]
        self.register_buffer("ranks", torch.tensor(ranks, dtype=torch.int32), persistent=False)
        self.equalise = Equalisation(image.clip_limit, image.tiles, given, self._kept) if image.clip_limit else None
        self.resize = choose_resize(image.size_after_crop(*given), size)

    def forward(
        self, counts: Shaped[Tensor, "images height width"]
    ) -> tuple[UInt8[Tensor, "images _ _"], Int32[Tensor, " images"]]:
        """Pictures and the codes of their faults; where there is a fault, the picture is anything."""
        wide = _widen(counts)
        levels = self.find_levels(wide)
        grays = _stretch(wide, levels)
        kept = self.equalise(grays) if self.equalise else grays[:, *self._kept].contiguous()
        return self.resize(kept).to(torch.uint8), levels.faults

    def find_levels(self, counts: Int32[Tensor, "images height width"]) -> Levels:
        """As `Image` finds them: of the sorted counts, those at the ranks of the two percentiles."""
        at_most = count_values(counts.flatten(1), self._bins).cumsum(dim=1, dtype=torch.int32)
        ranks = self.ranks.repeat(len(counts), 1)
        lowest, black, white, highest = torch.searchsorted(at_most, ranks, right=True).unbind(dim=1)
        same = black == white
        saturated = same & torch.stack([white == count for count in self._highest]).any(dim=0)
        # Lamps in an 8-bit night are less than 1 % of the pixels, and yet a scene.
        black, white = torch.where(same, lowest, black), torch.where(same, highest, white)
        faults = torch.where(saturated, _SATURATED, (black == white) * _EMPTY)
        return Levels(black, white, faults.int())


def find_kept(image: Image, given: tuple[int, int]) -> tuple[slice, slice]:
    """The rows and columns that the crop leaves; one that leaves too little is refused."""
    rows, columns = image.size_after_crop(*given)
    top, _, left, _ = image.crop
    return slice(top, top + rows), slice(left, left + columns)


def find_ranks(image: Image, given: tuple[int, int]) -> tuple[int, int]:
    """The places of the two percentiles among the sorted counts."""
    pixels = given[0] * given[1]
    low, high = (max(ceil(pixels * (percentile / 100) - 1), 0) for percentile in (image.low, image.high))
    return low, high


def _widen(counts: Shaped[Tensor, "images height width"]) -> Int32[Tensor, "images height width"]:
    """As int32. Torch knows few verbs for uint16: the same bits are read as int16, and their sign is taken off."""
    return counts.view(torch.int16).int() & 0xFFFF if counts.dtype == torch.uint16 else counts.int()


def _stretch(counts: Int32[Tensor, "images height width"], levels: Levels) -> Int32[Tensor, "images height width"]:
    """Counts between the two levels become 0…255: the nearest to a float32 product, halves to even."""
    span = (levels.white - levels.black).clamp(min=1).double()
    # Not _WHITE / span, which torch makes a reciprocal and a product of, with two roundings.
    gain = (torch.full_like(span, _WHITE) / span).float()
    above = (counts - levels.black.int()[:, None, None]).clamp(min=0)
    return (above.float() * gain[:, None, None]).round().clamp(max=_WHITE).int()
