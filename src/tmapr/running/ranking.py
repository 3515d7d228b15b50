"""The references that the frames of a drive look most like, for `evaluate` to read."""

from collections.abc import Sequence

import numpy as np

from tmapr.artifacts.candidates import RankedReferences
from tmapr.retrieval.memory import Memory
from tmapr.running.progressive import Progress
from tmapr.types import RANKED, Percept

_AT_ONCE = 64
"""Frames compared with all references in one product, which reads M₀ once for all of them."""


def rank_drive(progress: Progress, memory: Memory) -> RankedReferences:
    """As each frame was searched for, and by the plain cosine, which the search of a frame does not always take."""
    percepts = [estimate.percept for estimate in progress.estimates]
    return RankedReferences.from_rows(progress.ranked, _rank_by_cosine(percepts, memory))


def _rank_by_cosine(percepts: Sequence[Percept], memory: Memory) -> list[list[int]]:
    """None for frames that cannot be used."""
    ranked: list[list[int]] = [[] for _ in percepts]
    usable = [frame for frame, percept in enumerate(percepts) if not percept.fault]
    for start in range(0, len(usable), _AT_ONCE):
        frames = usable[start : start + _AT_ONCE]
        best = memory.rank_by_cosine(np.array([percepts[frame].descriptor for frame in frames]), RANKED)
        for frame, rows in zip(frames, best.tolist(), strict=True):
            ranked[frame] = rows
    return ranked
