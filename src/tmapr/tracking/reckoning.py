"""Dead reckoning beside the belief: way and turns since the last proven place say which places can be meant now.

No image tells a street from its twin, but the turn that led into it does. The filter knows nothing of turns; a place
that is proven while dead reckoning says otherwise is doubted until it was followed for a while. So what is reckoned
wrongly costs some metres, and nothing is lost for good.
"""

from dataclasses import dataclass
from math import cos, hypot, isfinite, pi, remainder, sin, sqrt

import numpy as np
from jaxtyping import Float

from tmapr.tracking.model import RouteModel
from tmapr.types import measure_distance


@dataclass(slots=True)
class Turned:
    """How far the camera turned since the last view, frame by frame."""

    radians: float = 0.0
    variance: float = 0.0
    last: float = 0.0
    """The last frame's, which one that cannot be told is taken to go on with."""
    told: float = 0.0
    """1 if any frame could be told."""

    def add(self, turn: float | None, unseen: float) -> None:
        """Add a frame."""
        if turn is None:
            turn = self.last
            self.variance += unseen**2 + turn**2
        else:
            self.told = 1.0
        self.radians, self.last = self.radians + turn, turn

    def begin_anew(self) -> "Turned":
        """For the next view."""
        return Turned(last=self.last)


class Reckoning:
    """Where the camera is by way and turns alone, and which way it looks; nowhere before the first proven place."""

    def __init__(self, radius: float, model: RouteModel) -> None:
        self._radius, self._model = radius, model
        self.position: Float[np.ndarray, " xy"] | None = None
        self.heading = 0.0
        self.doubt = model.unknown_heading
        """Radians by which the heading may be wrong."""
        self.spread = 0.0
        """Metres by which the position may be."""
        self.doubted = 0.0
        """Metres for which a proven place was contradicted."""
        self._driven = 0.0

    @property
    def known(self) -> bool:
        """Whether it can say where the camera is."""
        return self.position is not None and self.doubt < self._model.unknown_heading

    def advance(self, turned: Turned, metres: float) -> None:
        """Drive to the next view."""
        if self.position is None:
            return
        model, turn = self._model, turned.radians if turned.told else 0.0
        noise = sqrt(turned.variance) + hypot(model.turn_noise, model.turn_error * turn)
        self.doubt = min(hypot(self.doubt, noise if turned.told else model.unturned), model.unknown_heading)
        self._driven = abs(metres)
        if self.known:
            middle = self.heading + turn / 2.0
            self.position = self.position + metres * np.array([cos(middle), sin(middle)])
        self.heading = (self.heading + turn) % (2.0 * pi)
        self.spread += self._driven * (model.drift if self.known else model.undirected)

    def doubts(self, spot: Float[np.ndarray, "2"], headings: Float[np.ndarray, " near"]) -> bool:
        """Whether a proven place is to be doubted, around which the mapped traverses look these ways."""
        if not self.contradicts(spot) and not self.looks_elsewhere(headings):
            return False
        self.doubted += self._driven
        if self.doubted < self._model.believed * self._radius:
            return True
        self.doubt = self._model.unknown_heading  # it was the reckoning that was wrong, and so may its direction be
        return False

    def contradicts(self, spot: Float[np.ndarray, "2"]) -> bool:
        """Whether a place is too far from where the camera is reckoned to be."""
        reach = self._radius + self._model.deviations * self.spread
        return self.position is not None and measure_distance(spot, self.position) > reach

    def looks_elsewhere(self, headings: Float[np.ndarray, " near"], turned: float = 0.0) -> bool:
        """Whether the camera, `turned` since the last view, looks another way than all of these."""
        off = [abs(remainder(each - self.heading - turned, 2.0 * pi)) for each in headings.tolist() if isfinite(each)]
        return self.known and bool(off) and min(off) > self._model.another_way + self._model.deviations * self.doubt

    def settle(self, spot: Float[np.ndarray, "2"], heading: float) -> None:
        """Take a proven place for granted, and its direction as far as it is not known better."""
        model, known = self._model, self.known
        self.position, self.spread, self.doubted = spot, model.settled * self._radius, 0.0
        if not isfinite(heading):
            return
        if not known:
            self.heading, self.doubt = heading, 2.0 * model.mapped_heading
            return
        self.heading += model.followed * remainder(heading - self.heading, 2.0 * pi)
        self.doubt = hypot((1.0 - model.followed) * self.doubt, model.followed * model.mapped_heading)
