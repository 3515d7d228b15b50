"""Confidence-aware position fusion: APR positions and accepted references become one belief."""

from tmapr.fusion.capf import Correction, Fusion

__all__ = ["Correction", "Fusion"]
