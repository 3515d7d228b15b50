"""Confidence-aware position fusion (CAPF): constant velocity, eqs. (7)–(8), corrected with the variance of eq. (9).

Every frame's APR position corrects with a fixed variance, an accepted reference with one that falls with its
confidence. After any sequence of calls the covariance is finite, exactly symmetric and positive definite, and
without gaps the belief equals the weighted least-squares solution over all that was measured.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from tmapr.config import Settings, filled
from tmapr.fusion import kalman
from tmapr.reference import Reference
from tmapr.types import NANOSECONDS, Belief, Status


@dataclass(frozen=True, slots=True)
class Correction:
    """The last accepted reference correction: when it was, and where the belief was then."""

    stamp: int
    position: Float[np.ndarray, "2"]


class Fusion(Settings):
    """The filter's settings; its methods take a belief and return the next one."""

    noise: Literal["paper", "acceleration"] = Field(
        "acceleration", description="Q: white acceleration, however time is cut, or the paper's eq. (8)"
    )
    position_noise: float = Field(0.25, ge=0, le=1e6, description="q_p: position noise of eq. (8), m²/s²")
    velocity_noise: float = Field(
        0.0, ge=0, description="q_v: density of white acceleration, or noise of eq. (8), m²/s³; 0: by the reference"
    )
    apr: bool = Field(True, description="correct with the pose head's positions; false: the map's frames alone")
    apr_variance: float = Field(
        0.0, ge=0, le=1e10, description="r_a: variance of an APR position per axis, m²; 0: by the reference"
    )
    correction_variance: float = Field(
        3.0, ge=1e-6, le=1e10, description="r_l: variance of a reference position at confidence 1, per axis, m²"
    )
    # A confidence never exceeds 1, so a floor below correction_variance would never act.
    min_correction_variance: float = Field(
        4.0, ge=1e-6, le=1e10, description="r_min: least variance of a reference position, per axis, m²"
    )
    initial_speed: float = Field(
        0.0,
        ge=0,
        le=1e6,
        description="σ_v: standard deviation of an unknown velocity, per axis, m/s; 0: by the reference",
    )
    max_gap: float = Field(
        0.0, ge=0, le=1e6, description="Δt_max: longest time a velocity is believed, s; 0: by the reference"
    )
    correction_lifetime: float = Field(
        0.0, ge=0, description="T: time after a correction that still counts as localized, s; 0: by the reference"
    )
    correction_range: float = Field(
        0.0, ge=0, description="D: distance from a correction that still counts as localized, m; 0: by the reference"
    )
    max_semi_axis: float = Field(
        0.0, ge=0, description="a_max: longest 95 % semi-axis of a position worth following, m; 0: by the reference"
    )

    def fit(self, reference: Reference) -> "Fusion":
        """What is 0 becomes what the reference says; only then can the filter be used."""
        told = {
            "velocity_noise": reference.speed**2 / _CHANGES,
            "apr_variance": (_POSE * reference.place) ** 2,
            "initial_speed": _FASTER * reference.speed,
            "max_gap": reference.straight,
            "correction_lifetime": (self.max_gap or reference.straight) / 2,
            "correction_range": _AROUND * reference.place,
            "max_semi_axis": reference.place,
        }
        return filled(self, told)

    def start(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> Belief:
        """A belief at `position` with this standard deviation per axis and an unknown velocity."""
        if not (isfinite(deviation) and deviation > 0):
            raise ValueError(f"deviation must be positive and finite, got {deviation}")
        variances = np.repeat([deviation**2, self.initial_speed**2], 2)
        return Belief(stamp, np.concatenate([_require_finite(position), np.zeros(2)]), np.diag(variances))

    def predict(self, belief: Belief, stamp: int) -> Belief:
        """Move the belief to `stamp`; one at the belief's own stamp is returned as it is.

        A gap longer than `max_gap` says nothing of the velocity any more, and extrapolating it would send the
        mean hundreds of kilometres away in a night. The motion model runs for `max_gap`; for the rest the
        mean stays, the velocity becomes unknown and the position may drift at `initial_speed` in a straight
        line: its standard deviation grows with time, not with the square root of time.
        """
        if stamp < belief.stamp:
            raise ValueError(f"cannot predict back from stamp {belief.stamp} to the older stamp {stamp}")
        if stamp == belief.stamp:
            return belief
        gap = (stamp - belief.stamp) / NANOSECONDS
        dt = min(gap, self.max_gap)
        mean, covariance = kalman.predict(belief.mean, belief.covariance, _transition(dt), self._motion_noise(dt))
        if gap <= self.max_gap:
            return Belief(stamp, mean, covariance)
        unknown = self.start(stamp, mean[:2], self.initial_speed * (gap - dt))
        H = _OBSERVATION
        return Belief(stamp, unknown.mean, unknown.covariance + H.T @ covariance[:2, :2] @ H)

    def nis(self, belief: Belief, position: Float[np.ndarray, "2"], confidence: float) -> float:
        """NIS, νᵀS⁻¹ν, of a reference's position about to correct: 2 in the mean if the filter is honest."""
        surprise = _require_finite(position) - belief.position
        spread = belief.covariance[:2, :2] + self._reference_variance(confidence) * np.eye(2)
        return kalman.measure_nis(surprise, spread)

    def correct_apr(self, belief: Belief, position: Float[np.ndarray, "2"]) -> Belief:
        """Correct with the pose head's position."""
        return _correct(belief, position, self.apr_variance)

    def correct_reference(self, belief: Belief, position: Float[np.ndarray, "2"], confidence: float) -> Belief:
        """Correct with an accepted reference's position, eq. (9)."""
        return _correct(belief, position, self._reference_variance(confidence))

    def measure_nis(
        self, belief: Belief, position: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"]
    ) -> float:
        """NIS of a position of any covariance about to correct."""
        surprise = _require_finite(position) - belief.position
        return kalman.measure_nis(surprise, belief.covariance[:2, :2] + covariance)

    def correct(self, belief: Belief, position: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"]) -> Belief:
        """Correct with a position of any covariance."""
        mean, spread = kalman.correct(
            belief.mean, belief.covariance, _require_finite(position), _OBSERVATION, covariance
        )
        return Belief(belief.stamp, mean, spread)

    def _reference_variance(self, confidence: float) -> float:
        if not isfinite(confidence):
            raise ValueError(f"confidence must be finite, got {confidence}")
        return max(self.correction_variance / max(confidence, _LEAST_CONFIDENCE), self.min_correction_variance)

    def relocalize(self, belief: Belief, position: Float[np.ndarray, "2"], deviation: float) -> Belief:
        """Start again at `position`: the belief was wrong, so nothing but its stamp is kept."""
        return self.start(belief.stamp, position, deviation)

    def is_lost(self, belief: Belief) -> bool:
        """Whether the position is known too badly to be followed."""
        return belief.semi_axis > self.max_semi_axis

    def status(self, belief: Belief, apr_used: bool, last: Correction | None) -> Status:
        """How far to trust the belief, given whether APR corrected it and the last accepted correction."""
        certain = not self.is_lost(belief)
        if certain and last is not None and self._holds(last, belief):
            return Status.LOCALIZED
        if apr_used:
            return Status.APR_ONLY
        return Status.PREDICTING if certain else Status.LOST

    def _holds(self, last: Correction, belief: Belief) -> bool:
        """Whether the correction is recent and near enough to speak for the belief."""
        age = (belief.stamp - last.stamp) / NANOSECONDS
        distance = float(np.linalg.norm(belief.position - last.position))
        return age <= self.correction_lifetime and distance <= self.correction_range

    def _motion_noise(self, dt: float) -> Float[np.ndarray, "4 4"]:
        """Q over `dt`. Only white acceleration gives the same for an interval however it is cut."""
        if self.noise == "paper":
            return _planar(self.position_noise * dt**2, 0.0, 0.0, self.velocity_noise * dt)
        q = self.velocity_noise
        return _planar(q * dt**3 / 3, q * dt**2 / 2, q * dt**2 / 2, q * dt)


_LEAST_CONFIDENCE = 1e-4
"""10⁻⁴ of eq. (9): what is divided by at least."""
_CHANGES = 5.0
"""Seconds in which a speed may change by as much as itself."""
_FASTER = 3.0
"""An unknown velocity's deviation, in mapped speeds: nobody says which way."""
_AROUND = 1.5
"""Places around a correction that it still speaks for."""
_POSE = 0.3
"""Of a place: the deviation of a pose head that nothing is known of."""
_OBSERVATION = np.eye(2, 4)
"""H of eq. (7): positions are measured, velocities are not."""


def _transition(dt: float) -> Float[np.ndarray, "4 4"]:
    """F of eq. (7)."""
    return _planar(1.0, dt, 0.0, 1.0)


def _planar(position: float, mixed: float, back: float, velocity: float) -> Float[np.ndarray, "4 4"]:
    """A (position, velocity) matrix of one axis, row by row, as that of (x, y, vx, vy)."""
    matrix = np.zeros((4, 4))
    matrix[0, 0] = matrix[1, 1] = position
    matrix[0, 2] = matrix[1, 3] = mixed
    matrix[2, 0] = matrix[3, 1] = back
    matrix[2, 2] = matrix[3, 3] = velocity
    return matrix


def _correct(belief: Belief, position: Float[np.ndarray, "2"], variance: float) -> Belief:
    """The belief after a position measured with this variance per axis."""
    noise = variance * np.eye(2)
    mean, covariance = kalman.correct(belief.mean, belief.covariance, _require_finite(position), _OBSERVATION, noise)
    return Belief(belief.stamp, mean, covariance)


def _require_finite(position: Float[np.ndarray, "2"]) -> Float[np.ndarray, "2"]:
    """The position itself; a NaN would stay in the belief for ever."""
    if not np.isfinite(position).all():
        raise ValueError(f"position must be finite, got {position}")
    return position
