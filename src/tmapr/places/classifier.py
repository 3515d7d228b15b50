"""A_t: the analytic place classifier with any of its extensions U, G and H.

`predict` never changes it; `learn` (and `unlearn`, its exact reverse for K and W) is the only thing that does, with
`adopt` and `relearn` for what was learned before. All may be called from different threads. To learn the descriptor
that was predicted last costs less and gives the same (features.py, analytic.py).
"""

from collections.abc import Iterable, Sequence
from threading import Lock

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays, digest, put, take
from tmapr.artifacts.layout import Array
from tmapr.exceptions import InputError, StateError
from tmapr.inputs import read_position
from tmapr.places import analytic, lessons, mixture, sums, unscented
from tmapr.places.analytic import Ridge
from tmapr.places.features import Features
from tmapr.places.grid import LAYOUT as CELLS
from tmapr.places.grid import Grid
from tmapr.places.lessons import Kept, Ledger, Lesson, check_lesson, check_next
from tmapr.places.matrices import MakeMatrices, TiledMatrices
from tmapr.places.mixture import Mixtures
from tmapr.places.projection import Projector, Subspace, fit_subspace
from tmapr.places.settings import Extension as Extension
from tmapr.places.settings import Places as Places
from tmapr.places.sums import Sums
from tmapr.places.unscented import Variation
from tmapr.types import PlaceScores

FITTED = {
    "width": Array("i", "", 1),
    "reducer.mean": Array("f", "width"),
    "reducer.axes": Array("f", "width reduced"),
    "projector.mean": Array("f", "width", optional=True),
    "projector.axes": Array("f", "width features", optional=True),
}
"""Of what `projection_arrays` gives."""


class Classifier:
    """The parts of A_t composed. An extension that is not in use is None."""

    def __init__(
        self,
        settings: Places,
        grid: Grid,
        projector: Projector,
        reducer: Subspace,
        make_matrices: MakeMatrices = TiledMatrices,
    ) -> None:
        self.grid = grid
        self._settings = settings
        self._projector = projector
        self._reducer = reducer
        self._make_matrices = make_matrices
        self._ridge = Ridge(projector.dimension, settings.ridge, len(grid), make_matrices)
        self._unscented = settings.unscented if "unscented" in settings.use else None
        self._features = Features(projector, self._unscented)
        self._variation = Variation(projector.width)
        self._mixtures = Mixtures(settings.mixture, reducer.dimension) if "mixture" in settings.use else None
        self._reduced: tuple[Float[np.ndarray, " dim"], Float[np.ndarray, " small"]] | None = None
        self._attenuation = settings.attenuation if "attenuation" in settings.use else None
        self._ledger = Ledger()
        self._lock = Lock()

    @classmethod
    def fit(
        cls,
        settings: Places,
        descriptors: Float[np.ndarray, "refs dim"],
        positions: Float[np.ndarray, "refs 2"],
    ) -> "Classifier":
        """An untaught classifier whose grid and projections suit a reference traverse."""
        return cls(
            settings,
            Grid.from_traverse(positions, settings.cell),
            settings.projection.fit(descriptors),
            fit_subspace(descriptors, settings.mixture.dimension),
        )

    @property
    def dimension(self) -> int:
        """The length of the descriptors it takes."""
        return self._projector.width

    @property
    def ridge(self) -> Ridge:
        """K and W."""
        return self._ridge

    def predict(self, descriptor: Float[np.ndarray, " dim"]) -> PlaceScores:
        """Score every place; changes nothing."""
        with self._lock:
            seen = self._ridge.observe(self._features.keep(descriptor, self._variation.step))
            logits = seen.responses
            # A copy, also where it is one row: a program may change what it is given.
            scores = self._unscented.mean_weights @ logits if self._unscented else logits[0].copy()
            if not self._mixtures:
                return PlaceScores(scores, seen.leverage)
            likelihoods = self._mixtures.log_likelihoods(self._reduce(descriptor))
            return PlaceScores(scores, seen.leverage, likelihoods, self._mixtures.find_posterior(likelihoods))

    def learn(self, descriptor: Float[np.ndarray, " dim"], position: Float[np.ndarray, "2"]) -> Lesson:
        """Absorb a descriptor seen at a position; a position in a new cell adds a place."""
        position = read_position(position, "the lesson's position")
        if descriptor.shape != (self.dimension,) or not np.isfinite(descriptor).all():
            raise InputError(f"a lesson must be finite; the descriptor of the one at {position.tolist()} is not")
        with self._lock:
            step = self._variation.step if self._unscented else None
            rows = self._features.take(descriptor, step)
            place = self.grid.enter(position)
            self._ridge.grow(len(self.grid))
            share = self._unscented.update_weights if self._unscented else np.full(1, self._settings.weight)
            weights = share * self._attenuation_weight(rows, place)
            self._absorb(descriptor, rows, weights, place)
            # A copy: a program may fill its array with the next frame.
            kept = np.array(descriptor, dtype=float)
            return self._ledger.enter(rows, weights, place, self.grid.cell_at(position), kept, step)

    def follow(
        self, descriptor: Float[np.ndarray, " dim"], position: Float[np.ndarray, "2"]
    ) -> tuple[int, Float[np.ndarray, " dim"] | None]:
        """Learn all but K and W, which `complete` takes from sums; the place, and U's step before this lesson."""
        position = read_position(position, "the lesson's position")
        with self._lock:
            step = self._variation.step if self._unscented else None
            place = self.grid.enter(position)
            self._note(descriptor, place)
            return place, step

    def complete(self, parts: Iterable[Sums]) -> None:
        """Take K and W from sums over all that was followed, in its order."""
        refuse_minimax(self._settings, "learning in parts")
        with self._lock:
            self._ridge = sums.solve(self._settings.ridge, self._projector.dimension, parts, len(self.grid))

    def adopt(self, lesson: Lesson, descriptor: Float[np.ndarray, " dim"]) -> None:
        """Absorb what a copy of this classifier learned, with its rows, weights and name: unlearned in both as one."""
        with self._lock:
            place = self.grid.enter_cell(lesson.cell)
            self._absorb(descriptor, lesson.rows, lesson.weights, place)
            self._ledger.adopt(lesson)

    def relearn(self, lesson: Lesson) -> None:
        """Absorb once more what was learned in this very state: all becomes what it was then, bit for bit."""
        with self._lock:
            check_next(lesson, self._ledger, self.grid, self._ridge.dim)
            place = self.grid.enter_cell(lesson.cell)
            self._absorb(lesson.descriptor, lesson.rows, lesson.weights, place)
            self._ledger.enter(lesson.rows, lesson.weights, place, lesson.cell, lesson.descriptor, lesson.step)

    def rebuild(self, kept: Kept) -> Lesson:
        """The lesson that something was kept of, with its rows as they were; learned by this map's classifiers only."""
        return kept.rebuild(self._features.make(kept.descriptor, kept.step))

    def _absorb(
        self,
        descriptor: Float[np.ndarray, " dim"],
        rows: Float[np.ndarray, "k out"],
        weights: Float[np.ndarray, " k"],
        place: int,
    ) -> None:
        self._ridge.grow(len(self.grid))
        information = self._attenuation.information if self._attenuation else 1.0
        self._ridge.learn(rows, self._targets(len(rows), place), weights, information)
        self._note(descriptor, place)

    def _note(self, descriptor: Float[np.ndarray, " dim"], place: int) -> None:
        """What U and G make of a descriptor."""
        self._variation.learn(descriptor, place)
        if self._mixtures:
            self._mixtures.grow(len(self.grid))
            self._mixtures.learn(self._reduce(descriptor), place)

    @property
    def ledger(self) -> Ledger:
        """What is in it, by name."""
        return self._ledger

    def holds(self, lesson: Lesson) -> bool:
        """Whether a lesson is in it."""
        with self._lock:
            return self._ledger.holds(lesson.name)

    def continue_from(self, learned: Arrays) -> "Classifier":
        """One of the same map that knows what `arrays` of another described."""
        return Classifier.from_arrays(self._settings, self.projection_arrays(), learned, self._make_matrices)

    def move(self, make_matrices: MakeMatrices) -> "Classifier":
        """The same with K and W elsewhere."""
        return Classifier.from_arrays(self._settings, self.projection_arrays(), self.arrays(), make_matrices)

    def return_to(self, other: "Classifier") -> None:
        """Know what another one of the same map knows, bit for bit; afterwards each goes its own way."""
        again = self.continue_from(other.arrays())
        with self._lock:
            self.grid, self._ledger, self._ridge = again.grid, again._ledger, again._ridge
            self._variation, self._mixtures = again._variation, again._mixtures

    def unlearn(self, lesson: Lesson) -> None:
        """Take a lesson back: exact for K and W. U's direction and G's Gaussians keep their summary of it."""
        refuse_minimax(self._settings, "unlearning")
        with self._lock:
            check_lesson(lesson, self.grid, self._ridge.dim)
            entry = self._ledger.find(lesson.name)
            place = self.grid.enter_cell(lesson.cell)
            self._ridge.unlearn(lesson.rows, self._targets(len(lesson.rows), place), lesson.weights)
            self._ledger.strike(entry)

    def neighbourhood(self, places: Sequence[int]) -> list[int]:
        """The places and those around them."""
        return self.grid.around(places)

    def _reduce(self, descriptor: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " small"]:
        """The last one is kept: a frame that is observed and then learned is reduced once."""
        if self._reduced is None or not np.array_equal(self._reduced[0], descriptor):
            self._reduced = np.array(descriptor), self._reducer(descriptor[None])[0]
        return self._reduced[1]

    def _targets(self, count: int, place: int) -> Float[np.ndarray, "k classes"]:
        targets = np.zeros((count, self._ridge.classes))
        targets[:, place] = 1.0
        return targets

    def _attenuation_weight(self, rows: Float[np.ndarray, "k out"], place: int) -> float:
        if not self._attenuation:
            return 1.0
        return self._attenuation.weight(self._targets(1, place)[0] - self._ridge.observe(rows).responses[0])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything learned; what was fitted at mapping time is in `projection_arrays`."""
        with self._lock:
            learned = put("grid.", self.grid.arrays()) | put("ridge.", self._ridge.arrays())
            learned |= put("variation.", self._variation.arrays()) | put("ledger.", self._ledger.arrays())
            if self._mixtures:
                learned |= put("mixtures.", self._mixtures.arrays())
            # A copy: the caller may write it to disk while the next lesson is learned.
            return {name: np.array(array) for name, array in learned.items()}

    def projection_arrays(self) -> dict[str, np.ndarray]:
        """What was fitted to the reference descriptors; a lift is made again from its seed."""
        fitted = {"width": np.array(self.dimension)}
        fitted |= {"reducer.mean": self._reducer.mean, "reducer.axes": self._reducer.axes}
        if isinstance(self._projector, Subspace):
            fitted |= {"projector.mean": self._projector.mean, "projector.axes": self._projector.axes}
        return fitted

    @staticmethod
    def layout(settings: Places) -> dict[str, Array]:
        """Of what `arrays` gives with these settings."""
        learned = put("grid.", CELLS) | put("ridge.", analytic.LAYOUT) | put("variation.", unscented.LAYOUT)
        return learned | put("mixtures.", mixture.LAYOUT) if "mixture" in settings.use else learned

    @classmethod
    def from_arrays(
        cls, settings: Places, fitted: Arrays, learned: Arrays, make_matrices: MakeMatrices = TiledMatrices
    ) -> "Classifier":
        """The classifier that the arrays described; ValueError where they do not belong together."""
        projector = settings.projection.load(fitted)
        reducer = Subspace(fitted["reducer.mean"], fitted["reducer.axes"])
        classifier = cls(settings, Grid.from_arrays(take(learned, "grid.")), projector, reducer)
        classifier._make_matrices = make_matrices
        classifier._ridge = Ridge.from_arrays(take(learned, "ridge."), make_matrices)
        classifier._variation = Variation.from_arrays(take(learned, "variation."))
        if classifier._mixtures:
            classifier._mixtures = Mixtures.from_arrays(settings.mixture, take(learned, "mixtures."))
        ledger = take(learned, "ledger.")
        # A₀ has none: what it learned is known by its sum alone.
        classifier._ledger = Ledger.from_arrays(ledger) if ledger else Ledger(classifier._ridge.weights.tobytes())
        classifier._refuse_mixture()
        return classifier

    def _refuse_mixture(self) -> None:
        """Refuse parts that are each what they should be, and do not belong together."""
        widths = {self.dimension, self._reducer.width, self._variation.width}
        if self._ridge.dim != self._projector.dimension or len(widths) > 1:
            raise ValueError(f"{self._ridge.dim} features of descriptors with {sorted(widths)} numbers")
        if self.grid.cell != self._settings.cell or self._ridge.ridge != self._settings.ridge:
            raise ValueError("they were made with another cell or ridge")


def refuse_minimax(settings: Places, action: str) -> None:
    """Some actions need K and W to be a ridge solution."""
    if "attenuation" in settings.use and settings.attenuation.mode == "minimax":
        raise InputError(
            f"{action} needs a ridge solution, which the minimax recursion is not;"
            ' set places.attenuation.mode = "weight" and map again'
        )


def merge(
    states: Sequence[Classifier], base: Classifier, held: Sequence[Classifier | None] | None = None
) -> Classifier:
    """Join what several robots learned with one mapped base.

    K and W are exactly those of one robot that saw the base and every stream with their recorded weights. U's
    direction and G's Gaussians are pooled by moments, which is an approximation. Places are united by cell. Each
    lesson of each robot can be unlearned in the result. `held` is what the base has of each state already: an earlier
    state of that robot, or None where it grew from this base.
    """
    refuse_minimax(base._settings, "merging")
    if not states:
        raise InputError("there is no state to merge with the base")
    known = held or [None] * len(states)
    for state, own in zip(states, known, strict=True):
        _check_common(state, own or base)
    grid = Grid.from_arrays(base.grid.arrays())
    columns = [_enter_cells(grid, state.grid) for state in states]
    gone = [(own, _enter_cells(grid, own.grid)) if own else None for own in known]
    merged = Classifier(base._settings, grid, base._projector, base._reducer)
    ridges = [(part[0]._ridge, part[1]) if part else None for part in gone]
    merged._ridge = analytic.merge([state._ridge for state in states], columns, base._ridge, len(grid), ridges)
    taken = [part for part in gone if part]
    everyone = [base, *states, *(own for own, _ in taken)]
    targets = [np.arange(len(base.grid)), *columns, *(target for _, target in taken)]
    shares = [1.0 - len(states) + len(taken), *np.ones(len(states)).tolist(), *[-1.0] * len(taken)]
    merged._variation = unscented.pool([state._variation for state in everyone], targets, shares, len(grid))
    if merged._mixtures:
        mixtures = [state._mixtures for state in everyone if state._mixtures]
        merged._mixtures = mixture.pool(mixtures, targets, shares, len(grid))
    ledgers = [own._ledger if own else None for own in known]
    merged._ledger = lessons.pool([state._ledger for state in states], base._ledger, ledgers)
    return merged


def _enter_cells(grid: Grid, other: Grid) -> Int[np.ndarray, " classes"]:
    return np.array([grid.enter_cell((column, row)) for column, row in other.cells.tolist()], dtype=np.int64)


def _check_common(state: Classifier, base: Classifier) -> None:
    if state._settings != base._settings:
        raise InputError("states with different places settings cannot be merged; map once and share that map")
    if digest(state.projection_arrays()) != digest(base.projection_arrays()):
        raise InputError("states from different maps cannot be merged: their projections differ")
    origins = np.array_equal(state.grid.origin, base.grid.origin)
    shared = state.grid.cells[: len(base.grid)]
    if not origins or not np.array_equal(shared, base.grid.cells):
        raise StateError("a state does not start with the base's places; was it grown from this base?")
