"""Which numbers of many are the highest."""

import numpy as np
from jaxtyping import Float, Int

_BLOCK = 128


def find_highest(values: Float[np.ndarray, " n"], count: int) -> Int[np.ndarray, " best"]:
    """Where the so many highest numbers are, in any order; all of them where there are no more.

    The highest of each block come first: so many of them are a bound for the rest, which few numbers reach. That takes
    a third of what partitioning all of them does.
    """
    blocks = len(values) // _BLOCK
    if blocks <= count:
        return np.argpartition(-values, min(count, len(values) - 1))[:count]
    highest = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    bound = np.partition(highest, blocks - count)[blocks - count]
    reached = np.flatnonzero(values >= bound)
    return reached[np.argpartition(-values[reached], min(count, len(reached) - 1))[:count]]


def sort_highest(values: Float[np.ndarray, " n"], count: int) -> Int[np.ndarray, " best"]:
    """Where the so many highest numbers are, highest first and of equal ones the first: few are sorted."""
    bound = np.partition(values, -count)[-count] if count < len(values) else -np.inf
    reached = np.flatnonzero(values >= bound)
    return reached[np.argsort(-values[reached], kind="stable")][:count]
