"""What a calibration looks at: the evidence of candidates, and how gates and filter do on recognised drives."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi

import numpy as np
from jaxtyping import Bool, Float

from tmapr.evaluation.decisions import Judged, Mapped, judge_decisions
from tmapr.evaluation.errors import compute_nees
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.exceptions import InputError
from tmapr.running.progressive import RecognisedDrive
from tmapr.system import System
from tmapr.types import Estimate, Status

_MOST = 50.0
"""Squared deviations beyond this count as this: one frame that is sure and wrong must not decide over all others."""

_HONEST = 0.95
_RMSE_LUCK, _COVERAGE_LUCK = 0.01, 0.005
"""A share of the RMSE, and a share of the frames: less is no difference."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What first candidates look like, and whether they are right; `opportunities` counts frames that show the map."""

    similarity: Float[np.ndarray, " n"]
    right: Bool[np.ndarray, " n"]
    opportunities: int


def gather_evidence(drives: Sequence[RecognisedDrive]) -> Evidence:
    """What the first candidate of each frame with one and with a true position looks like."""
    firsts, truth = [], []
    for drive in drives:
        for row in np.flatnonzero(drive.recording.known).tolist():
            recognition = drive.recognitions[row]
            if recognition and recognition.first:
                firsts.append(recognition.first)
                truth.append(drive.recording.truth[row])
    positions = np.array([candidate.position for candidate in firsts]).reshape(-1, 2)
    return Evidence(
        similarity=np.array([candidate.similarity for candidate in firsts]),
        right=correct_candidates(positions, np.array(truth).reshape(-1, 2)),
        opportunities=_count_opportunities(drives),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What no calibration may make worse, over frames with a true position."""

    rmse: float
    """Metres, of the frames on the map: elsewhere every position is a guess."""
    wrong: int
    """Frames that were `localized` and are not where they were said to be."""
    coverage95: float
    """Share of the frames whose 95 % ellipse holds the truth."""

    def is_worse_than(self, other: "Outcome") -> bool:
        """Whether it is in any of the three, by more than luck."""
        far, near = (abs(each.coverage95 - _HONEST) for each in (self, other))
        return self.rmse > (1 + _RMSE_LUCK) * other.rmse or self.wrong > other.wrong or far > near + _COVERAGE_LUCK


@dataclass(frozen=True, slots=True)
class Score:
    """Drives with one choice of settings: frames with a true position, all drives together."""

    outcome: Outcome
    surprise: float
    """Mean negative log-likelihood of the truth under the belief, nats."""
    precision: float | None
    recall: float | None
    passed: float | None
    """Share of the frames without a right candidate that are accepted."""


def score_drives(drives: Sequence[RecognisedDrive], system: System) -> Score:
    """How gates and filter do on drives through one map."""
    replayed = [drive.replay(system.tracking, system.fusion) for drive in drives]
    judged = _join([gather_judged(*each) for each in zip(drives, replayed, strict=True)])
    accepted, right = (np.concatenate(each) for each in zip(*map(_judge_accepted, drives, replayed), strict=True))
    chances = _count_opportunities(drives)
    deviations = np.minimum(compute_nees(judged.estimated - judged.truth, judged.covariances), _MOST)
    volumes = np.linalg.slogdet(judged.covariances).logabsdet
    hits, claimed, wrong = int((accepted & right).sum()), int(accepted.sum()), int((~right).sum())
    return Score(
        outcome=_find_outcome(judged, drives[0]),
        surprise=float(np.mean((deviations + volumes) / 2 + log(2 * pi))),
        precision=hits / claimed if claimed else None,
        recall=hits / chances if chances else None,
        passed=(claimed - hits) / wrong if wrong else None,
    )


def gather_judged(drive: RecognisedDrive, estimates: Sequence[Estimate]) -> Judged:
    """What was said of each frame with a true position, and what was true."""
    known, none = drive.recording.known, np.full(2, np.nan)
    firsts = [seen.first.position if seen and seen.first else none for seen in drive.recognitions]
    return Judged(
        truth=drive.recording.truth[known],
        estimated=np.array([each.position for each in estimates])[known],
        covariances=np.array([each.covariance for each in estimates])[known],
        localized=np.array([each.status is Status.LOCALIZED for each in estimates])[known],
        first=np.array(firsts)[known],
    )


def _find_outcome(judged: Judged, drive: RecognisedDrive) -> Outcome:
    found = judge_decisions(judged, Mapped(drive.mapped[drive.memory.order]))
    if found.rmse is None:
        raise InputError(
            f"{drive.recording.sequence}: no true position is within {found.tolerance:g} m of the map; nothing to"
            " calibrate on"
        )
    return Outcome(found.rmse, found.wrong, found.coverage95)


def _join(parts: Sequence[Judged]) -> Judged:
    """Several drives as one: what is counted of them does not depend on the seams."""
    return Judged(
        truth=np.concatenate([part.truth for part in parts]),
        estimated=np.concatenate([part.estimated for part in parts]),
        covariances=np.concatenate([part.covariances for part in parts]),
        localized=np.concatenate([part.localized for part in parts]),
        first=np.concatenate([part.first for part in parts]),
    )


def _count_opportunities(drives: Sequence[RecognisedDrive]) -> int:
    return sum(int(opportunities(each.recording.truth[each.recording.known], each.mapped).sum()) for each in drives)


def _judge_accepted(
    drive: RecognisedDrive, estimates: Sequence[Estimate]
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Whether a reference was accepted and whether it is right, of each frame with a true position."""
    known, none = drive.recording.known, np.full(2, np.nan)
    judged = np.array([each.candidate.position if each.candidate else none for each in estimates])
    accepted = np.array([each.verdict.accepted for each in estimates])
    return accepted[known], correct_candidates(judged[known], drive.recording.truth[known])
