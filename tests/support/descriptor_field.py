"""Made-up descriptors: what an encoder would say along a drive at noon, at dusk or at night.

A place's descriptor is a smooth random function of position. A condition bends it by a linear map common to all
places, the way cooling surfaces do, and adds noise. Dusk bends it part of the way to night, so that a classifier
which learned dusk has something to say at night. Facades repeat: a share of the function has a long period.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True)
class Condition:
    """How far the appearance has turned towards night, and how noisy the camera is."""

    darkness: float
    noise: float


CONDITIONS = {
    "noon": Condition(0.0, 0.25),
    "dusk": Condition(0.7, 0.35),
    "night": Condition(1.0, 0.45),
}


@dataclass(frozen=True, slots=True)
class DescriptorField:
    """The random functions that make up an appearance."""

    frequencies: Float[np.ndarray, "2 dim"]
    phases: Float[np.ndarray, " dim"]
    cooling: Float[np.ndarray, "dim dim"]

    @classmethod
    def from_seed(
        cls, seed: int, dimension: int = 128, detail: float = 10.0, repetition: float = 0.5
    ) -> "DescriptorField":
        """Appearance changes over `detail` metres; a share `repetition` of it repeats along a street."""
        rng = np.random.default_rng(seed)
        frequencies = rng.normal(size=(2, dimension)) / detail
        repeating = rng.random(dimension) < repetition
        facade = 2 * np.pi / (4 * detail)
        frequencies[:, repeating] = facade * np.round(frequencies[:, repeating] / facade)
        cooling = rng.normal(size=(dimension, dimension)) / np.sqrt(dimension)
        return cls(frequencies, rng.uniform(0, 2 * np.pi, dimension), cooling)

    def descriptors(
        self, positions: Float[np.ndarray, "frames 2"], condition: Condition, rng: np.random.Generator
    ) -> Float[np.ndarray, "frames dim"]:
        """Unit descriptors at the positions under a condition."""
        signal = np.cos(positions @ self.frequencies + self.phases)
        bent = signal + condition.darkness * signal @ self.cooling
        noisy = bent + condition.noise * np.std(bent) * rng.normal(size=bent.shape)
        return noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
