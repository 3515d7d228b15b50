"""Methods side by side on the same frames, and whether ours can be told apart from each other one.

A method's RMSE is the mean over its training seeds of the RMSE of each. The interval of a difference comes from
resampled frames, the same for both methods; the seeds stay as they are, so how much a training varies is told by the
spread alone and not by the interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float, Float64, Int64

from tmapr.artifacts.documents.studies import ComparedMethod
from tmapr.evaluation.bootstrap import Interval, block_resamples, paired_difference, shorten_block
from tmapr.evaluation.errors import summarize_errors


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


def compare_contenders(
    contenders: Sequence[Contender], ours: str, *, block: int = 50, resamples: int = 2000, seed: int = 0
) -> list[ComparedMethod]:
    """A row for each contender, in their order; `ours` is the name of the one that the others are compared with.

    `block` is how many consecutive frames are drawn together; a sequence of fewer than four such blocks gets shorter
    ones.
    """
    frames = _count_frames(contenders)
    chosen = _find(contenders, ours)
    drawn = block_resamples(frames, shorten_block(frames, block), resamples, np.random.default_rng(seed))
    return [_summarize(contender, None if contender is chosen else chosen, drawn) for contender in contenders]


def _summarize(
    contender: Contender, ours: Contender | None, drawn: Int64[np.ndarray, "resamples frames"]
) -> ComparedMethod:
    summaries = [summarize_errors(errors) for errors in _stack(contender)]
    rmse = [summary.rmse for summary in summaries]
    gap = None if ours is None else _difference(ours, contender, drawn)
    return ComparedMethod(
        name=contender.name,
        about=contender.about,
        seeds=len(summaries),
        rmse=float(np.mean(rmse)),
        rmse_spread=float(np.std(rmse, ddof=1)) if len(rmse) > 1 else None,
        mean=float(np.mean([summary.mean for summary in summaries])),
        median=float(np.mean([summary.median for summary in summaries])),
        difference=gap.value if gap else None,
        low=gap.interval.low if gap else None,
        high=gap.interval.high if gap else None,
        verdict=gap.standing.value if gap else None,
        budget=contender.budget,
    )


def _difference(ours: Contender, other: Contender, drawn: Int64[np.ndarray, "resamples frames"]) -> Difference:
    our_rmse, other_rmse = _rmse(ours), _rmse(other)
    undrawn = np.arange(drawn.shape[1])
    return Difference(our_rmse(undrawn) - other_rmse(undrawn), paired_difference(our_rmse, other_rmse, drawn))


def _rmse(contender: Contender) -> Callable[[Int64[np.ndarray, " count"]], float]:
    squares = _stack(contender) ** 2

    def rmse(frames: Int64[np.ndarray, " count"]) -> float:
        return float(np.sqrt(squares[:, frames].mean(axis=1)).mean())

    return rmse


def _stack(contender: Contender) -> Float64[np.ndarray, "seeds frames"]:
    return np.stack(contender.errors).astype(np.float64)


def _count_frames(contenders: Sequence[Contender]) -> int:
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


def _find(contenders: Sequence[Contender], name: str) -> Contender:
    found = [contender for contender in contenders if contender.name == name]
    if len(found) != 1:
        raise ValueError(f"ours must name one contender, {name!r} names {len(found)} of {len(contenders)}")
    return found[0]
