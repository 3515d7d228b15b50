"""Many views at once, with weights that are known: what the recursion of eq. (2) finds view by view, in one solution.

U's direction and G's Gaussians are followed view by view, as when each was learned. K and W are then the batch solution
of the rows that came of it: no pass over W for a view, which is what the recursion costs where places are many, and no
rounding that grows with the stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.places.analytic import Ridge, find_information, solve
from tmapr.places.classifier import Classifier, refuse_minimax
from tmapr.places.features import Features
from tmapr.places.grid import Grid
from tmapr.places.mapped import Learned
from tmapr.places.mixture import Mixtures
from tmapr.places.projection import Subspace
from tmapr.places.settings import Places
from tmapr.places.unscented import Variation
from tmapr.types import Watch

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Views:
    """What is learned: descriptors with their positions and the weights of their points, in this order."""

    descriptors: Float[np.ndarray, "refs dim"]
    positions: Float[np.ndarray, "refs 2"]
    weights: Float[np.ndarray, "refs points"]

    def __len__(self) -> int:
        return len(self.positions)


def forget_all(settings: Places, fitted: Arrays, learned: Arrays) -> dict[str, np.ndarray]:
    """What an untaught classifier with the same places, under their numbers, and the same projections knows."""
    grid = Grid.from_arrays(take(learned, "grid."))
    reducer = Subspace(fitted["reducer.mean"], fitted["reducer.axes"])
    untaught = Classifier(settings, grid, settings.projection.load(fitted), reducer)
    return untaught.arrays()


def repeat(
    settings: Places, fitted: Arrays, learned: Arrays, views: Views, watch: Watch = iter
) -> tuple[Classifier, Learned]:
    """The classifier that knows what `learned` has and then learned views with their weights, and where they went."""
    refuse_minimax(settings, "learning with known weights")
    grid = Grid.from_arrays(take(learned, "grid."))
    places = np.array([grid.enter(position) for position in views.positions], dtype=np.int64)
    base = Ridge.from_arrays(take(learned, "ridge."))
    information, cross = find_information(base, np.arange(base.classes), len(grid))
    course = _Course(settings, fitted, learned)
    for rows, weights, block in course.follow(views, places, watch):
        weighted = np.sqrt(weights)[:, None] * rows
        information += weighted.T @ weighted
        sums = (weights[:, None] * rows).reshape(len(block), -1, rows.shape[1]).sum(axis=1)
        for place, total in zip(block.tolist(), sums, strict=True):
            cross[:, place] += total
    known = put("grid.", grid.arrays()) | put("ridge.", solve(information, cross, base.ridge).arrays())
    known |= course.arrays(len(grid))
    return Classifier.from_arrays(settings, fitted, known), Learned(places, views.weights)


class _Course:
    """U and G while views are learned, and the rows that each view has then."""

    def __init__(self, settings: Places, fitted: Arrays, learned: Arrays) -> None:
        self._unscented = settings.unscented if "unscented" in settings.use else None
        self._features = Features(settings.projection.load(fitted), self._unscented)
        self._reducer = Subspace(fitted["reducer.mean"], fitted["reducer.axes"])
        self._variation = Variation.from_arrays(take(learned, "variation."))
        mixed = "mixture" in settings.use
        self._mixtures = Mixtures.from_arrays(settings.mixture, take(learned, "mixtures.")) if mixed else None

    def follow(
        self, views: Views, places: Int[np.ndarray, " refs"], watch: Watch
    ) -> Iterator[tuple[Float[np.ndarray, "rows out"], Float[np.ndarray, " rows"], Int[np.ndarray, " views"]]]:
        """Rows, weights and places of some views after another."""
        for start in watch(range(0, len(views), _BLOCK)):
            block = slice(start, start + _BLOCK)
            rows = [self._see(*view) for view in zip(views.descriptors[block], places[block].tolist(), strict=True)]
            yield np.concatenate(rows), views.weights[block].reshape(-1), places[block]

    def _see(self, descriptor: Float[np.ndarray, " dim"], place: int) -> Float[np.ndarray, "points out"]:
        view = descriptor.astype(float)
        rows = self._features.make(view, self._variation.step if self._unscented else None)
        self._variation.learn(view, place)
        if self._mixtures:
            self._mixtures.learn(self._reducer(view[None])[0], place)
        return rows

    def arrays(self, places: int) -> dict[str, np.ndarray]:
        """As a classifier of so many places has them."""
        known = put("variation.", self._variation.arrays())
        if self._mixtures:
            self._mixtures.grow(places)
            known |= put("mixtures.", self._mixtures.arrays())
        return known
