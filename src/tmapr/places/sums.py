"""K and W in parts: over any frames, A = K⁻¹ and Q = K⁻¹W are sums, so that parts of a map may be learned anywhere.

    A = λI + Σ Xᵀ diag(w) X,    Q = Σ Xᵀ diag(w) Y,    K = A⁻¹,    W = K Q

What is summed of a part follows from it alone, and parts are added in their order: the result has the same bits whoever
sums which part, and is that of the recursion given the same rows and weights. Rows are those of mapping one frame after
the other, since U's step is given with each descriptor. H's weights are not: they tell how surprising a frame is, and a
part knows no other. They are recorded.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.places import analytic
from tmapr.places.analytic import Ridge
from tmapr.places.features import Features
from tmapr.places.projection import Projector
from tmapr.places.settings import Places
from tmapr.places.triangle import from_dense, identity_tiles, to_dense

LAYOUT = {
    "tiles": Array("f", "tiles"),
    "cross": Array("f", "features places"),
    "places": Array("i", "places", 0),
    "weights": Array("f", "frames rows", 0),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Frames to be learned in their order, each with U's step as it was before it; without U there are none."""

    descriptors: Float[np.ndarray, "frames dim"]
    steps: Float[np.ndarray, "frames dim"] | None
    places: Int[np.ndarray, " frames"]


@dataclass(frozen=True, slots=True)
class Sums:
    """What K⁻¹ and K⁻¹W gain by a part, the latter in the columns of its `places`, and the weight of every row."""

    tiles: Float[np.ndarray, " size"]
    """Xᵀ diag(w) X, the lower triangle."""
    cross: Float[np.ndarray, "features places"]
    places: Int[np.ndarray, " places"]
    weights: Float[np.ndarray, "frames rows"]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs."""
        return {"tiles": self.tiles, "cross": self.cross, "places": self.places, "weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Sums":
        """The sums that `arrays` described."""
        return cls(arrays["tiles"], arrays["cross"], arrays["places"], arrays["weights"])


def sum_part(settings: Places, projector: Projector, part: Part) -> Sums:
    """What a part adds."""
    rows = make_rows(settings, projector, part)
    places, columns = np.unique(part.places, return_inverse=True)
    weights = _weigh(settings, rows, columns, len(places))
    count = weights.shape[1]
    X, w = rows.reshape(-1, projector.dimension), weights.reshape(-1, 1)
    scaled = np.sqrt(w) * X
    Y = np.zeros((len(X), len(places)))
    Y[np.arange(len(X)), np.repeat(columns, count)] = 1.0
    return Sums(from_dense(scaled.T @ scaled, 0.0), (w * X).T @ Y, places, weights)


def make_rows(settings: Places, projector: Projector, part: Part) -> Float[np.ndarray, "frames rows out"]:
    """The classifier's rows for each frame."""
    features = Features(projector, settings.unscented if "unscented" in settings.use else None)
    steps = part.steps if part.steps is not None else [None] * len(part.descriptors)
    return np.stack([features.make(descriptor, step) for descriptor, step in zip(part.descriptors, steps, strict=True)])


def _weigh(
    settings: Places,
    rows: Float[np.ndarray, "frames rows out"],
    columns: Int[np.ndarray, " frames"],
    classes: int,
) -> Float[np.ndarray, "frames rows"]:
    """The weights that a recursion over this part alone gives; without H there is nothing to recur."""
    share = settings.unscented.update_weights if "unscented" in settings.use else np.full(1, settings.weight)
    weights = np.tile(share, (len(rows), 1))
    if "attenuation" not in settings.use:
        return weights
    ridge, targets = Ridge(rows.shape[2], settings.ridge, classes), np.eye(classes)
    for row, column in enumerate(columns.tolist()):
        target, points = targets[column], rows[row]
        weights[row] *= settings.attenuation.weight(target - ridge.observe(points).responses[0])
        ridge.learn(points, np.tile(target, (len(points), 1)), weights[row])
    return weights


def solve(ridge: float, features: int, parts: Iterable[Sums], classes: int) -> Ridge:
    """K and W of all parts, which are added in the order in which they come."""
    tiles, Q = identity_tiles(features, ridge), np.zeros((features, classes))
    for part in parts:
        if part.tiles.shape != tiles.shape or len(part.cross) != features:
            raise ValueError(f"sums over {len(part.cross)} features, wanted {features}")
        tiles += part.tiles
        Q[:, part.places] += part.cross
    return analytic.solve(to_dense(tiles, features), Q, ridge)
