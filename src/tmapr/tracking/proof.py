"""Whether a drive is where it seems to be: how much better the map explains it than its null map does, in nats."""

from collections.abc import Sequence
from math import exp

import numpy as np
from jaxtyping import Float

from tmapr.tracking.model import RouteModel
from tmapr.tracking.route_filter import Motion, Peak
from tmapr.types import measure_distance


class Proof:
    """What was gained on the way to the last probable place; it fades, and begins anew where that was jumped to."""

    def __init__(self, radius: float, certainty: float, model: RouteModel) -> None:
        self._radius, self._certainty, self._model = radius, certainty, model
        self.nats = 0.0
        self.anchor: Float[np.ndarray, " xy"] | None = None
        """The last probable place; `_way` was driven since, and `_moved` since the last new view."""
        self._way = self._moved = 0.0

    def judge(self, peak: Peak, gain: float, motion: Motion) -> bool:
        """Whether the most probable place is where the camera is, by all that was seen on the way to it."""
        model = self._model
        self._way, self._moved = self._way + motion.metres, self._moved + motion.metres
        self.nats += gain
        if motion.new_view:  # where the camera stands, nothing fades
            self.nats *= exp(-min(self._moved, model.view) / model.proof_length)
            self._moved = 0.0
        if peak.probability < self._certainty:
            return False
        reach = self._radius + model.slack * self._way
        if self.anchor is not None and measure_distance(peak.position, self.anchor) > reach:
            self.nats = 0.0
        self.anchor, self._way = peak.position, 0.0
        return self.nats >= model.proof

    def numbers(self) -> tuple[float, float, float]:
        """Everything that changes but the anchor."""
        return self.nats, self._way, self._moved

    def restore(self, numbers: Sequence[float], anchor: Float[np.ndarray, " xy"] | None) -> None:
        """Continue from where they were taken."""
        self.nats, self._way, self._moved = numbers
        self.anchor = anchor
