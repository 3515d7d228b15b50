"""The linear Kalman filter in Joseph form, eq. (10), for any number of states and measurements.

Covariances go in positive definite and come out positive definite and exactly symmetric. Nothing is inverted:
the gain is a Cholesky solve with the innovation's covariance.
"""

import numpy as np
from jaxtyping import Float

from tmapr.fusion import joseph


def predict(
    mean: Float[np.ndarray, " states"],
    covariance: Float[np.ndarray, "states states"],
    transition: Float[np.ndarray, "states states"],
    noise: Float[np.ndarray, "states states"],
) -> tuple[Float[np.ndarray, " states"], Float[np.ndarray, "states states"]]:
    """Mean and covariance after one step of the motion model."""
    return joseph.predict(*(np.ascontiguousarray(each, float) for each in (mean, covariance, transition, noise)))


def correct(
    mean: Float[np.ndarray, " states"],
    covariance: Float[np.ndarray, "states states"],
    measurement: Float[np.ndarray, " measured"],
    observation: Float[np.ndarray, "measured states"],
    noise: Float[np.ndarray, "measured measured"],
) -> tuple[Float[np.ndarray, " states"], Float[np.ndarray, "states states"]]:
    """Mean and covariance after a measurement, eq. (10); `noise` must be positive definite."""
    given = mean, covariance, measurement, observation, noise
    return joseph.correct(*(np.ascontiguousarray(each, dtype=float) for each in given))


def measure_nis(surprise: Float[np.ndarray, " measured"], spread: Float[np.ndarray, "measured measured"]) -> float:
    """νᵀS⁻¹ν of an innovation and its covariance."""
    return float(joseph.measure_nis(np.ascontiguousarray(surprise), np.ascontiguousarray(spread)))
