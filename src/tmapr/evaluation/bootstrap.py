"""Confidence intervals, first of all for frames that depend on their neighbours: the moving-block bootstrap.

Consecutive frames of a drive fail together, so resampling single frames promises far too narrow an interval.
Whole blocks are drawn instead: the dependence inside a block survives, so a block should outlast it. With
blocks of one frame this is the ordinary bootstrap. Intervals are percentile intervals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64
from scipy.special import stdtrit

from tmapr.evaluation.trial import Queries

Statistic = Callable[[Int64[np.ndarray, " count"]], float | None]
"""A number computed from the frames with these indices, or None where it is undefined."""

_BLOCK = 50  # frames drawn together
_RESAMPLES = 1000
_DRAWN_AT_MOST = 1 << 24  # frames over all resamples: an eighth of a gigabyte
_FEWEST_BLOCKS = 4


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


def shorten_block(count: int, block: int) -> int:
    """A shorter block where there are fewer than four: with one, every resample would be the sequence itself."""
    return min(block, max(count // _FEWEST_BLOCKS, 1))


def draw_frames(frames: int) -> Int64[np.ndarray, "resamples frames"]:
    """Resamples of a sequence, as every interval in errors.json has them."""
    resamples = min(_RESAMPLES, max(_DRAWN_AT_MOST // frames, 1))
    return block_resamples(frames, shorten_block(frames, _BLOCK), resamples, np.random.default_rng(0))


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


def rmse_of(errors: Float[np.ndarray, " frames"]) -> Statistic:
    """Root of the mean squared error of the drawn frames."""
    squares = errors**2
    return lambda frames: float(np.sqrt(squares[frames].mean()))


def mean_of(errors: Float[np.ndarray, " frames"]) -> Statistic:
    """Mean error of the drawn frames."""
    return lambda frames: float(errors[frames].mean())


def f1_of(queries: Queries, threshold: float) -> Statistic:
    """F1 over opportunities of the drawn queries; None without an accepted one or without an opportunity."""
    accepted = queries.accepted(threshold)
    right = accepted & queries.correct

    def f1(frames: Int64[np.ndarray, " count"]) -> float | None:
        claimed, possible = accepted[frames].sum(), queries.opportunity[frames].sum()
        return float(2 * right[frames].sum() / (claimed + possible)) if claimed and possible else None

    return f1


def mean_interval(values: Sequence[float]) -> Interval:
    """Student's t 95 % interval of the mean of at least two independent values."""
    if len(values) < 2:
        raise ValueError(f"the interval of a mean needs at least two values, got {len(values)}")
    half = stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values))
    return Interval(float(np.mean(values) - half), float(np.mean(values) + half))


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
