"""How retrieved references are followed from frame to frame: which of them are believed, and why."""

from tmapr.tracking.gates import Gates, History, Sighting
from tmapr.tracking.settings import Tracking
from tmapr.tracking.threshold import Threshold, threshold_for_precision

__all__ = ["Gates", "History", "Sighting", "Threshold", "Tracking", "threshold_for_precision"]
