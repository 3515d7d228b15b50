"""U: three sigma points along the main direction of variation within places, eq. (3).

The points are moved in descriptor space, put back on the unit sphere and only then lifted: with a linear
classifier on unmoved-back points the weighted mean of the logits would equal the centre's logit, and U would do
nothing. The direction v/‖v‖ and the variance ‖v‖ along it are estimated online by incremental principal
components without a covariance matrix:  v ← (n−1)/n · v + 1/n · δδᵀv/‖v‖.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.config import Settings

LAYOUT = {
    "means": Array("f", "capacity width"),
    "counts": Array("f", "capacity", 0),
    "direction": Array("f", "width"),
    "samples": Array("i", "", 0),
}


class Unscented(Settings):
    """U: sigma points for inference and for learning."""

    spread: float = Field(
        1.5811388300841898, gt=0, le=100, description="sigma points lie at ± spread deviations (√2.5)"
    )
    center_weight: float = Field(0.6, gt=0, lt=1, description="w₀ᵐ of inference; the others share the rest")
    side_share: float = Field(0.35, gt=0, le=1e3, description="update weight of a side point, the center's being 1")
    on_sphere: bool = Field(
        True, description="points go back to unit length; false: they stay symmetric, whose mean logit is the center's"
    )

    @property
    def mean_weights(self) -> Float[np.ndarray, "3"]:
        """Quadrature weights of the logits; they sum to 1."""
        side = (1.0 - self.center_weight) / 2
        return np.array([self.center_weight, side, side])

    @property
    def update_weights(self) -> Float[np.ndarray, "3"]:
        """What the points of one sample weigh when it is learned."""
        return np.array([1.0, self.side_share, self.side_share])

    def points(
        self, descriptor: Float[np.ndarray, " dim"], step: Float[np.ndarray, " dim"]
    ) -> Float[np.ndarray, "3 dim"]:
        """The descriptor and its two neighbours along the main variation, whose `Variation.step` it is."""
        side = self.spread * step
        points = np.stack([descriptor, descriptor + side, descriptor - side])
        if not self.on_sphere:
            return points
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        # A step of exactly the descriptor's length through the origin has no direction; it stays at the center.
        return np.where(lengths > 0, points / np.maximum(lengths, np.finfo(float).tiny), descriptor)


class Variation:
    """How descriptors vary within a place: running means of the places, and the main direction around them."""

    def __init__(self, dim: int) -> None:
        self._means = np.zeros((0, dim))
        self._counts = np.zeros(0)
        self._direction = np.zeros(dim)
        self._samples = 0

    @property
    def width(self) -> int:
        """The length of a descriptor."""
        return len(self._direction)

    @property
    def step(self) -> Float[np.ndarray, " dim"]:
        """One standard deviation along the main direction; zero before any place was seen twice."""
        length = float(np.linalg.norm(self._direction))
        return self._direction / np.sqrt(length) if length > 0 else np.zeros(self.width)

    def learn(self, descriptor: Float[np.ndarray, " dim"], place: int) -> None:
        """Absorb one descriptor of a place."""
        self._grow(place + 1)
        seen = self._counts[place]
        deviation = descriptor - self._means[place]
        self._counts[place] = seen + 1
        self._means[place] += deviation / (seen + 1)
        if seen:
            # The deviation from a mean of n samples is too large by √((n+1)/n); taking that out makes it unbiased.
            self._turn(deviation * np.sqrt(seen / (seen + 1)))

    def _turn(self, deviation: Float[np.ndarray, " dim"]) -> None:
        self._samples += 1
        length = float(np.linalg.norm(self._direction))
        if length > 0:
            pull = deviation * float(deviation @ self._direction) / length
        else:
            pull = deviation * float(np.linalg.norm(deviation))
        self._direction += (pull - self._direction) / self._samples

    def _grow(self, places: int) -> None:
        missing = places - len(self._counts)
        if missing > 0:
            extra = max(missing, len(self._counts))
            self._means = np.vstack([self._means, np.zeros((extra, self._means.shape[1]))])
            self._counts = np.concatenate([self._counts, np.zeros(extra)])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs to continue bit for bit."""
        return {
            "means": self._means,
            "counts": self._counts,
            "direction": self._direction,
            "samples": np.array(self._samples),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Variation":
        """The variation that `arrays` described."""
        variation = cls(arrays["means"].shape[1])
        variation._means = np.array(arrays["means"])
        variation._counts = np.array(arrays["counts"])
        variation._direction = np.array(arrays["direction"])
        variation._samples = int(arrays["samples"])
        return variation


def pool(
    parts: Sequence[Variation], columns: Sequence[Int[np.ndarray, " _"]], shares: Sequence[float], classes: int
) -> Variation:
    """Join variations by moments: an approximation, since the direction was followed along each stream alone.

    A part counts `shares` times: the base of n merged states is in each of them and counts 1 − n times itself.
    """
    pooled = Variation(parts[0]._means.shape[1])
    pooled._grow(classes)
    samples = 0.0
    for part, target, share in zip(parts, columns, shares, strict=True):
        seen = target[: len(part._counts)]  # behind them are places that it never learned
        counts = share * part._counts[: len(seen)]
        pooled._means[seen] += counts[:, None] * part._means[: len(seen)]
        pooled._counts[seen] += counts
        # The sign of a direction is arbitrary; turn them the same way before they are added.
        sign = -1.0 if float(part._direction @ parts[0]._direction) < 0 else 1.0
        pooled._direction += share * sign * part._samples * part._direction
        samples += share * part._samples
    pooled._means /= np.maximum(pooled._counts, 1.0)[:, None]
    pooled._samples = round(samples)
    pooled._direction /= max(pooled._samples, 1)
    return pooled
