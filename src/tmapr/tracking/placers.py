"""What a tracker asks of who places frames along the route, here or on a device."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays
from tmapr.tracking.around import Around
from tmapr.tracking.evidence import Scale, weigh
from tmapr.tracking.head import HeadTrust
from tmapr.tracking.placing import Placing
from tmapr.tracking.reckoning import Reckoning
from tmapr.tracking.route import Route
from tmapr.tracking.smoothing import View
from tmapr.types import Comparison, Odometry, Percept


@runtime_checkable
class Masses(Protocol):
    """What is believed of each reference along the route."""

    @property
    def share(self) -> Float[np.ndarray, " refs"]:
        """Of the whole way, what each reference owns."""

    @property
    def where(self) -> Float[np.ndarray, " refs"]:
        """Probability of each reference."""

    def list_modes(self) -> tuple[Float[np.ndarray, "points 2"], Float[np.ndarray, " points"]]:
        """Points where the camera may be, with probabilities."""


@runtime_checkable
class Places(Protocol):
    """Owns the belief over the route and what was learned of evidence and pose head."""

    route: Route
    radius: float
    around: Around
    scale: Scale
    head: HeadTrust
    reckoning: Reckoning
    view: View | None
    """What is believed of the frame just observed, if it was a new view."""

    @property
    def filter(self) -> Masses:
        """The belief by now."""

    def new_drive(self) -> None:
        """Forget where the camera is; what was learned stays."""

    def start_around(self, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Near a position somebody told."""

    def note_motion(self, motion: Odometry | None, seconds: float) -> None:
        """Add the way since the last frame, if anything measured it."""

    def note_turn(self, turn: float | None) -> None:
        """Add the turn since the last frame that could be used, in radians, if anything told it."""

    def observe(self, percept: Percept, compared: Comparison, head: Float[np.ndarray, "2"] | None) -> Placing:
        """Take in a usable frame."""

    def learn(self, percept: Percept, compared: Comparison, truth: Float[np.ndarray, "2"]) -> bool:
        """Score a labelled frame before it is learned. Whether it is a new view."""

    def learned(self) -> dict[str, np.ndarray]:
        """What stays when a drive ends."""

    def restore_learned(self, arrays: Arrays) -> None:
        """Take up what was learned."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` were taken."""


def weigh_route(compared: Comparison | None, placer: Places | None) -> Float[np.ndarray, " refs"]:
    """The log-evidence of each reference along the route, of a view that was compared with all of them."""
    if compared is None or placer is None:
        raise ValueError("views are weighed by the route filter, in a map that is searched")
    return weigh(compared.take(placer.route.rows), placer.filter.share, placer.scale.weights)
