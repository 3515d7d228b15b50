"""Metres and the normalised coordinates that the pose head is trained in.

Separate from the head, because a program that reads poses from an ONNX file needs it without torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from jaxtyping import Float, Float64


@dataclass(frozen=True, slots=True)
class Normaliser:
    """Normalised = (metres − center) / scale; one scale, so that a metre weighs the same along both axes."""

    center: tuple[float, float]
    scale: float

    def __post_init__(self) -> None:
        if not all(isfinite(value) for value in self.center):
            raise ValueError(f"center must be finite, got {self.center}")
        if not (isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale must be positive and finite, got {self.scale}")

    @classmethod
    def of(cls, positions: Float[np.ndarray, "n 2"]) -> "Normaliser":
        """The one that puts these positions into [−1, 1], the longer side of their bounds filling it.

        Bounds rather than mean and deviation: an hour parked at one place must not move the coordinates. Where
        all positions are one, the scale is 1 m.
        """
        if not len(positions):
            raise ValueError("cannot normalise without positions, got none")
        low = positions.min(axis=0).astype(np.float64)
        half = (positions.max(axis=0) - low) / 2
        x, y = low + half
        return cls((float(x), float(y)), float(half.max()) or 1.0)

    def normalise(self, positions: Float[np.ndarray, "n 2"]) -> Float64[np.ndarray, "n 2"]:
        """Metres to normalised coordinates."""
        return (_exact(positions) - _exact(self.center)) / self.scale

    def metres(self, normalised: Float[np.ndarray, "n 2"]) -> Float64[np.ndarray, "n 2"]:
        """Normalised coordinates to metres."""
        return _exact(normalised) * self.scale + _exact(self.center)


def _exact(values: Float[np.ndarray, "..."] | Sequence[float]) -> Float64[np.ndarray, "..."]:
    """In float64: a float32, as networks give it, resolves a northing of 4 000 km to 0.25 m."""
    return np.asarray(values, dtype=np.float64)
