"""Confidence intervals, first of all for frames that depend on their neighbours: the moving-block bootstrap.

Consecutive frames of a drive fail together, so resampling single frames promises far too narrow an interval.
Whole blocks are drawn instead: the dependence inside a block survives, so a block should outlast it. With
blocks of one frame this is the ordinary bootstrap. Intervals are percentile intervals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from scipy.special import stdtrit

Statistic = Callable[[Int64[np.ndarray, " count"]], float | None]
"""A number computed from the frames with these indices, or None where it is undefined."""

_FEWEST_BLOCKS = 4
_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a statistic plausibly lies."""

    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether the value is implausible; for a difference, `excludes(0.0)` means significant."""
        return not self.low <= value <= self.high


def block_resamples(
    count: int, block: int, resamples: int, rng: np.random.Generator
) -> Int64[np.ndarray, "resamples count"]:
    """Frame indices of resampled sequences, put together from blocks of consecutive frames."""
    if not 1 <= block <= count:
        raise ValueError(f"block must lie between 1 and the {count} frames, got {block}")
    if resamples < 1:
        raise ValueError(f"resamples must be positive, got {resamples}")
    blocks = -(-count // block)
    starts = rng.integers(0, count - block + 1, size=(resamples, blocks))
    indices = (starts[:, :, None] + np.arange(block)).reshape(resamples, blocks * block)
    return indices[:, :count]


def fitting_block(count: int, block: int) -> int:
    """A shorter block where there are fewer than four: with one, every resample would be the sequence itself."""
    return min(block, max(count // _FEWEST_BLOCKS, 1))


def interval(statistic: Statistic, resamples: Int64[np.ndarray, "resamples count"], level: float = 0.95) -> Interval:
    """Percentile interval of a statistic over the resamples where it is defined."""
    return _percentiles([statistic(frames) for frames in resamples], level)


def paired_difference(
    statistic_a: Statistic,
    statistic_b: Statistic,
    resamples: Int64[np.ndarray, "resamples count"],
    level: float = 0.95,
) -> Interval:
    """Interval of a − b, both taken on the same frames, so that what is hard for both cancels."""

    def difference(frames: Int64[np.ndarray, " count"]) -> float | None:
        a, b = statistic_a(frames), statistic_b(frames)
        return None if a is None or b is None else a - b

    return interval(difference, resamples, level)


def mean_interval(values: Sequence[float]) -> Interval:
    """Student's t 95 % interval of the mean of at least two independent values."""
    if len(values) < 2:
        raise ValueError(f"the interval of a mean needs at least two values, got {len(values)}")
    half = stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values))
    return Interval(float(np.mean(values) - half), float(np.mean(values) + half))


def wilson(successes: int, trials: int) -> Interval:
    """Wilson's 95 % interval of a share of independent trials; unlike the normal one it is honest near 0 and 1."""
    if not 0 <= successes <= trials or not trials:
        raise ValueError(f"successes must lie between 0 and the trials, got {successes} of {trials}")
    share, z2 = successes / trials, _NORMAL_95**2 / trials
    half = np.sqrt(share * (1 - share) * z2 + z2**2 / 4) / (1 + z2)
    center = (share + z2 / 2) / (1 + z2)
    return Interval(float(center - half), float(center + half))


def _percentiles(values: Sequence[float | None], level: float) -> Interval:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    defined = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(defined):
        raise ValueError(f"the statistic is undefined in all {len(values)} resamples")
    if not np.isfinite(defined).all():
        raise ValueError("the statistic must be finite or None")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
