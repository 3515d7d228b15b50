"""Median and MAD of rows whose last entries may be unused, without a shape that depends on how many are."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tmapr.retrieval.search import MAD_TO_DEVIATION


class Spread(NamedTuple):
    """Median and deviation of each row, and the order that sorts it, ties by position."""

    center: Float[Tensor, "rows 1"]
    deviation: Float[Tensor, "rows 1"]
    order: Int[Tensor, "rows n"]

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
    ordered = torch.sort(_fill(values, used), dim=1, stable=True)
    center = ordered.values.index_select(1, middle).mean(dim=1, keepdim=True)
    away = torch.sort(_fill((values - center).abs(), used), dim=1).values
    deviation = MAD_TO_DEVIATION * away.index_select(1, middle).mean(dim=1, keepdim=True)
    return Spread(center, torch.where(deviation > 0, deviation, 1.0), ordered.indices)


def _fill(values: Float[Tensor, "rows n"], used: Bool[Tensor, " n"] | None) -> Float[Tensor, "rows n"]:
    return values if used is None else torch.where(used, values, torch.inf)
