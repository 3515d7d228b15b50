"""From what a frame looks like to an estimate: the camera is followed from frame to frame, by one of three methods."""

from tmapr.artifacts.layout import Layout
from tmapr.fusion.capf import Fusion
from tmapr.plugins import is_plugin
from tmapr.retrieval.memory import Memory
from tmapr.tracking.gates import Gates, History, Sighting
from tmapr.tracking.model import RouteModel
from tmapr.tracking.paper_tracker import LAYOUT as PAPER
from tmapr.tracking.paper_tracker import PaperTracker
from tmapr.tracking.plugin_tracker import LAYOUT as PLUGIN
from tmapr.tracking.plugin_tracker import PluginTracker
from tmapr.tracking.route_tracker import LAYOUT as ROUTE
from tmapr.tracking.route_tracker import RouteTracker
from tmapr.tracking.settings import PAPER as PAPER_METHOD
from tmapr.tracking.settings import Tracking
from tmapr.tracking.tracker import Tracker

__all__ = [
    "Gates",
    "History",
    "PaperTracker",
    "RouteModel",
    "RouteTracker",
    "Sighting",
    "Tracker",
    "Tracking",
    "make_tracker",
    "tracker_layout",
]


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
