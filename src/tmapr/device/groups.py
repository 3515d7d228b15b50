"""Sums over groups of a vector's elements, in a fixed order: no thread waits for another, and no bit differs."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

_CHUNK = 32
"""Elements that are added up first: a group of thousands, where a drive stood, would pad the others to its size."""


class Groups(NamedTuple):
    """Which elements each chunk adds up, and which chunks each group; one beyond the last stands for none."""

    chunks: Int[Tensor, "chunks width"]
    groups: Int[Tensor, "groups most"]

    def add_up(self, values: Float[Tensor, " elements"]) -> Float[Tensor, " groups"]:
        """The sum of each group."""
        return _gather(_gather(values, self.chunks).sum(dim=1), self.groups).sum(dim=1)


def form_groups(group_of: Int[np.ndarray, " elements"], device: torch.device) -> Groups:
    """By the number of each element's group; every group has an element."""
    order = np.argsort(group_of, kind="stable")
    counts = np.bincount(group_of)
    slot = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    chunks_of = -(-counts // _CHUNK)
    begin = np.cumsum(chunks_of) - chunks_of
    chunks = np.full((int(chunks_of.sum()), min(_CHUNK, int(counts.max()))), len(order))
    chunks[begin[group_of[order]] + slot // _CHUNK, slot % _CHUNK] = order
    ahead = np.arange(int(chunks_of.max()))[None]
    groups = np.where(ahead < chunks_of[:, None], begin[:, None] + ahead, len(chunks))
    return Groups(torch.tensor(chunks, device=device), torch.tensor(groups, device=device))


def _gather(values: Float[Tensor, " elements"], at: Int[Tensor, "groups width"]) -> Float[Tensor, "groups width"]:
    return torch.cat([values, values.new_zeros(1)])[at]
