"""Methods side by side on the same frames, and whether ours can be told apart from each other one.

A method's RMSE is the mean over its training seeds of the RMSE of each. The interval of a difference comes from
resampled frames, the same for both methods; the seeds stay as they are, so how much a training varies is told by the
spread alone and not by the interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from tmapr.evaluation.bootstrap import Interval, block_resamples, fitting_block, paired_difference
from tmapr.evaluation.errors import ErrorSummary


class Standing(StrEnum):
    """How ours stands beside another method."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "not told apart"


@dataclass(frozen=True, slots=True)
class Contender:
    """A method on a test sequence: the errors of the same frames in the same order, for each training seed."""

    name: str
    about: str
    errors: tuple[Float[np.ndarray, " frames"], ...]
    budget: str = ""


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A figure's mean over the training seeds and their sample standard deviation, None for a single seed."""

    value: float
    spread: float | None

    @classmethod
    def of(cls, figures: Sequence[float]) -> "OverSeeds":
        """Condense the figures of single seeds."""
        spread = float(np.std(figures, ddof=1)) if len(figures) > 1 else None
        return cls(float(np.mean(figures)), spread)


@dataclass(frozen=True, slots=True)
class Difference:
    """RMSE of ours less that of another method, metres: below zero, ours is better."""

    value: float
    interval: Interval

    @property
    def standing(self) -> Standing:
        """What the interval says."""
        if not self.interval.excludes(0.0):
            return Standing.UNDECIDED
        return Standing.BETTER if self.interval.high < 0 else Standing.WORSE


@dataclass(frozen=True, slots=True)
class Row:
    """A method's figures in metres, and ours less its own; ours has no difference."""

    name: str
    about: str
    seeds: int
    rmse: OverSeeds
    mean: OverSeeds
    median: OverSeeds
    difference: Difference | None = None
    budget: str = ""

    @property
    def verdict(self) -> Standing | None:
        """How ours stands beside this method; None for ours."""
        return self.difference.standing if self.difference else None

    def as_dict(self) -> dict[str, Any]:
        """The row as it goes into a file."""
        difference = self.difference
        return {
            "name": self.name,
            "about": self.about,
            "seeds": self.seeds,
            "rmse": self.rmse.value,
            "rmse_spread": self.rmse.spread,
            "mean": self.mean.value,
            "median": self.median.value,
            "difference": difference.value if difference else None,
            "low": difference.interval.low if difference else None,
            "high": difference.interval.high if difference else None,
            "verdict": self.verdict.value if self.verdict else None,
            "budget": self.budget,
        }


def compare(
    contenders: Sequence[Contender], ours: str, *, block: int = 50, resamples: int = 2000, seed: int = 0
) -> list[Row]:
    """A row for each contender, in their order; `ours` is the name of the one that the others are compared with.

    `block` is how many consecutive frames are drawn together; a sequence of fewer than four such blocks gets shorter
    ones.
    """
    frames = _frames_of_all(contenders)
    chosen = _named(contenders, ours)
    drawn = block_resamples(frames, fitting_block(frames, block), resamples, np.random.default_rng(seed))
    return [_row(contender, None if contender is chosen else chosen, drawn) for contender in contenders]


def _row(contender: Contender, ours: Contender | None, drawn: Int64[np.ndarray, "resamples frames"]) -> Row:
    summaries = [ErrorSummary.of(errors) for errors in _stacked(contender)]
    return Row(
        name=contender.name,
        about=contender.about,
        seeds=len(summaries),
        rmse=OverSeeds.of([summary.rmse for summary in summaries]),
        mean=OverSeeds.of([summary.mean for summary in summaries]),
        median=OverSeeds.of([summary.median for summary in summaries]),
        difference=None if ours is None else _difference(ours, contender, drawn),
        budget=contender.budget,
    )


def _difference(ours: Contender, other: Contender, drawn: Int64[np.ndarray, "resamples frames"]) -> Difference:
    our_rmse, other_rmse = _rmse(ours), _rmse(other)
    undrawn = np.arange(drawn.shape[1])
    return Difference(our_rmse(undrawn) - other_rmse(undrawn), paired_difference(our_rmse, other_rmse, drawn))


def _rmse(contender: Contender) -> Callable[[Int64[np.ndarray, " count"]], float]:
    squares = _stacked(contender) ** 2

    def rmse(frames: Int64[np.ndarray, " count"]) -> float:
        return float(np.sqrt(squares[:, frames].mean(axis=1)).mean())

    return rmse


def _stacked(contender: Contender) -> Float64[np.ndarray, "seeds frames"]:
    return np.stack(contender.errors).astype(np.float64)


def _frames_of_all(contenders: Sequence[Contender]) -> int:
    """How many frames all have; they must be the same, and in that order, which only the caller can know."""
    lengths = {(one.name, one.about): [len(errors) for errors in one.errors] for one in contenders}
    if len(lengths) < len(contenders):
        raise ValueError(
            f"contenders must differ in name or about, got {[(one.name, one.about) for one in contenders]}"
        )
    if not all(lengths.values()):
        raise ValueError(f"a contender needs the errors of at least one seed, got {lengths}")
    different = {length for each in lengths.values() for length in each}
    if len(different) != 1 or 0 in different:
        raise ValueError(f"contenders must have errors of the same frames, at least one, got {lengths}")
    return different.pop()


def _named(contenders: Sequence[Contender], name: str) -> Contender:
    found = [contender for contender in contenders if contender.name == name]
    if len(found) != 1:
        raise ValueError(f"ours must name one contender, {name!r} names {len(found)} of {len(contenders)}")
    return found[0]
