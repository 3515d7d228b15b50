"""How far the estimates are from the truth, how honest their covariance is, and how often they jump.

The truth of a heading is the direction in which the true positions move: every recording has it. A camera that looks
elsewhere than ahead, or a vehicle that reverses, differs from it without being wrong.

Frames without an estimate are left out by the caller: every array here holds one row per frame that has one.
"""

import numpy as np
from jaxtyping import Bool, Float, Int64

from tmapr.artifacts.documents.runs import Consistency, ErrorSummary, HeadingSummary, InnovationSummary, Timing
from tmapr.data.poses import track_direction, wrap_angles
from tmapr.reference import find_jumps
from tmapr.types import CHI2_95

LEAST_MOTION = 0.5
"""Metres around a frame: less has no direction."""

_MILLISECONDS = 1000.0


def summarize_errors(errors: Float[np.ndarray, " n"]) -> ErrorSummary:
    """Condense the position errors of single frames."""
    _refuse_unusable("errors", errors)
    median, p75, p95, p99, largest = np.percentile(errors, [50, 75, 95, 99, 100]).tolist()
    rmse, mean = float(np.sqrt(np.mean(errors**2))), float(np.mean(errors))
    return ErrorSummary(rmse=rmse, mean=mean, median=median, p75=p75, p95=p95, p99=p99, max=largest)


def summarize_headings(errors: Float[np.ndarray, " n"]) -> HeadingSummary:
    """Condense heading errors given in radians."""
    degrees = np.rad2deg(errors)
    summary = summarize_errors(degrees)
    return HeadingSummary(
        frames=len(errors),
        rmse_deg=summary.rmse,
        mean_deg=summary.mean,
        median_deg=summary.median,
        p95_deg=float(np.percentile(degrees, 95)),
    )


def summarize_innovations(nis: Float[np.ndarray, " n"]) -> InnovationSummary:
    """Condense the normalised squared innovations of single corrections."""
    _refuse_unusable("nis", nis)
    return InnovationSummary(mean=float(nis.mean()), inside95=float(np.mean(nis <= CHI2_95)), count=len(nis))


def summarize_durations(durations: Float[np.ndarray, " n"]) -> Timing:
    """Condense durations given in seconds."""
    _refuse_unusable("durations", durations)
    p50, p95 = np.percentile(durations, [50, 95]) * _MILLISECONDS
    return Timing(p50=float(p50), p95=float(p95), max=float(durations.max() * _MILLISECONDS))


def position_errors(estimated: Float[np.ndarray, "n 2"], truth: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
    """Distance between each estimate and the truth of its frame."""
    distances: Float[np.ndarray, " n"] = np.linalg.norm(estimated - truth, axis=1)
    return distances


def heading_errors(estimated: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Angle between each estimated heading and the true one, in [0, π]."""
    return np.abs(wrap_angles(estimated - truth))


def true_headings(truth: Float[np.ndarray, "n 2"], known: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The direction of travel at each frame; NaN where it is not known or did not move within a stretch that is."""
    headings = np.full(len(truth), np.nan)
    for stretch in np.split(np.arange(len(truth)), np.flatnonzero(np.diff(known)) + 1):
        if known[stretch].all():
            headings[stretch] = track_direction(truth[stretch], LEAST_MOTION)
    return headings


def count_jumps(stamps: Int64[np.ndarray, " n"], positions: Float[np.ndarray, "n 2"], top_speed: float) -> int:
    """Consecutive pairs farther apart than a camera could move; `top_speed` is the reference's."""
    return int(np.count_nonzero(find_jumps(stamps, positions, top_speed)))


def measure_consistency(errors: Float[np.ndarray, "n 2"], covariances: Float[np.ndarray, "n 2 2"]) -> Consistency:
    """NEES of the position: its mean and the share of frames inside the stated 95 % ellipse."""
    nees = compute_nees(errors, covariances)
    return Consistency(mean=float(nees.mean()), coverage95=float(np.mean(nees <= CHI2_95)))


def compute_nees(errors: Float[np.ndarray, "n 2"], covariances: Float[np.ndarray, "n 2 2"]) -> Float[np.ndarray, " n"]:
    """NEES of every frame, eᵀP⁻¹e."""
    _refuse_unusable("errors", errors)
    indefinite = np.flatnonzero(~(np.linalg.eigvalsh(covariances)[:, 0] > 0))
    if len(indefinite):
        raise ValueError(
            f"covariances must be positive definite, frame {indefinite[0]} has {covariances[indefinite[0]].tolist()}"
        )
    nees: Float[np.ndarray, " n"] = np.einsum(
        "ni,ni->n", errors, np.linalg.solve(covariances, errors[..., None])[..., 0]
    )
    return nees


def _refuse_unusable(name: str, values: Float[np.ndarray, "n ..."]) -> None:
    if not len(values):
        raise ValueError(f"{name} must not be empty")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
