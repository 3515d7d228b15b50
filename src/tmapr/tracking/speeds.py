"""The numbers of the route filter: speeds and how they change, rates of leaving and returning, what a step tells.

They were chosen on rendered worlds in even styles, once for all maps: lengths are those of the map's own views.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

SPEEDS = np.concatenate([-(2.0 ** np.array([-1.0, 0.0])), 2.0 ** np.arange(-3.0, 3.01, 0.5)])
"""Multiples of the mapped speed; half an octave apart, two of them backwards."""
BACKWARDS = SPEEDS < 0
HALF_STEP = 2.0**0.25
_STILL_USUAL = 1.0  # octaves: deviation of a drive's speed from the mapped one

REVERSING = 0.004
CHANGE, REDRAW = 0.2, 0.1
"""Chances that a speed is the next one, or any other, at the next view."""
HALTED = 0.1
"""Chance that the camera stood between two views, so that the time between them says nothing."""
STUCK = 0.3
"""The same of a wrong match, which may stay behind while the camera drives on."""
VIEW_SPREAD = 0.7
"""Deviation of the logarithm of the metres between two views from those of the map."""
LEAST = -3.0
START_OFF = 0.05
START_WRONG = 0.1
"""Chance that a start somebody told is wrong, and the camera anywhere: otherwise no view could overrule it."""
LEAVE, RETURN = 1 / 2000, 1 / 300
MIMIC, UNMASK = 1 / 100, 1 / 10
"""Rates a metre: of leaving the map, of coming back, of a wrong match beginning and of its end."""
CARRIED = 1e-5
"""Chance at each view of having been carried elsewhere on the map."""
HOP = 0.02
"""Rate a metre of going over to another reference at the same spot."""
REACH = 2.0
"""Metres that the reach grows by for a metre driven: speed is not known well."""
PRUNED = 1e-9
ANYWHERE = 1e9  # metres
PEAKS = 32
"""References with the most probability, around each of which it is summed up."""
FAR_VIEW = 2.0
"""New views apart from which on two views say only that they are far apart."""
ODOMETRY_ERROR = 0.1
"""Share of the way that odometry told."""
UNCHANGED = 10
"""New views for which a speed or a yaw rate may stay what it is, to the last bit, and still be a measurement."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is known of the motion since the last view."""

    seconds: float
    change: float
    """Of the view, in units of a new one; 2 and more says only that it was far."""
    metres: float | None = None
    """Driven, where odometry told it."""

    @property
    def saturated(self) -> bool:
        """Whether the views are too different to tell how far apart they are."""
        return self.change >= FAR_VIEW

    @property
    def reach(self) -> float:
        """How many lengths of a view what stood in between may have come."""
        return 2.0 * min(self.change, FAR_VIEW)


class Ways(NamedTuple):
    """The shortest, the middle and the longest way of each speed, metres along the route."""

    near: Float[np.ndarray, " speeds"]
    middle: Float[np.ndarray, " speeds"]
    far: Float[np.ndarray, " speeds"]


def make_prior() -> Float[np.ndarray, " speeds"]:
    """How probable each speed is before anything was seen."""
    usual = np.exp(-0.5 * (np.log2(np.abs(SPEEDS)) / _STILL_USUAL) ** 2)
    prior = np.where(BACKWARDS, REVERSING * usual / usual[BACKWARDS].sum(), 0.0)
    forwards = np.where(BACKWARDS, 0.0, usual)
    result: Float[np.ndarray, " speeds"] = prior + (1.0 - REVERSING) * forwards / forwards.sum()
    return result
