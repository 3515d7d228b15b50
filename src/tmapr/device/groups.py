"""Sums over groups of a vector's elements, in a fixed order: no thread waits for another, and no bit differs."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

_CHUNK = 32
"""Elements that are added up first: a group of thousands, where a drive stood, would pad the others to its size."""


class Groups(NamedTuple):
    """Which elements each chunk adds up, and which chunks each group; what pads them counts for nothing."""

    chunks: Int[Tensor, "chunks width"]
    counts: Float[Tensor, "chunks width"]
    groups: Int[Tensor, "groups most"]
    group_counts: Float[Tensor, "groups most"]

    def add_up(self, values: Float[Tensor, " elements"]) -> Float[Tensor, " groups"]:
        """The sum of each group."""
        sums = (values[self.chunks] * self.counts).sum(dim=1)
        if self.groups.shape[1] == 1:
            return sums
        return (sums[self.groups] * self.group_counts).sum(dim=1)


def form_groups(group_of: Int[np.ndarray, " elements"], device: torch.device) -> Groups:
    """By the number of each element's group; every group has an element."""
    order = np.argsort(group_of, kind="stable")
    counts = np.bincount(group_of)
    slot = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    chunks_of = -(-counts // _CHUNK)
    begin = np.cumsum(chunks_of) - chunks_of
    chunks = np.full((int(chunks_of.sum()), min(_CHUNK, int(counts.max()))), -1)
    chunks[begin[group_of[order]] + slot // _CHUNK, slot % _CHUNK] = order
    ahead = np.arange(int(chunks_of.max()))[None]
    groups = np.where(ahead < chunks_of[:, None], begin[:, None] + ahead, -1)
    padded = (np.maximum(chunks, 0), (chunks >= 0).astype(float), np.maximum(groups, 0), (groups >= 0).astype(float))
    return Groups(*(torch.tensor(each, device=device) for each in padded))
