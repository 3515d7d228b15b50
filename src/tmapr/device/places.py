"""A_t on the device beside its ridge: sigma points, scores, likelihoods and weights, from a view that is there.

`places.classifier` is the reference; `arrays` is its own, so that states go from one to the other. Every place has room
from the start, up to a capacity that doubles: only then are the tensors other ones, and a graph has to be captured
again. Unused places are masked.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.device.mixtures import DeviceMixtures
from tmapr.device.projecting import DeviceProjection
from tmapr.device.ridge import DeviceRidge
from tmapr.device.standardising import find_middle
from tmapr.device.triangle import runs_kernels
from tmapr.device.variation import POINTS, DevicePoints, DeviceVariation
from tmapr.places.classifier import Classifier
from tmapr.places.grid import Grid
from tmapr.places.projection import Subspace
from tmapr.places.settings import Places

if TYPE_CHECKING:  # it is loaded where there are kernels alone
    from tmapr.device.place_launches import PlaceKernels

_FIRST_CAPACITY = 64
_AROUND = 9
"""A place and the eight around it."""


@runtime_checkable
class Scorer(Protocol):
    """K and W on the device."""

    def observe(self, rows: Float[Tensor, "3 features"]) -> tuple[Float[Tensor, "3 classes"], Float[Tensor, ""]]:
        """X W and the leverage of the first row."""


class Observed(NamedTuple):
    """The rows that the ridge was asked for, and what it said: the response of each place, and the leverage."""

    rows: Float[Tensor, "3 features"]
    logits: Float[Tensor, "3 capacity"]
    leverage: Float[Tensor, ""]


class DeviceScores(NamedTuple):
    """How well each place explains a view; entries of unused places mean nothing."""

    scores: Float[Tensor, " capacity"]
    leverage: Float[Tensor, ""]
    log_likelihoods: Float[Tensor, " capacity"] | None


@dataclass(frozen=True, slots=True)
class DeviceLesson:
    """What the ridge has to absorb of a view: rows, their weights, the place, and the share that K⁻¹ gains of them."""

    rows: Float[Tensor, "3 features"]
    weights: Float[Tensor, "3"]
    place: Int[Tensor, "1"]
    information: float


class DevicePlaces:
    """The parts of A_t composed; the ridge is another's, and is only asked."""

    def __init__(self, settings: Places, classifier: Classifier, ridge: Scorer, device: torch.device) -> None:
        self._settings, self._ridge, self.device = settings, ridge, device
        fitted, learned = classifier.projection_arrays(), classifier.arrays()
        self._classes, self._neighbours = 0, defaultdict[int, set[int]](set)
        self.capacity = max(_FIRST_CAPACITY, 1 << (len(classifier.grid) - 1).bit_length())
        self._project = DeviceProjection.of(settings.projection.load(fitted), device)
        self._reduce = DeviceProjection.of(Subspace(fitted["reducer.mean"], fitted["reducer.axes"]), device)
        self._points = DevicePoints(
            settings.unscented if "unscented" in settings.use else None, settings.weight, device
        )
        self._variation = DeviceVariation(take(learned, "variation."), self.capacity, device)
        self._mixtures = None
        if "mixture" in settings.use:
            self._mixtures = DeviceMixtures(settings.mixture, take(learned, "mixtures."), self.capacity, device)
        self._attenuation = settings.attenuation if "attenuation" in settings.use else None
        self._sure = torch.ones((), dtype=torch.float64, device=device)
        self._kernels = self._load_kernels() if runs_kernels(device) else None
        self._lay_out()
        self.note_places(classifier.grid)

    def _load_kernels(self) -> "PlaceKernels | None":
        from tmapr.device.place_launches import PlaceKernels, fits

        if not fits(self._mixtures):
            return None
        return PlaceKernels(self._variation, self._mixtures, self._reduce, self._points, self._attenuation)

    def _lay_out(self) -> None:
        self.used = torch.zeros(self.capacity, dtype=torch.bool, device=self.device)
        self.middle = find_middle(1, self.device)
        self.around = torch.full((self.capacity, _AROUND), self.capacity, device=self.device)

    @property
    def classes(self) -> int:
        """How many places there are."""
        return self._classes

    @property
    def has_mixtures(self) -> bool:
        """Whether G is in use."""
        return self._mixtures is not None

    def ask(self, ridge: Scorer) -> None:
        """Another ridge from now on."""
        self._ridge = ridge

    def note_places(self, grid: Grid) -> bool:
        """After places were entered: make room for them; true if the tensors are other ones than before."""
        return self._lay_places(grid) if len(grid) != self._classes else False

    def _lay_places(self, grid: Grid) -> bool:
        grown = len(grid) > self.capacity
        if grown:
            self.capacity = max(2 * self.capacity, 1 << (len(grid) - 1).bit_length())
            self._variation.make_room(self.capacity)
            if self._mixtures:
                self._mixtures.make_room(self.capacity)
            self._measure()
            self._lay_out()
        for place in range(self._classes, len(grid)):
            for other in grid.around([place]):
                self._neighbours[place].add(other)
                self._neighbours[other].add(place)
        self._classes = len(grid)
        around = np.full((self.capacity, _AROUND), self.capacity)
        for place, found in self._neighbours.items():
            around[place, : len(found)] = sorted(found)
        self.around.copy_(torch.as_tensor(around))
        self.used.copy_(torch.arange(self.capacity) < self._classes)
        self.middle.copy_(find_middle(self._classes, self.device))
        return grown

    def spread(
        self, view: Float[Tensor, " dim"], step: Float[Tensor, " dim"] | None = None
    ) -> Float[Tensor, "3 features"]:
        """The rows that the ridge is asked for, with U's step as it is or was: three, whether U is in use or not."""
        spread = self._kernels.spread if self._kernels else self._points.spread
        return self._project(spread(view, self._variation.step if step is None else step))

    @property
    def step(self) -> Float[Tensor, " dim"]:
        """One deviation along U's direction."""
        return self._variation.step

    @property
    def coefficients(self) -> Float[Tensor, "2 3"]:
        """What the view and the step are multiplied with in each of the points around the view."""
        return self._points.coefficients

    def score(self, view: Float[Tensor, " dim"]) -> DeviceScores:
        """What `Classifier.predict` says of a view."""
        return self.conclude(view, self.observe(self.spread(view)))

    def observe(self, rows: Float[Tensor, "3 features"]) -> Observed:
        """Ask the ridge; it has a column for each place there is room for, or for each there is."""
        logits, leverage = self._ridge.observe(rows)
        if isinstance(self._ridge, DeviceRidge):
            # Of all that there is room for: a graph does not know which of them are in use by now.
            logits = self._ridge.responses
        missing = self.capacity - logits.shape[1]
        if missing > 0:
            logits = torch.cat([logits, logits.new_zeros((POINTS, missing))], dim=1)
        return Observed(rows, logits[:, : self.capacity], leverage)

    def weigh(self, view: Float[Tensor, " dim"]) -> Float[Tensor, " capacity"] | None:
        """What `conclude` needs of G, which does not wait for the ridge; None without G, and where torch does it."""
        return self._kernels.weigh(view) if self._kernels else None

    def conclude(
        self, view: Float[Tensor, " dim"], observed: Observed, weighed: Float[Tensor, " capacity"] | None = None
    ) -> DeviceScores:
        """The scores of a view for which the ridge was asked, and which `weigh` may have weighed meanwhile."""
        if self._kernels:
            weighed = self._kernels.weigh(view) if weighed is None else weighed
            scores, likelihoods = self._kernels.conclude(observed.logits, weighed)
            return DeviceScores(scores, observed.leverage, likelihoods)
        scores = self._points.mean_weights @ observed.logits
        if self._mixtures is None:
            return DeviceScores(scores, observed.leverage, None)
        likelihoods = self._mixtures.log_likelihoods(self._reduce(view[None])[0])
        return DeviceScores(scores, observed.leverage, likelihoods)

    def find_posterior(self, scores: DeviceScores) -> Float[Tensor, " capacity"] | None:
        """The probability that G's mixtures give to each place; None without G."""
        if self._mixtures is None or scores.log_likelihoods is None:
            return None
        return self._mixtures.find_posterior(scores.log_likelihoods, self.used)

    def find_allowed(self, best: Bool[Tensor, " capacity"]) -> Bool[Tensor, " capacity"]:
        """The places and those around them: a place is around those that are around it."""
        return pad(best, (0, 1))[self.around].any(dim=1)

    def mark_around(self, places: Int[Tensor, " some"]) -> Bool[Tensor, "some capacity"]:
        """For each of some places, those around it."""
        return (self.around == places[:, None, None]).any(dim=2)

    def enter(self, place: int) -> None:
        """On the host, before a place is learned: what is written down has room for it."""
        self._variation.enter(place)
        if self._mixtures:
            self._mixtures.enter(max(place, self._classes - 1))

    def learn(
        self, view: Float[Tensor, " dim"], place: Int[Tensor, "1"], observed: Observed | None = None
    ) -> DeviceLesson:
        """Teach U and G a view of a place that was entered; what is given back is for the ridge to absorb.

        `observed` is what the ridge said of just this view, if nothing was learned since: then K is not read again.
        Either way the rows of the lesson are those that it was asked for last.
        """
        seen = observed or self.observe(self.spread(view))
        if self._kernels:
            weights = self._kernels.learn(view, place, seen.logits)
        else:
            weights = self.attenuate(seen, place)
            self.absorb(view, place)
        return DeviceLesson(seen.rows, weights, place, self.information)

    def attenuate(self, observed: Observed, place: Int[Tensor, "1"]) -> Float[Tensor, "3"]:
        """What H lets the rows of a lesson weigh."""
        return self._points.update_weights * self._attenuate(observed.logits[0], place)

    def absorb(self, view: Float[Tensor, " dim"], place: Int[Tensor, "1"]) -> None:
        """Teach U and G a view whose weight is known."""
        if self._kernels:
            self._kernels.learn(view, place, None)
            return
        self._variation.learn(view, place)
        if self._mixtures:
            self._mixtures.learn(self._reduce(view[None])[0], place)

    @property
    def update_weights(self) -> Float[Tensor, "3"]:
        """What the rows of a lesson weigh before H has its say."""
        return self._points.update_weights

    @property
    def information(self) -> float:
        """The share of a lesson that K⁻¹ gains."""
        return self._attenuation.information if self._attenuation else 1.0

    def _attenuate(self, logits: Float[Tensor, " capacity"], place: Int[Tensor, "1"]) -> Float[Tensor, ""]:
        """H: the weight of a sample by how far the ridge misses its place."""
        if self._attenuation is None or self._attenuation.mode == "minimax":
            return self._sure
        missed = torch.linalg.vector_norm(logits.index_add(0, place, -self._sure[None]))
        raw = self._attenuation.bound / (self._attenuation.bound + self._attenuation.gain * missed)
        return raw.clamp(self._attenuation.floor, 1.0)

    def _measure(self) -> None:
        """What torch made of loaded statistics, by the kernels that make it of learned ones."""
        if self._kernels:
            self._kernels.measure()

    def restore(self, grid: Grid, learned: Arrays) -> None:
        """Continue from where `arrays` of this or of a `Classifier` with these places were taken.

        The tensors are other ones only if there are more places than there is room for.
        """
        self._classes, self._neighbours = 0, defaultdict[int, set[int]](set)
        self._lay_places(grid)
        self._variation.restore(take(learned, "variation."))
        if self._mixtures:
            self._mixtures.restore(take(learned, "mixtures."))
        self._measure()

    def arrays(self) -> dict[str, np.ndarray]:
        """U's and G's part of `Classifier.arrays`; reads the device."""
        learned = put("variation.", self._variation.arrays())
        return learned | put("mixtures.", self._mixtures.arrays()) if self._mixtures else learned
