"""The gates between a retrieved reference and the filter."""

from tmapr.gating.gates import Gating, History, Sighting
from tmapr.gating.odds import Odds, Quality
from tmapr.gating.threshold import Threshold, threshold_for_precision

__all__ = ["Gating", "History", "Odds", "Quality", "Sighting", "Threshold", "threshold_for_precision"]
