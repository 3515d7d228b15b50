"""A recorded drive once recognised, so that gates and filter can be tried on it again and again.

Recognising a frame costs milliseconds, judging and filtering a tenth of one.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log, pi

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.errors import ErrorSummary, consistency, position_errors, squared_deviations
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.fusion.capf import Fusion
from tmapr.gating import Gating
from tmapr.localizer import Localizer
from tmapr.track import Tracker
from tmapr.types import Candidate, Estimate

Recognised = tuple[tuple[Candidate, ...], float | None]
"""The candidates of a usable frame, and its leverage."""

_MOST = 50.0
"""Squared deviations beyond this count as this: one frame that is sure and wrong must not decide over all others."""


@dataclass(frozen=True, slots=True)
class Drive:
    """A recording, what was recognised in each usable frame, and the positions that were mapped."""

    recording: Recording
    recognised: tuple[Recognised | None, ...]
    mapped: Float[np.ndarray, "refs 2"]

    @classmethod
    def of(cls, localizer: Localizer, recording: Recording) -> "Drive":
        """Recognise every usable frame; nothing is learned."""
        seen = tuple(None if each.fault else localizer.recognise(each) for each in recording.percepts)
        return cls(recording, seen, localizer.memory.positions)

    def replayed(self, gating: Gating, fusion: Fusion) -> list[Estimate]:
        """The estimates with these gates and this filter: those of a localizer, bit for bit."""
        tracker = Tracker(gating, fusion, self.mapped)
        estimates = []
        for percept, recognised in zip(self.recording.percepts, self.recognised, strict=True):
            late = tracker.answer_late(percept)
            if late is None:
                late = tracker.advance(percept, *recognised) if recognised else tracker.pass_over(percept)
            estimates.append(late)
        return estimates

    def evidence(self) -> "Evidence":
        """What the first candidate of each frame with one and with a true position looks like."""
        rows = [row for row, seen in enumerate(self.recognised) if seen and seen[0] and self.recording.known[row]]
        found = [seen for row in rows if (seen := self.recognised[row])]
        first = [candidates[0] for candidates, _ in found]
        positions = np.array([candidate.position for candidate in first]).reshape(-1, 2)
        return Evidence(
            similarity=np.array([candidate.similarity for candidate in first]),
            leverage=np.array([0.0 if leverage is None else leverage for _, leverage in found]),
            support=np.array([candidate.support for candidate in first]),
            margin=np.array([candidate.margin for candidate in first]),
            right=correct_candidates(positions, self.recording.truth[rows]),
            opportunities=int(opportunities(self.recording.truth[self.recording.known], self.mapped).sum()),
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What candidates look like, and whether they are right; `opportunities` counts frames that show a mapped place."""

    similarity: Float[np.ndarray, " n"]
    leverage: Float[np.ndarray, " n"]
    support: Float[np.ndarray, " n"]
    margin: Float[np.ndarray, " n"]
    right: Bool[np.ndarray, " n"]
    opportunities: int

    @classmethod
    def joined(cls, parts: Sequence["Evidence"]) -> "Evidence":
        """Of several drives."""
        fields = [asdict(part) for part in parts]
        arrays = {name: np.concatenate([each[name] for each in fields]) for name in _ARRAYS}
        return cls(**arrays, opportunities=sum(part.opportunities for part in parts))


_ARRAYS = ("similarity", "leverage", "support", "margin", "right")


@dataclass(frozen=True, slots=True)
class Score:
    """Drives with one choice of settings: frames with a true position, all drives together."""

    rmse: float
    coverage95: float
    surprise: float
    """Mean negative log-likelihood of the truth under the belief, nats."""
    precision: float | None
    recall: float | None
    passed: float | None
    """Share of the frames without a right candidate that are accepted."""

    @property
    def f1(self) -> float | None:
        """Of what the gates accepted, not of the similarity alone."""
        if self.precision is None or self.recall is None or not self.precision + self.recall:
            return None
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def score(drives: Sequence[Drive], gating: Gating, fusion: Fusion) -> Score:
    """How gates and filter do on the drives."""
    parts = [_judged(drive, drive.replayed(gating, fusion)) for drive in drives]
    errors, covariances, accepted, right = (np.concatenate(each) for each in zip(*parts, strict=True))
    chances = sum(int(opportunities(each.recording.truth[each.recording.known], each.mapped).sum()) for each in drives)
    deviations = np.minimum(squared_deviations(errors, covariances), _MOST)
    volumes = np.linalg.slogdet(covariances).logabsdet
    hits, claimed, wrong = int((accepted & right).sum()), int(accepted.sum()), int((~right).sum())
    return Score(
        rmse=ErrorSummary.of(position_errors(errors, np.zeros_like(errors))).rmse,
        coverage95=consistency(errors, covariances).coverage95,
        surprise=float(np.mean((deviations + volumes) / 2 + log(2 * pi))),
        precision=hits / claimed if claimed else None,
        recall=hits / chances if chances else None,
        passed=(claimed - hits) / wrong if wrong else None,
    )


def _judged(
    drive: Drive, estimates: Sequence[Estimate]
) -> tuple[
    Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2 2"], Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]
]:  # fmt: skip
    """Errors, covariances, whether a reference was accepted and whether it is right, of frames with a true position."""
    known = drive.recording.known
    truth = drive.recording.truth[known]
    kept = [each for each, is_known in zip(estimates, known, strict=True) if is_known]
    nowhere = np.full(2, np.nan)
    candidates = np.array([each.candidate.position if each.candidate else nowhere for each in kept])
    return (
        np.array([each.position for each in kept]) - truth,
        np.array([each.covariance for each in kept]),
        np.array([each.verdict.accepted for each in kept]),
        correct_candidates(candidates, truth),
    )
