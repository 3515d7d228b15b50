"""Dead reckoning beside the belief: way and turns since the last certain place say which places can be meant now.

No image tells a street from its twin, but the turn that led into it does. The belief over the route knows nothing of
turns; a place that it is sure of while dead reckoning says otherwise is doubted until it was followed for a while. So
what is reckoned wrongly costs some metres, and nothing is lost for good.
"""

import numpy as np
from jaxtyping import Float

_DRIFT = 0.1
"""Metres of doubt a metre: views are not equally long."""
_HEADING_NOISE, _HEADING_SHARE = 0.02, 0.1
"""Radians a view, and share of a turn, by which the direction is doubted more."""
_UNTURNED = 0.3
"""Radians a view where nobody knows how the camera turned."""
_LOST = 1.0
"""Radians of doubt from which on there is no direction."""
_FIRM = 0.1
"""Radians of doubt of a mapped direction."""
_FOLLOWED = 0.2
"""Share of the way to the mapped direction that a certain place draws the reckoned one."""
_DEVIATIONS = 2.5
_ANOTHER_WAY = 0.5
"""Radians from which on two directions are two streets."""


class Reckoning:
    """Where the camera is by way and turns alone, and which way it looks; nowhere before the first certain place."""

    def __init__(self, radius: float) -> None:
        self._radius = radius
        self.position: Float[np.ndarray, "2"] | None = None
        self.heading = 0.0
        self.doubt = np.inf
        """Radians by which the heading may be wrong."""
        self.spread = 0.0
        self.doubted = 0.0
        """Metres for which a certain place was contradicted."""

    def advance(self, metres: float, turn: float | None, error: float) -> None:
        """Drive so many metres, turning meanwhile as was seen, give or take an error."""
        if self.position is None:
            return
        grown = _UNTURNED if turn is None else float(np.hypot(_HEADING_NOISE + error, _HEADING_SHARE * turn))
        self.doubt = float(np.hypot(self.doubt, grown))
        middle = self.heading + (turn or 0.0) / 2.0
        self.heading += turn or 0.0
        if self.doubt < _LOST:
            self.position = self.position + metres * np.array([np.cos(middle), np.sin(middle)])
        self.spread += metres * min(_DRIFT + self.doubt, 1.0)

    def contradicts(self, spot: Float[np.ndarray, "2"], headings: Float[np.ndarray, " near"]) -> bool:
        """Whether the camera cannot be at a spot around which the mapped traverses look these ways."""
        if self.position is None:
            return False
        if float(np.hypot(*(spot - self.position))) > self._radius + _DEVIATIONS * self.spread:
            return True
        known = headings[np.isfinite(headings)]
        if self.doubt >= _LOST or not len(known):
            return False
        off = np.abs(np.angle(np.exp(1j * (known - self.heading))))
        return bool(off.min() > _ANOTHER_WAY + _DEVIATIONS * self.doubt)

    def settle(self, spot: Float[np.ndarray, "2"], heading: float) -> None:
        """Take a certain place for granted."""
        self.position, self.spread, self.doubted = spot, self._radius / 4.0, 0.0
        if not np.isfinite(heading):
            return
        if self.doubt >= _LOST:
            self.heading, self.doubt = heading, 2.0 * _FIRM
            return
        off = float(np.angle(np.exp(1j * (heading - self.heading))))
        self.heading += _FOLLOWED * off
        self.doubt = float(np.hypot((1.0 - _FOLLOWED) * self.doubt, _FOLLOWED * _FIRM))
