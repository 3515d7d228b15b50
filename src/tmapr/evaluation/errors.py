"""How far the estimates are from the truth, how honest their covariance is, and how often they jump.

The truth of a heading is the direction in which the true positions move: recordings keep no other. A camera that looks
elsewhere than ahead, or a vehicle that reverses, differs from it without being wrong.

Frames without an estimate are left out by the caller: every array here holds one row per frame that has one.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int64

from tmapr.data.poses import track_direction, wrapped
from tmapr.exceptions import InputError
from tmapr.types import CHI2_95, NANOSECONDS

JUMP_TOLERANCE = 1.0
"""Metres an estimate may move between two frames however close in time they are."""

SPEED_TOLERANCE = 1.5
"""How much faster than the reference traverse a camera may plausibly move."""

_TOP_SPEED_PERCENTILE = 99
_LEAST_MOTION = 0.5  # metres around a frame: less has no direction
_MILLISECONDS = 1000.0


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Position error over a sequence, in metres."""

    rmse: float
    mean: float
    median: float
    p75: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, errors: Float[np.ndarray, " n"]) -> "ErrorSummary":
        """Condense the errors of single frames."""
        _refuse_unusable("errors", errors)
        median, p75, p95, p99, largest = np.percentile(errors, [50, 75, 95, 99, 100]).tolist()
        return cls(float(np.sqrt(np.mean(errors**2))), float(np.mean(errors)), median, p75, p95, p99, largest)


@dataclass(frozen=True, slots=True)
class HeadingSummary:
    """Heading error over the frames that have both headings, in degrees."""

    frames: int
    rmse_deg: float
    mean_deg: float
    median_deg: float
    p95_deg: float

    @classmethod
    def of(cls, errors: Float[np.ndarray, " n"]) -> "HeadingSummary":
        """Condense errors given in radians."""
        found = ErrorSummary.of(np.rad2deg(errors))
        return cls(len(errors), found.rmse, found.mean, found.median, found.p95)


@dataclass(frozen=True, slots=True)
class Consistency:
    """Normalised squared position error (NEES): an honest covariance gives a mean of 2 and covers .95."""

    mean: float
    coverage95: float


@dataclass(frozen=True, slots=True)
class InnovationSummary:
    """Normalised squared innovations (NIS) of accepted corrections: 2 in the mean and .95 inside if honest."""

    mean: float
    inside95: float
    count: int

    @classmethod
    def of(cls, nis: Float[np.ndarray, " n"]) -> "InnovationSummary":
        """Condense those of single corrections."""
        _refuse_unusable("nis", nis)
        return cls(float(nis.mean()), float(np.mean(nis <= CHI2_95)), len(nis))


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one stage takes, in milliseconds."""

    p50: float
    p95: float
    max: float

    @classmethod
    def of(cls, durations: Float[np.ndarray, " n"]) -> "Timing":
        """Condense durations given in seconds."""
        _refuse_unusable("durations", durations)
        p50, p95 = np.percentile(durations, [50, 95]) * _MILLISECONDS
        return cls(float(p50), float(p95), float(durations.max() * _MILLISECONDS))


def position_errors(estimated: Float[np.ndarray, "n 2"], truth: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
    """Distance between each estimate and the truth of its frame."""
    distances: Float[np.ndarray, " n"] = np.linalg.norm(estimated - truth, axis=1)
    return distances


def heading_errors(estimated: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Angle between each estimated heading and the true one, in [0, π]."""
    return np.abs(wrapped(estimated - truth))


def true_headings(truth: Float[np.ndarray, "n 2"], known: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The direction of travel at each frame; NaN where it is not known or did not move within a stretch that is."""
    headings = np.full(len(truth), np.nan)
    for stretch in np.split(np.arange(len(truth)), np.flatnonzero(np.diff(known)) + 1):
        if known[stretch].all():
            headings[stretch] = track_direction(truth[stretch], _LEAST_MOTION)
    return headings


def reference_speed(stamps: Int64[np.ndarray, " n"], positions: Float[np.ndarray, "n 2"]) -> float:
    """99th percentile of the speed between consecutive frames; the maximum would be one bad fix."""
    seconds = np.diff(stamps) / NANOSECONDS
    advancing = seconds > 0
    if not advancing.any():
        raise InputError(
            f"the reference has {len(stamps)} frames and time never advances between them;"
            " a speed needs two frames with increasing stamps"
        )
    return float(np.percentile(_steps(positions)[advancing] / seconds[advancing], _TOP_SPEED_PERCENTILE))


def count_jumps(stamps: Int64[np.ndarray, " n"], positions: Float[np.ndarray, "n 2"], top_speed: float) -> int:
    """Consecutive pairs farther apart than a camera could move; `top_speed` is the reference's speed."""
    return int(np.count_nonzero(jumps(stamps, positions, top_speed)))


def jumps(
    stamps: Int64[np.ndarray, " n"], positions: Float[np.ndarray, "n 2"], top_speed: float
) -> Bool[np.ndarray, " pairs"]:
    """Whether each step from one frame to the next is one."""
    # A frame may arrive with an older stamp; what it could have moved depends on the time between the
    # two moments, whichever came first.
    seconds = np.abs(np.diff(stamps)) / NANOSECONDS
    allowance = JUMP_TOLERANCE + SPEED_TOLERANCE * top_speed * seconds
    farther: Bool[np.ndarray, " pairs"] = _steps(positions) > allowance
    return farther


def consistency(errors: Float[np.ndarray, "n 2"], covariances: Float[np.ndarray, "n 2 2"]) -> Consistency:
    """NEES of the position: its mean and the share of frames inside the stated 95 % ellipse."""
    nees = squared_deviations(errors, covariances)
    return Consistency(mean=float(nees.mean()), coverage95=float(np.mean(nees <= CHI2_95)))


def squared_deviations(
    errors: Float[np.ndarray, "n 2"], covariances: Float[np.ndarray, "n 2 2"]
) -> Float[np.ndarray, " n"]:
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


def _steps(positions: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " pairs"]:
    return position_errors(positions[1:], positions[:-1])


def _refuse_unusable(name: str, values: Float[np.ndarray, "n ..."]) -> None:
    if not len(values):
        raise ValueError(f"{name} must not be empty")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
