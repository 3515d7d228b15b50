"""Whether a drive is where it seems to be: how much better the map explains it than its null map does, in nats."""

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
        """The last probable place; `way` was driven since, and `moved` since the last new view."""
        self.way = self.moved = 0.0
        self.held = False
        """Whether it was enough in the last frame; then less is enough to go on."""

    def judge(self, peak: Peak, gain: float, motion: Motion) -> bool:
        """Whether the most probable place is where the camera is, by all that was seen on the way to it."""
        model = self._model
        self.way, self.moved = self.way + motion.metres, self.moved + motion.metres
        self.nats += gain
        if motion.new_view:  # where the camera stands, nothing fades
            self.nats *= exp(-min(self.moved, model.view) / model.proof_length)
            self.moved = 0.0
        probable = peak.probability >= self._certainty
        if probable:
            reach = self._radius + model.slack * self.way
            if self.anchor is not None and measure_distance(peak.position, self.anchor) > reach:
                self.nats = 0.0
            self.anchor, self.way = peak.position, 0.0
        self.held = self.nats >= (model.proof_kept if self.held else model.proof)
        return self.held and probable
