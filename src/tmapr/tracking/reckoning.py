"""Dead reckoning beside the belief: way and turns since the last certain place say which places can be meant now.

No image tells a street from its twin, but the turn that led into it does. The belief over the route knows nothing of
turns; a place that it is sure of while dead reckoning says otherwise is doubted until it was followed for a while. So
what is reckoned wrongly costs some metres, and nothing is lost for good.
"""

from dataclasses import dataclass
from math import cos, hypot, isfinite, pi, remainder, sin, sqrt

import numpy as np
from jaxtyping import Float

from tmapr.types import measure_distance

_UNSEEN_TURN = 0.1
"""Radians by which a frame may turn unseen."""
_NEW_TURN = 0.2
"""Radians that make a new view where nothing is driven."""
_LEAST_DRIVEN = 0.1
"""Share of a view's metres that is driven however much it turned."""
_DRIFT = 0.1
"""Metres of doubt a metre: views are not equally long."""
_HEADING_NOISE, _HEADING_SHARE = 0.02, 0.1
"""Radians a view, and share of a turn, by which the direction is doubted more."""
_UNTURNED = 0.3
"""Radians a view where nobody knows how the camera turned."""
_LOST = 0.5
"""Radians of doubt from which on there is no direction."""
_FIRM = 0.1
"""Radians of doubt of a mapped direction."""
_FOLLOWED = 0.2
"""Share of the way to the mapped direction that a certain place draws the reckoned one."""
_DEVIATIONS = 2.5
_ANOTHER_WAY = 0.5
"""Radians from which on two directions are two streets."""
_NEAR = 0.25
"""Places by which a certain place may be off."""
_BELIEVED = 4.0
"""Places for which one that is contradicted must be followed to be believed."""


@dataclass(slots=True)
class Turned:
    """How far the camera turned since the last view, frame by frame."""

    radians: float = 0.0
    variance: float = 0.0
    last: float = 0.0
    """The last frame's, which one that cannot be told is taken to go on with."""
    told: bool = False
    """Whether any frame could be told."""

    def add(self, turn: float | None) -> None:
        """Add a frame."""
        if turn is None:
            turn = self.last
            self.variance += _UNSEEN_TURN**2 + turn**2
        else:
            self.told = True
        self.radians, self.last = self.radians + turn, turn

    def begin_anew(self) -> "Turned":
        """For the next view."""
        return Turned(last=self.last)

    def numbers(self) -> Float[np.ndarray, "4"]:
        """Everything."""
        return np.array([self.radians, self.variance, self.last, float(self.told)])

    @classmethod
    def from_numbers(cls, numbers: Float[np.ndarray, "4"]) -> "Turned":
        """What `numbers` were taken from."""
        radians, variance, last, told = (float(value) for value in numbers)
        return cls(radians, variance, last, bool(told))


class Reckoning:
    """Where the camera is by way and turns alone, and which way it looks; nowhere before the first certain place."""

    def __init__(self, radius: float) -> None:
        self._radius = radius
        self.position: Float[np.ndarray, " xy"] | None = None
        self.heading = 0.0
        self.doubt = _LOST
        """Radians by which the heading may be wrong."""
        self.spread = 0.0
        """Metres by which the position may be."""
        self.doubted = 0.0
        """Metres for which a certain place was contradicted."""
        self._driven = 0.0

    @property
    def known(self) -> bool:
        """Whether it can say where the camera is."""
        return self.position is not None and self.doubt < _LOST

    def advance(self, turned: Turned, promised: float, told: float | None) -> None:
        """Drive to the next view: as far as odometry told, or what turning leaves of the metres that it promised."""
        if self.position is None:
            return
        turn = turned.radians if turned.told else 0.0
        grown = sqrt(turned.variance) + hypot(_HEADING_NOISE, _HEADING_SHARE * turn)
        self.doubt = min(hypot(self.doubt, grown if turned.told else _UNTURNED), _LOST)
        metres = promised * max(1.0 - abs(turn) / _NEW_TURN, _LEAST_DRIVEN) if told is None else told
        self._driven = abs(metres)
        if self.doubt < _LOST:
            middle = self.heading + turn / 2.0
            self.position = self.position + metres * np.array([cos(middle), sin(middle)])
        self.heading = (self.heading + turn) % (2.0 * pi)
        self.spread += self._driven * min(_DRIFT + self.doubt, 1.0)

    def lose_sight(self, metres: float) -> None:
        """Allow for so many metres in which nothing was seen; in more than a place's, anything may have been turned."""
        self.spread += metres
        if metres > self._radius:
            self.doubt = _LOST

    def doubts(self, spot: Float[np.ndarray, "2"], headings: Float[np.ndarray, " near"]) -> bool:
        """Whether a certain place is to be doubted, around which the mapped traverses look these ways."""
        if not self._contradicts(spot, headings):
            return False
        self.doubted += self._driven
        if self.doubted < _BELIEVED * self._radius:
            return True
        self.doubt = _LOST  # it was the reckoning that was wrong, and so may its direction be
        return False

    def _contradicts(self, spot: Float[np.ndarray, "2"], headings: Float[np.ndarray, " near"]) -> bool:
        if self.position is None:
            return False
        if measure_distance(spot, self.position) > self._radius + _DEVIATIONS * self.spread:
            return True
        if self.doubt >= _LOST:
            return False
        off = [abs(remainder(each - self.heading, 2.0 * pi)) for each in headings.tolist() if isfinite(each)]
        return bool(off) and min(off) > _ANOTHER_WAY + _DEVIATIONS * self.doubt

    def settle(self, spot: Float[np.ndarray, "2"], heading: float) -> None:
        """Take a certain place for granted, and its direction as far as it is not known better."""
        self.position, self.spread, self.doubted = spot, _NEAR * self._radius, 0.0
        if not isfinite(heading):
            return
        if self.doubt >= _LOST:
            self.heading, self.doubt = heading, 2.0 * _FIRM
            return
        self.heading += _FOLLOWED * remainder(heading - self.heading, 2.0 * pi)
        self.doubt = hypot((1.0 - _FOLLOWED) * self.doubt, _FOLLOWED * _FIRM)

    def numbers(self) -> Float[np.ndarray, " numbers"]:
        """Everything that changes; nothing before the first certain place."""
        if self.position is None:
            return np.zeros(0)
        return np.array([*self.position, self.heading, self.doubt, self.spread, self.doubted])

    def restore(self, numbers: Float[np.ndarray, " numbers"]) -> None:
        """Continue from where `numbers` were taken."""
        if not len(numbers):
            return
        if len(numbers) != 6:
            raise ValueError(f"a reckoned position has 6 numbers, not {len(numbers)}")
        self.position = np.array(numbers[:2])
        self.heading, self.doubt, self.spread, self.doubted = (float(value) for value in numbers[2:])
