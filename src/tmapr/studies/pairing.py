"""Is one run better than another on the same data? Differences on the same frames, with intervals from blocks of them.

The frames of both runs are drawn together, so that what is hard for both cancels. Errors are compared on the frames
that both localize and, since a run that is seldom sure would win there, on every frame as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from tmapr.evaluation.bootstrap import Statistic, draw_frames, f1_of, mean_of, paired_difference, rmse_of
from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.trial import Trial
from tmapr.exceptions import InputError
from tmapr.running.finished import FinishedRun
from tmapr.studies.comparison import Difference, Standing


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


def compare_runs(first: FinishedRun, second: FinishedRun) -> list[Pairing]:
    """Compare two runs on every sequence that both scored, in the order of the first."""
    here, there = first.experiment.data.scored, second.experiment.data.scored
    shared = [name for name in here if name in there]
    if not shared:
        raise InputError(
            f"{second.folder.path}: was tested on {', '.join(there)}, {first.folder.path} on {', '.join(here)};"
            " only runs on the same sequences can be compared"
        )
    return [_pair(name, first.trial(name), second.trial(name)) for name in shared]


def measure_pair(
    name: str, a: Statistic, b: Statistic, frames: int, *, higher_is_better: bool = False
) -> Measure | None:
    """A figure of two runs on all of the same frames, and its difference; None where it is undefined in either."""
    here, there = a(np.arange(frames)), b(np.arange(frames))
    if here is None or there is None:
        return None
    difference = Difference(here - there, paired_difference(a, b, draw_frames(frames)))
    return Measure(name, frames, here, there, difference, higher_is_better)


def _pair(name: str, a: Trial, b: Trial) -> Pairing:
    same = {
        "stamps": np.array_equal(a.recording.stamps, b.recording.stamps),
        "coordinates": a.recording.frame == b.recording.frame,
        "true positions": np.array_equal(a.recording.truth, b.recording.truth, equal_nan=True),
    }
    for what, agree in same.items():
        if not agree:
            return Pairing(name, refusal=f"{name}: left out, its {what} are not the same in both runs")
    return Pairing(name, tuple(measure for measure in _measures(a, b) if measure))


def _measures(a: Trial, b: Trial) -> Iterator[Measure | None]:
    known = a.recording.known
    both = known & a.localized & b.localized
    sure, every = int(both.sum()), int(known.sum())
    if sure:
        yield measure_pair("RMSE m", rmse_of(_errors(a, both)), rmse_of(_errors(b, both)), sure)
        yield measure_pair("mean m", mean_of(_errors(a, both)), mean_of(_errors(b, both)), sure)
    yield measure_pair("RMSE m, all", rmse_of(_errors(a, known)), rmse_of(_errors(b, known)), every)
    here, there = (f1_of(trial.queries, trial.threshold) for trial in (a, b))
    yield measure_pair("F1, all", here, there, every, higher_is_better=True)


def _errors(trial: Trial, frames: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " frames"]:
    return position_errors(trial.table.positions[frames], trial.recording.truth[frames])
