"""Is one run better than another on the same data? Differences on the same frames, with intervals from blocks of them.

The frames of both runs are drawn together, so that what is hard for both cancels. Errors are compared on the frames
that both localize and, since a run that is seldom sure would win there, on every frame as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int64

from tmapr.artifacts.run import RunFolder
from tmapr.evaluation.bootstrap import Interval, Statistic, block_resamples, fitting_block, interval, paired_difference
from tmapr.evaluation.comparison import Difference, Standing
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.finished import FinishedRun, Queries, Trial
from tmapr.exceptions import InputError
from tmapr.types import Status

_BLOCK = 50  # frames drawn together
_RESAMPLES = 1000
_DRAWN_AT_MOST = 1 << 24  # frames over all resamples: an eighth of a gigabyte


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of both runs, a and b, on the same frames, and a − b."""

    name: str
    frames: int
    a: float
    b: float
    difference: Difference
    higher_is_better: bool = False

    @property
    def standing(self) -> Standing:
        """How a stands beside b."""
        found = self.difference.standing
        if not self.higher_is_better or found is Standing.UNDECIDED:
            return found
        return Standing.BETTER if found is Standing.WORSE else Standing.WORSE


@dataclass(frozen=True, slots=True)
class Pairing:
    """A test sequence of both runs: what differs there, or why they cannot be compared on it."""

    sequence: str
    measures: tuple[Measure, ...] = ()
    refusal: str | None = None


def compare_runs(a: RunFolder, b: RunFolder) -> list[Pairing]:
    """Compare two runs on every test sequence that both have, in the order of the first."""
    first, second = FinishedRun.load(a), FinishedRun.load(b)
    shared = [name for name in first.experiment.data.test if name in second.experiment.data.test]
    if not shared:
        raise InputError(
            f"{b.path}: was tested on {', '.join(second.experiment.data.test)}, {a.path} on"
            f" {', '.join(first.experiment.data.test)}; only runs on the same sequences can be compared"
        )
    return [_paired(name, first, second) for name in shared]


def measured(name: str, a: Statistic, b: Statistic, frames: int, *, higher_is_better: bool = False) -> Measure | None:
    """A figure of two runs on all of the same frames, and its difference; None where it is undefined in either."""
    here, there = a(np.arange(frames)), b(np.arange(frames))
    if here is None or there is None:
        return None
    difference = Difference(here - there, paired_difference(a, b, _drawn(frames)))
    return Measure(name, frames, here, there, difference, higher_is_better)


def _drawn(frames: int) -> Int64[np.ndarray, "resamples frames"]:
    resamples = min(_RESAMPLES, max(_DRAWN_AT_MOST // frames, 1))
    return block_resamples(frames, fitting_block(frames, _BLOCK), resamples, np.random.default_rng(0))


def _paired(name: str, first: FinishedRun, second: FinishedRun) -> Pairing:
    a, b = first.trial(name), second.trial(name)
    same = {
        "stamps": np.array_equal(a.recording.stamps, b.recording.stamps),
        "coordinates": a.recording.frame == b.recording.frame,
        "true positions": np.array_equal(a.recording.truth, b.recording.truth, equal_nan=True),
    }
    for what, agree in same.items():
        if not agree:
            return Pairing(name, refusal=f"{name}: left out, its {what} are not the same in both runs")
    return Pairing(name, tuple(measure for measure in _measures(a, b, first, second) if measure))


def _measures(a: Trial, b: Trial, first: FinishedRun, second: FinishedRun) -> Iterator[Measure | None]:
    known = a.recording.known
    both = known & _localized(a) & _localized(b)
    sure, every = int(both.sum()), int(known.sum())
    if sure:
        yield measured("RMSE m", rmse_of(_errors(a, both)), rmse_of(_errors(b, both)), sure)
        yield measured("mean m", mean_of(_errors(a, both)), mean_of(_errors(b, both)), sure)
    yield measured("RMSE m, all", rmse_of(_errors(a, known)), rmse_of(_errors(b, known)), every)
    yield measured("F1, all", _f1(a, first), _f1(b, second), every, higher_is_better=True)


def interval_of(statistic: Statistic, frames: int) -> Interval:
    """Where a statistic of a sequence of so many frames plausibly lies."""
    return interval(statistic, _drawn(frames))


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


def _f1(trial: Trial, run: FinishedRun) -> Statistic:
    return f1_of(trial.queries(run.environment.memory), run.experiment.gating.min_similarity)


def _errors(trial: Trial, frames: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " frames"]:
    return position_errors(trial.table.positions[frames], trial.recording.truth[frames])


def _localized(trial: Trial) -> Bool[np.ndarray, " n"]:
    return np.array([status is Status.LOCALIZED for status in trial.table.statuses])
