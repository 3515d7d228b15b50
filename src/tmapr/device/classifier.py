"""A_t on a device behind the protocol of `places.classifier.Classifier`: NumPy in and out, K, W, U and G over there.

Grid and ledger stay on the host. Rows of a lesson that is taught through the protocol are made on the host by the
CPU's own code, so that its name, and what a journal keeps of it, mean the same to either: lessons, arrays and journals
go from one to the other. K and W agree to rounding.

The fast way is beside it: `enter` on the host, then `observe` and `learn_observed` on the device, which wait for
nothing and can be captured in a graph, then `write_down` on the host. It takes no lock: whoever captures graphs owns
the device. `ridge` and `places` are there for who captures more than that; `generation` says when to capture again.
"""

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.device.places import DevicePlaces, Observed
from tmapr.device.ridge import DeviceRidge
from tmapr.device.shortcut import Noted, Shortcut
from tmapr.device.triangle import UPDATES
from tmapr.exceptions import InputError
from tmapr.inputs import read_position
from tmapr.places.classifier import Classifier, refuse_minimax
from tmapr.places.features import Features
from tmapr.places.grid import Grid
from tmapr.places.lessons import Kept, Ledger, Lesson, check_lesson, check_next
from tmapr.places.settings import Places
from tmapr.places.triangle import RANK
from tmapr.types import PlaceScores

Vector = Float[np.ndarray, " dim"]


class Taught(NamedTuple):
    """A lesson learned on the device, with all that `write_down` needs of it there."""

    view: Float[Tensor, " dim"]
    step: Float[Tensor, " dim"]
    """U's, before the lesson."""
    rows: Float[Tensor, "3 features"]
    weights: Float[Tensor, "3"]


class DeviceClassifier:
    """The parts of A_t composed, on a device."""

    def __init__(self, settings: Places, classifier: Classifier, device: torch.device | str = "cpu") -> None:
        learned = classifier.arrays()
        self.device = torch.device(device)
        self.generation = 0
        """Rises when tensors become other ones: what was captured in a graph before has to be captured again."""
        self._settings, self._fitted = settings, classifier.projection_arrays()
        self._unscented = settings.unscented if "unscented" in settings.use else None
        self._features = Features(settings.projection.load(self._fitted), self._unscented)
        self._lock = Lock()
        self._attenuation = settings.attenuation if "attenuation" in settings.use else None
        self._shares = self._unscented.update_weights if self._unscented else np.full(1, settings.weight)
        self.shortcut = Shortcut(self._absorb_noted, self.device)
        self._know(learned)
        self.places = DevicePlaces(settings, classifier, self.ridge, self.device)

    def _know(self, learned: Arrays) -> None:
        self.grid, self._ledger = Grid.from_arrays(take(learned, "grid.")), Ledger.from_arrays(take(learned, "ledger."))
        self.ridge = DeviceRidge.from_arrays(take(learned, "ridge."), self.device)
        # What is saved is settled: from here on the tiles are rewritten when those of who saved it are.
        self.ridge.flush()
        self._terms = self.ridge.terms(information=self._attenuation.information if self._attenuation else 1.0)

    @classmethod
    def fit(
        cls,
        settings: Places,
        descriptors: Float[np.ndarray, "refs dim"],
        positions: Float[np.ndarray, "refs 2"],
        device: torch.device | str = "cpu",
    ) -> "DeviceClassifier":
        """An untaught classifier whose grid and projections suit a reference traverse."""
        return cls(settings, Classifier.fit(settings, descriptors, positions), device)

    @classmethod
    def from_arrays(
        cls, settings: Places, fitted: Arrays, learned: Arrays, device: torch.device | str = "cpu"
    ) -> "DeviceClassifier":
        """The classifier that the arrays described; ValueError where they do not belong together."""
        return cls(settings, Classifier.from_arrays(settings, fitted, learned), device)

    @property
    def dimension(self) -> int:
        """The length of the descriptors it takes."""
        return int(self._fitted["width"])

    @property
    def row_count(self) -> int:
        """Rows of a lesson."""
        return RANK if self._unscented else 1

    @property
    def ledger(self) -> Ledger:
        """What is in it, by name."""
        return self._ledger

    def predict(self, descriptor: Vector) -> PlaceScores:
        """Score every place; changes nothing."""
        with self._lock:
            self.shortcut.forget()
            found = self.places.score(self._send(descriptor))
            scores = self._fetch_places(found.scores)
            if found.log_likelihoods is None:
                return PlaceScores(scores, float(found.leverage))
            posterior = self.places.find_posterior(found)
            likelihoods = self._fetch_places(found.log_likelihoods)
            likely = None if posterior is None else self._fetch_places(posterior)
            return PlaceScores(scores, float(found.leverage), likelihoods, likely)

    def learn(self, descriptor: Vector, position: Float[np.ndarray, "2"]) -> Lesson:
        """Absorb a descriptor seen at a position; a position in a new cell adds a place."""
        position = read_position(position, "the lesson's position")
        if descriptor.shape != (self.dimension,) or not np.isfinite(descriptor).all():
            raise InputError(f"a lesson must be finite; the descriptor of the one at {position.tolist()} is not")
        with self._lock:
            cell = self.grid.cell_at(position)
            place = self._enter(cell)
            if noted := self.shortcut.find(descriptor, self._ledger.last, self.generation):
                return self._learn_noted(noted, place, cell)
            self.shortcut.forget()
            step = self._fetch(self.places.step) if self._unscented else None
            rows = self._features.make(descriptor, step)
            seen = self.places.observe(self._send_rows(rows))
            weights = self.places.attenuate(seen, self._send_place(place))
            self._absorb(descriptor, weights, place)
            # A copy: a program may fill its array with the next frame.
            kept = np.array(descriptor, dtype=float)
            return self._ledger.enter(rows, self._fetch(weights)[: len(rows)], place, cell, kept, step)

    def _learn_noted(self, noted: Noted, place: int, cell: tuple[int, int]) -> Lesson:
        """What H lets it weigh is found here, so that nobody waits; a refusal is told with the next frame."""
        residual = -noted.answers[: len(self.grid)]
        residual[place] += 1.0
        weight = self._attenuation.weight(residual) if self._attenuation else 1.0
        self.places.enter(place)
        rows, step, name = self.shortcut.take(place, weight)
        kept = step if self._unscented else None
        return self._ledger.enter(rows, weight * self._shares, place, cell, noted.view, kept, name)

    def _absorb_noted(self, view: Float[Tensor, " dim"], place: Int[Tensor, "1"], weight: Float[Tensor, ""]) -> None:
        self.ridge.absorb_place(place[0], weight * self.places.update_weights, self._terms)
        self.ridge.flush(UPDATES)
        self.places.absorb(view, place)

    def adopt(self, lesson: Lesson, descriptor: Vector) -> None:
        """Absorb what a copy of this classifier learned, with its rows, weights and name: unlearned in both as one."""
        with self._lock:
            self.shortcut.forget()
            self._absorb_again(lesson, descriptor)
            self._ledger.adopt(lesson)

    def relearn(self, lesson: Lesson) -> None:
        """Absorb once more what was learned in this very state: all becomes what it was then."""
        with self._lock:
            self.shortcut.forget()
            check_next(lesson, self._ledger, self.grid, self.ridge.dim)
            place = self._absorb_again(lesson, lesson.descriptor)
            self._ledger.enter(lesson.rows, lesson.weights, place, lesson.cell, lesson.descriptor, lesson.step)

    def rebuild(self, kept: Kept) -> Lesson:
        """The lesson that something was kept of, with its rows as they were; learned by this map's classifiers only."""
        try:
            return kept.rebuild(self._features.make(kept.descriptor, kept.step))
        except InputError:
            # Learned the fast way, from rows that were made on a device.
            step = None if kept.step is None else self._send(kept.step)
            rows = self._fetch(self.places.spread(self._send(kept.descriptor), step))
            return kept.rebuild(rows[: len(kept.weights)])

    def unlearn(self, lesson: Lesson) -> None:
        """Take a lesson back: exact for K and W. U's direction and G's Gaussians keep their summary of it."""
        refuse_minimax(self._settings, "unlearning")
        with self._lock:
            self.shortcut.forget()
            check_lesson(lesson, self.grid, self.ridge.dim)
            entry = self._ledger.find(lesson.name)
            targets = np.zeros((len(lesson.rows), self.ridge.classes))
            targets[:, self.grid.enter_cell(lesson.cell)] = 1.0
            self.ridge.unlearn(lesson.rows, targets, lesson.weights)
            self._ledger.strike(entry)

    def holds(self, lesson: Lesson) -> bool:
        """Whether a lesson is in it."""
        with self._lock:
            return self._ledger.holds(lesson.name)

    def neighbourhood(self, places: Sequence[int]) -> list[int]:
        """The places and those around them."""
        return self.grid.around(places)

    def enter(self, position: Float[np.ndarray, "2"]) -> int:
        """On the host, before a view is learned the fast way: its place, for which there is room from now on."""
        place = self._enter(self.grid.cell_at(read_position(position, "the lesson's position")))
        self.places.enter(place)
        return place

    def observe(self, view: Float[Tensor, " dim"]) -> Observed:
        """What the ridge says of a view that is on the device; kept there for a lesson."""
        return self.places.observe(self.places.spread(view))

    def learn_observed(self, view: Float[Tensor, " dim"], place: Int[Tensor, "1"], observed: Observed) -> Taught:
        """Absorb the view that was observed last, at a place that was entered."""
        step = self.places.step.clone()
        lesson = self.places.learn(view, place, observed)
        self.ridge.absorb_place(place[0], lesson.weights, self._terms)
        self.ridge.flush(UPDATES)
        return Taught(view, step, lesson.rows, lesson.weights)

    def write_down(self, taught: Taught, place: int) -> Lesson:
        """On the host, before anything else is learned: the lesson's name.

        Raises if the ridge refused it; unlike `learn`, U and G have then learned it nevertheless.
        """
        self.ridge.check()
        rows, weights = (self._fetch(each)[: self.row_count] for each in (taught.rows, taught.weights))
        column, row = self.grid.cells[place].tolist()
        step = self._fetch(taught.step) if self._unscented else None
        return self._ledger.enter(rows, weights, place, (column, row), self._fetch(taught.view), step)

    def continue_from(self, learned: Arrays) -> "DeviceClassifier":
        """One of the same map, on the same device, that knows what `arrays` of another described."""
        return DeviceClassifier.from_arrays(self._settings, self._fitted, learned, self.device)

    def return_to(self, other: "DeviceClassifier") -> None:
        """Know what another one of the same map knows; afterwards each goes its own way."""
        learned = other.arrays()
        with self._lock:
            self._know(learned)
            self.places.ask(self.ridge)
            self.places.restore(self.grid, learned)
            self.generation += 1

    def arrays(self) -> dict[str, np.ndarray]:
        """As `Classifier.arrays` gives it; reads the device."""
        with self._lock:
            learned = put("grid.", self.grid.arrays()) | put("ridge.", self.ridge.arrays())
            learned |= put("ledger.", self._ledger.arrays()) | self.places.arrays()
            # A copy: the caller may write it to disk while the next lesson is learned.
            return {name: np.array(array) for name, array in learned.items()}

    def projection_arrays(self) -> dict[str, np.ndarray]:
        """What was fitted to the reference descriptors."""
        return dict(self._fitted)

    def _enter(self, cell: tuple[int, int]) -> int:
        place, room = self.grid.enter_cell(cell), self.ridge.capacity
        self.ridge.grow(len(self.grid))
        grown = self.places.note_places(self.grid)
        self.generation += grown or self.ridge.capacity > room
        return place

    def _absorb_again(self, lesson: Lesson, descriptor: Vector) -> int:
        place = self._enter(lesson.cell)
        weights = np.zeros(RANK)
        weights[: len(lesson.weights)] = lesson.weights
        self.places.observe(self._send_rows(lesson.rows))
        self._absorb(descriptor, self._send(weights), place)
        return place

    def _absorb(self, descriptor: Vector, weights: Float[Tensor, "3"], place: int) -> None:
        """The rows observed last; a lesson that the ridge refuses teaches U and G nothing, either."""
        where = self._send_place(place)
        self.ridge.absorb_place(where[0], weights, self._terms)
        self.ridge.flush(UPDATES)
        self.ridge.check()
        self.places.enter(place)
        self.places.absorb(self._send(descriptor), where)

    def _send(self, array: Float[np.ndarray, "..."]) -> Tensor:
        return torch.tensor(array, dtype=torch.float64, device=self.device)

    def _send_rows(self, rows: Float[np.ndarray, "k features"]) -> Float[Tensor, "3 features"]:
        whole = np.zeros((RANK, rows.shape[1]))
        whole[: len(rows)] = rows
        return self._send(whole)

    def _send_place(self, place: int) -> Int[Tensor, "1"]:
        return torch.tensor([place], device=self.device)

    def _fetch(self, tensor: Tensor) -> Float[np.ndarray, "..."]:
        return tensor.cpu().numpy().copy()

    def _fetch_places(self, numbers: Float[Tensor, " capacity"]) -> Float[np.ndarray, " places"]:
        return self._fetch(numbers[: len(self.grid)])
