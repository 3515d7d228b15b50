"""Where a line may be drawn through: between two frames without a long silence, and under one status."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from tmapr.types import Status

SILENCE = 5.0
"""Seconds without a frame across which no line is drawn: nobody knows what happened there."""


def stretches(seconds: Float[np.ndarray, " n"]) -> list[slice]:
    """The frames from one silence to the next."""
    return _between(np.diff(seconds) > SILENCE) if len(seconds) else []


def status_stretches(seconds: Float[np.ndarray, " n"], statuses: Sequence[Status]) -> Iterator[tuple[Status, slice]]:
    """Stretches of one status; each starts at the frame before it, so that the line has no holes."""
    silent = np.diff(seconds) > SILENCE
    names = np.array([status.value for status in statuses])
    for part in _between(silent | (names[1:] != names[:-1])):
        joined = part.start > 0 and not silent[part.start - 1]
        yield statuses[part.start], slice(part.start - 1 if joined else part.start, part.stop)


def _between(breaks: np.ndarray) -> list[slice]:
    bounds = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(breaks) + 1]
    return [slice(start, stop) for start, stop in pairwise(bounds)]
