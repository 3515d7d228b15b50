"""From what a frame looks like to an estimate: the camera is followed from frame to frame, by one of three methods."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Layout
from tmapr.fusion.capf import Fusion
from tmapr.plugins import is_plugin
from tmapr.retrieval.memory import Memory
from tmapr.tracking.gates import Gates, History, Sighting
from tmapr.tracking.model import RouteModel
from tmapr.tracking.paper_tracker import PaperTracker
from tmapr.tracking.plugin_tracker import LAYOUT as PLUGIN
from tmapr.tracking.plugin_tracker import PluginTracker
from tmapr.tracking.route_tracker import LAYOUT as ROUTE
from tmapr.tracking.route_tracker import RouteTracker
from tmapr.tracking.settings import PAPER as PAPER_METHOD
from tmapr.tracking.settings import Tracking
from tmapr.tracking.track_keeper import LAYOUT as PAPER
from tmapr.types import Estimate, Percept, Recognition

__all__ = [
    "Gates",
    "History",
    "PaperTracker",
    "PluginTracker",
    "RouteModel",
    "RouteTracker",
    "Sighting",
    "Tracker",
    "Tracking",
    "make_tracker",
    "tracker_layout",
]


@runtime_checkable
class Tracker(Protocol):
    """Owns what is carried from frame to frame."""

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""

    def answer_late(self, percept: Percept) -> Estimate | None:
        """The answer to a frame that came too late to move anything; None if its stamp is new."""

    def measure_gap(self, stamp: int) -> float:
        """Seconds since the last frame that moved time on; 0 before the first."""

    def pass_over(self, percept: Percept) -> Estimate:
        """A frame that cannot be used: time goes on, and the belief becomes less certain."""

    def advance(self, percept: Percept, recognition: Recognition) -> Estimate:
        """Judge what a usable frame looks like, and correct the belief with what is believed."""

    def score_label(self, percept: Percept, recognition: Recognition, truth: Float[np.ndarray, "2"]) -> bool:
        """Whether a labelled frame shows the map, and something else than the last one that did."""

    def expect_head(self, error: float) -> None:
        """Take the error of the pose head's validation, metres, if none was measured yet."""

    def learned(self) -> dict[str, np.ndarray]:
        """What stays when a drive ends."""

    def restore_learned(self, arrays: Arrays) -> None:
        """Take up what was learned."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes."""

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` of the same method were taken."""


def tracker_layout(method: str) -> Layout:
    """Of what a tracker's `arrays` gives."""
    return PLUGIN if is_plugin(method) else PAPER if method == PAPER_METHOD else ROUTE


def make_tracker(tracking: Tracking, fusion: Fusion, memory: Memory) -> Tracker:
    """One of the method that the settings name."""
    offer = tracking.choose_plugin()
    if offer:
        return PluginTracker(offer, tracking, fusion, memory)
    if tracking.method == PAPER_METHOD:
        return PaperTracker(tracking, fusion, memory)
    return RouteTracker(tracking, fusion, memory)
