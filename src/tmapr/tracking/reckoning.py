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
    frames: float = 0.0
    unseen: float = 0.0
    """Of these frames, in which nothing told the turn."""
    last: float = 0.0
    """The last frame's, which one that nothing tells is taken to go on with."""

    def add(self, turn: float | None) -> None:
        """Add a frame."""
        self.frames, self.unseen = self.frames + 1, self.unseen + (turn is None)
        self.last = self.last if turn is None else turn
        self.radians += self.last

    @property
    def open(self) -> float:
        """Share of the frames in which nothing told the turn."""
        return self.unseen / self.frames if self.frames else 1.0

    def begin_anew(self) -> "Turned":
        """For the next view."""
        return Turned(last=self.last)


class Reckoning:
    """Where the camera is by way and turns alone, and which way it looks; nowhere before the first proven place."""

    def __init__(self, radius: float, model: RouteModel) -> None:
        self._radius, self._model = radius, model
        self.position: Float[np.ndarray, " xy"] | None = None
        self.heading = 0.0
        self.doubt = model.another_way
        """Radians by which the heading may be wrong."""
        self.spread = 0.0
        """Metres by which the position may be."""
        self.doubted = 0.0
        """Metres for which a proven place was contradicted."""
        self.confirmed = model.believed * radius
        """Metres for which proven places agreed with it since it was wrong."""
        self._driven = 0.0

    @property
    def known(self) -> bool:
        """Whether it can say where the camera is."""
        return self.position is not None and self.doubt < self._model.another_way

    def advance(self, turned: Turned, metres: float) -> None:
        """Drive to the next view."""
        if self.position is None:
            return
        model, turn = self._model, turned.radians if turned.open < 1.0 else 0.0
        doubt = hypot(self.doubt, model.unseen_turn * sqrt(turned.open), model.motion_error * turn)
        self.doubt = min(doubt, model.another_way)
        self._driven = abs(metres)
        if self.known:
            middle = self.heading + turn / 2.0
            self.position = self.position + metres * np.array([cos(middle), sin(middle)])
        self.heading = (self.heading + turn) % (2.0 * pi)
        self.spread += self._driven * (model.motion_error if self.known else model.undirected)

    def doubts(self, spot: Float[np.ndarray, "2"], headings: Float[np.ndarray, " near"]) -> bool:
        """Whether a proven place is to be doubted, around which the mapped traverses look these ways."""
        if not self.contradicts(spot) and not self.looks_elsewhere(headings):
            return False
        model, self.doubted = self._model, self.doubted + self._driven
        if self.doubted < min(model.believed * self._radius, self.confirmed):
            return True
        # One of both is wrong, and nothing says which: both stay possible, and neither is confirmed.
        self.doubt, self.confirmed = model.another_way, 0.0
        if self.position is not None:
            away = measure_distance(spot, self.position)
            self.spread = max(self.spread, away / model.deviations / (1.0 - model.followed))
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
        model, known, kept = self._model, self.known, (1.0 - self._model.followed) * self.spread
        self.position, self.spread, self.doubted = spot, max(model.settled * self._radius, kept), 0.0
        self.confirmed += self._driven
        if isfinite(heading) and known:
            self.heading += model.followed * remainder(heading - self.heading, 2.0 * pi)
            self.doubt = hypot((1.0 - model.followed) * self.doubt, model.followed * model.mapped_heading)
        elif isfinite(heading):
            self.heading, self.doubt = heading, 2.0 * model.mapped_heading
