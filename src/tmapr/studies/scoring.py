"""What a calibration looks at: the evidence of candidates, and how gates and filter do on recognised drives."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi

import numpy as np
from jaxtyping import Bool, Float

from tmapr.evaluation.errors import compute_nees, measure_consistency, position_errors, summarize_errors
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.fusion.capf import Fusion
from tmapr.gating import Gating
from tmapr.running.progressive import RecognisedDrive
from tmapr.types import Estimate

_MOST = 50.0
"""Squared deviations beyond this count as this: one frame that is sure and wrong must not decide over all others."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What first candidates look like, and whether they are right; `opportunities` counts frames that show the map."""

    similarity: Float[np.ndarray, " n"]
    leverage: Float[np.ndarray, " n"]
    margin: Float[np.ndarray, " n"]
    right: Bool[np.ndarray, " n"]
    opportunities: int


def gather_evidence(drives: Sequence[RecognisedDrive]) -> Evidence:
    """What the first candidate of each frame with one and with a true position looks like."""
    firsts, leverages, truth = [], [], []
    for drive in drives:
        for row in np.flatnonzero(drive.recording.known).tolist():
            recognition = drive.recognitions[row]
            if recognition and recognition.first:
                firsts.append(recognition.first)
                leverages.append(0.0 if recognition.leverage is None else recognition.leverage)
                truth.append(drive.recording.truth[row])
    positions = np.array([candidate.position for candidate in firsts]).reshape(-1, 2)
    return Evidence(
        similarity=np.array([candidate.similarity for candidate in firsts]),
        leverage=np.array(leverages),
        margin=np.array([candidate.margin for candidate in firsts]),
        right=correct_candidates(positions, np.array(truth).reshape(-1, 2)),
        opportunities=_count_opportunities(drives),
    )


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


def score_drives(drives: Sequence[RecognisedDrive], gating: Gating, fusion: Fusion) -> Score:
    """How gates and filter do on the drives."""
    parts = [_judge(drive, drive.replay(gating, fusion)) for drive in drives]
    errors, covariances, accepted, right = (np.concatenate(each) for each in zip(*parts, strict=True))
    chances = _count_opportunities(drives)
    deviations = np.minimum(compute_nees(errors, covariances), _MOST)
    volumes = np.linalg.slogdet(covariances).logabsdet
    hits, claimed, wrong = int((accepted & right).sum()), int(accepted.sum()), int((~right).sum())
    return Score(
        rmse=summarize_errors(position_errors(errors, np.zeros_like(errors))).rmse,
        coverage95=measure_consistency(errors, covariances).coverage95,
        surprise=float(np.mean((deviations + volumes) / 2 + log(2 * pi))),
        precision=hits / claimed if claimed else None,
        recall=hits / chances if chances else None,
        passed=(claimed - hits) / wrong if wrong else None,
    )


def _count_opportunities(drives: Sequence[RecognisedDrive]) -> int:
    return sum(int(opportunities(each.recording.truth[each.recording.known], each.mapped).sum()) for each in drives)


def _judge(
    drive: RecognisedDrive, estimates: Sequence[Estimate]
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
