"""The ellipse that holds the camera with 95 %, as a covariance states it: (p − m)ᵀ C⁻¹ (p − m) = χ²."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.data.poses import turn_between
from tmapr.reports.reported import ReportedSequence
from tmapr.types import CHI2_95


@dataclass(frozen=True, slots=True)
class Ellipses:
    """Of every frame the longer and the shorter semi-axis, in metres, and the direction of the longer, in radians."""

    longer: Float[np.ndarray, " n"]
    shorter: Float[np.ndarray, " n"]
    angles: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, covariances: Float[np.ndarray, "n 2 2"]) -> "Ellipses":
        """From covariances in square metres."""
        variances, axes = np.linalg.eigh(covariances)
        shorter, longer = np.sqrt(CHI2_95 * variances).T
        return cls(longer, shorter, np.arctan2(axes[:, 1, 1], axes[:, 0, 1]))


def state_ellipses(sequence: ReportedSequence) -> Ellipses:
    """The ellipses of a sequence, turned as its track was where it was fitted to the truth."""
    stated = Ellipses.of(sequence.table.covariances)
    tracks = (sequence.table.positions, sequence.fused.values)
    before, after = (positions - positions.mean(axis=0) for positions in tracks)
    return Ellipses(stated.longer, stated.shorter, stated.angles + turn_between(before, after))
