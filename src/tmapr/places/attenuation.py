"""H∞: how much of a surprising sample to believe, eq. (4), and the minimax recursion it is named after.

`weight` is the paper's clipped weight. At the paper's numbers it stays within some hundredths of 1, so it
changes little; docs/method.md says so. `minimax` is the H∞ recursion itself: with
K⁻¹ += (1 − γ⁻²) zzᵀ the energy of all a-posteriori errors is at most γ² times that of the initial error and the
noise together, whatever the noise is. γ → ∞ is ridge, γ = 1 is normalised least mean squares. It is not a ridge
solution, so merging and unlearning are refused there.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from tmapr.config import Settings


class Attenuation(Settings):
    """H∞: how much of a surprising sample to believe."""

    mode: Literal["weight", "minimax"] = Field("weight", description="the paper's weight, or the H∞ recursion")
    bound: float = Field(5.0, gt=0, description="γ: residual level at which attenuation sets in (weight)")
    gain: float = Field(0.1, ge=0, description="η: how fast the weight falls with the residual (weight)")
    floor: float = Field(0.9, gt=0, le=1, description="w_min: smallest weight a sample can get (weight)")
    level: float = Field(1.5, ge=1, description="γ: bound on the gain from disturbance to error (minimax)")

    def weight(self, residual: Float[np.ndarray, " classes"]) -> float:
        """Weight of a sample whose predicted response misses its target by `residual`."""
        if self.mode == "minimax":
            return 1.0
        raw = self.bound / (self.bound + self.gain * float(np.linalg.norm(residual)))
        return min(max(raw, self.floor), 1.0)

    @property
    def information(self) -> float:
        """The share of a sample that K⁻¹ gains."""
        return 1.0 - self.level**-2 if self.mode == "minimax" else 1.0
