"""The covariance that an estimate tells: its 95 % ellipse holds 95 % of all that may be, not of one mode."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from tmapr.tracking.placing import Placing
from tmapr.types import CHI2_95, Belief

_HELD = 0.95
_UNSEEN = 0.5
"""Of a view's metres: what no match tells, such as how far beside the mapped way the camera drives."""


def cover_modes(
    belief: Belief,
    placing: Placing,
    list_modes: Callable[[], tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]],
    radius: float,
) -> Float[np.ndarray, "4 4"]:
    """The belief's covariance, widened; `list_modes` gives points where the camera may be, with probabilities.

    Where one mode is that probable, a little more of it; elsewhere the second moment of all, as much of it as it takes.
    """
    covariance = belief.covariance.copy()
    covariance[:2, :2] += np.eye(2) * (_UNSEEN * placing.view_metres) ** 2
    if placing.p_place >= _HELD:
        # −2 ln(1 − p) is the quantile of χ² with two degrees of freedom.
        covariance[:2, :2] *= -2.0 * np.log1p(-min(_HELD / placing.p_place, 0.9999)) / CHI2_95
        return covariance
    points, masses = list_modes()
    off = points - belief.position
    elsewhere = np.where(np.hypot(*off.T) > radius, masses, 0.0)
    covariance[:2, :2] += (off * elsewhere[:, None]).T @ off
    far = np.einsum("ni,ij,nj->n", off, np.linalg.inv(covariance[:2, :2]), off)
    order = np.argsort(far)
    last = min(int(np.searchsorted(np.cumsum(masses[order]), _HELD * masses.sum())), len(order) - 1)
    covariance[:2, :2] *= max(1.0, float(far[order[last]]) / CHI2_95)
    return covariance
