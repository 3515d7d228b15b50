"""Order without sorting, of rows whose last entries may be unused: medians, deviations, and which entries are best.

Each entry is compared with each other one. Of some hundreds that is one kernel, or part of one, where a sort on a GPU
takes several; and no shape depends on how many entries are in use.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tmapr.retrieval.search import MAD_TO_DEVIATION


class Spread(NamedTuple):
    """Median and deviation of each row."""

    center: Float[Tensor, "rows 1"]
    deviation: Float[Tensor, "rows 1"]

    def standardise(self, values: Float[Tensor, "rows m"]) -> Float[Tensor, "rows m"]:
        """In deviations from the median."""
        return (values - self.center) / self.deviation


def find_middle(count: int, device: torch.device) -> Int[Tensor, "2"]:
    """Where the two numbers in the middle of so many sorted ones are; the same one twice where one is."""
    return torch.tensor([(count - 1) // 2, count // 2], device=device)


def measure_spread(
    values: Float[Tensor, "rows n"], middle: Int[Tensor, "2"], used: Bool[Tensor, " n"] | None = None
) -> Spread:
    """Over the used entries, whose number `middle` was found for; the deviation is 1 where they do not vary."""
    center = _find_median(values, middle, used)
    deviation = MAD_TO_DEVIATION * _find_median((values - center).abs(), middle, used)
    return Spread(center, torch.where(deviation > 0, deviation, 1.0))


def _find_median(
    values: Float[Tensor, "rows n"], middle: Int[Tensor, "2"], used: Bool[Tensor, " n"] | None
) -> Float[Tensor, "rows 1"]:
    filled = values if used is None else torch.where(used, values, torch.inf)
    not_above = (filled[:, None, :] <= filled[:, :, None]).sum(dim=2)
    # The one at k in order is the least that more than k are not above of.
    candidates = torch.where(not_above[:, :, None] > middle, filled[:, :, None], torch.inf)
    return candidates.amin(dim=1).mean(dim=1, keepdim=True)


def mark_best(values: Float[Tensor, " n"], count: int, used: Bool[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Which of the used entries are the so many highest; of equal ones the first."""
    filled = torch.where(used, values, -torch.inf)
    index = torch.arange(len(values), device=values.device)
    higher = filled[None, :] > filled[:, None]
    earlier = (filled[None, :] == filled[:, None]) & (index[None, :] < index[:, None])
    return ((higher | earlier).sum(dim=1) < count) & used
