"""The linear Kalman filter in Joseph form, eq. (10), for any number of states and measurements.

Covariances go in positive definite and come out positive definite and exactly symmetric. Nothing is inverted:
the gain is a Cholesky solve with the innovation's covariance.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve


def predict(
    mean: Float[np.ndarray, " states"],
    covariance: Float[np.ndarray, "states states"],
    transition: Float[np.ndarray, "states states"],
    noise: Float[np.ndarray, "states states"],
) -> tuple[Float[np.ndarray, " states"], Float[np.ndarray, "states states"]]:
    """Mean and covariance after one step of the motion model."""
    return transition @ mean, _symmetrise(transition @ covariance @ transition.T + noise)


def correct(
    mean: Float[np.ndarray, " states"],
    covariance: Float[np.ndarray, "states states"],
    measurement: Float[np.ndarray, " measured"],
    observation: Float[np.ndarray, "measured states"],
    noise: Float[np.ndarray, "measured measured"],
) -> tuple[Float[np.ndarray, " states"], Float[np.ndarray, "states states"]]:
    """Mean and covariance after a measurement, eq. (10); `noise` must be positive definite."""
    P, H, R = covariance, observation, noise
    L = cho_solve(cho_factor(H @ P @ H.T + R), H @ P).T
    # Joseph form: (I − LH)P alone cancels to zero once P exceeds R by sixteen digits, as after a long gap.
    kept = np.eye(len(mean)) - L @ H
    return mean + L @ (measurement - H @ mean), _symmetrise(kept @ P @ kept.T + L @ R @ L.T)


def _symmetrise(matrix: Float[np.ndarray, "states states"]) -> Float[np.ndarray, "states states"]:
    """The same matrix without the last-bit asymmetry that matrix products leave."""
    mirrored: Float[np.ndarray, "states states"] = matrix + matrix.T
    return mirrored / 2
