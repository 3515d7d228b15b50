"""The first half of a frame's way on the device: from a descriptor that is there to everything tracking needs of it.

`recognising` and `retrieval.search` are the reference. What differs is the form alone: places that a search may look at
are a mask instead of rows, numbers that the host would branch on are selected, and what the host needs leaves in one
tensor of some dozens of numbers. Local features are matched on the host, which has the picture: what leaves says
whether any place is in doubt and which references to match with (`Packing.list_likely`); what the matches add to these
few ranks them anew there, and goes to the route filter as `Comparison.local`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tmapr.device.condition import DeviceCondition, DeviceShared
from tmapr.device.memory import DeviceMemory
from tmapr.device.packing import Packing
from tmapr.device.places import DevicePlaces, DeviceScores, Observed
from tmapr.device.ranking import find_best
from tmapr.device.standardising import mark_best, measure_spread
from tmapr.retrieval.memory import BEST
from tmapr.retrieval.search import HALF, SHARPNESS, VERIFIED, Retrieval


@dataclass(frozen=True, slots=True)
class Found:
    """What a frame looks like. All of it stays on the device but `packed`, of which `Packing` makes a `Recognition`."""

    packed: Float[Tensor, " numbers"]
    view: Float[Tensor, " dim"]
    """The descriptor under the map's condition: what is learned of the frame."""
    similarity: Float[Tensor, " refs"]
    place: Float[Tensor, " refs"]
    cosine: Float[Tensor, " refs"]
    scores: DeviceScores | None
    observed: Observed | None
    """What the ridge said of the view, for who learns it before anything else."""


class Prepared(NamedTuple):
    """A view under the map's condition, what the memory is multiplied with, and what the ridge is asked for."""

    view: Float[Tensor, " dim"]
    queries: Float[Tensor, "k dim"]
    rows: Float[Tensor, "3 features"] | None


class _Looks(NamedTuple):
    """How the references look: as they are, without the conditions, and in deviations."""

    plain: Float[Tensor, " refs"]
    cosine: Float[Tensor, " refs"]
    similarity: Float[Tensor, " refs"]


class _Placed(NamedTuple):
    """What places say of the references, and which of them the search may look at."""

    term: Float[Tensor, " refs"]
    allowed: Bool[Tensor, " refs"]
    constrained: Bool[Tensor, ""]


class _Steps(NamedTuple):
    """What is done before the ridge and the memory are asked, and afterwards."""

    prepare: Callable[..., Prepared]
    conclude: Callable[..., Found]


class Recogniser:
    """Recognises views that are on the device; it owns nothing that changes."""

    def __init__(
        self,
        retrieval: Retrieval,
        memory: DeviceMemory,
        places: DevicePlaces | None,
        condition: DeviceCondition | None,
        radius: float,
        count: int | None = None,
    ) -> None:
        if retrieval.mode == "off" or (retrieval.mode == "places") != (places is not None):
            raise ValueError(f"retrieval.mode is {retrieval.mode!r}; places are scored in mode 'places' alone")
        self._retrieval, self.memory, self._places = retrieval, memory, places
        self._condition = condition if retrieval.centred else None
        self._radius = retrieval.support_radius or radius
        likely, wanted = (min(each, memory.size) for each in (VERIFIED, count or retrieval.candidates))
        self.packing = Packing(wanted, likely, places is not None, self._condition is not None)
        self._zeros = torch.zeros(memory.size, dtype=torch.float64, device=memory.device)
        self._ranks = torch.arange(self.packing.candidates, device=memory.device)
        self._steps = _Steps(self.prepare, self.conclude)

    def fuse(self, backend: str = "inductor") -> None:
        """Let torch's compiler make few kernels of many small ones; the next frame takes as long as that does."""
        self._steps = _Steps(
            torch.compile(self.prepare, fullgraph=True, dynamic=False, backend=backend),
            torch.compile(self.conclude, fullgraph=True, dynamic=False, backend=backend),
        )

    def recognise(self, descriptor: Float[Tensor, " dim"]) -> Found:
        """What a usable frame looks like, without what the views of its drive share."""
        prepared = self._steps.prepare(descriptor)
        products = self.memory.multiply(prepared.queries)
        observed = self._places.observe(prepared.rows) if self._places and prepared.rows is not None else None
        return self._steps.conclude(descriptor, prepared, products, observed)

    def prepare(self, descriptor: Float[Tensor, " dim"]) -> Prepared:
        """What the ridge and the memory are asked for."""
        shared = self._condition.recall() if self._condition else None
        view = shared.exchange(descriptor, self.memory.mean) if shared else descriptor
        queries = torch.stack([shared.remove(descriptor), descriptor]) if shared else descriptor[None]
        rows = self._places.spread(view) if self._places else None
        return Prepared(view, queries.to(torch.float32), rows)

    def conclude(
        self,
        descriptor: Float[Tensor, " dim"],
        prepared: Prepared,
        products: Float[Tensor, "k refs"],
        observed: Observed | None,
    ) -> Found:
        """Everything else, once the ridge and the memory have answered."""
        shared = self._condition.recall() if self._condition else None
        looks = self._compare(descriptor, products.to(torch.float64), shared)
        scores, placed = None, self._place_nowhere()
        if self._places and observed:
            scores = self._places.conclude(prepared.view, observed)
            placed = self._weigh_places(self._places, scores)
        packed = self._rank(descriptor, looks, placed, scores, shared)
        return Found(packed, prepared.view, looks.similarity, placed.term, looks.cosine, scores, observed)

    def _compare(
        self, descriptor: Float[Tensor, " dim"], products: Float[Tensor, "k refs"], shared: DeviceShared | None
    ) -> _Looks:
        memory, plain = self.memory, products[-1]
        cosine = plain if shared is None else self._relate(products[0], shared.remove(descriptor), shared)
        background = measure_spread(cosine.index_select(0, memory.probes)[None], memory.middle)
        return _Looks(plain, cosine, background.standardise(cosine[None])[0])

    def _relate(
        self, products: Float[Tensor, " refs"], own: Float[Tensor, " dim"], shared: DeviceShared
    ) -> Float[Tensor, " refs"]:
        """Cosines with references less their share of the mean, from products with them as they are."""
        weight, memory = shared.weight, self.memory
        lengths = torch.sqrt(1.0 - 2.0 * weight * memory.sharing + weight**2 * memory.mean_square)
        # Before anything is known of the drive, a view is compared as it is, whatever its length.
        length = torch.where(shared.known > 0, torch.linalg.vector_norm(own), 1.0)
        return (products - weight * torch.dot(own, memory.mean)) / lengths / length

    def _weigh_places(self, places: DevicePlaces, scores: DeviceScores) -> _Placed:
        retrieval, rows = self._retrieval, self.memory.places
        known = [scores.scores] if scores.log_likelihoods is None else [scores.scores, scores.log_likelihoods]
        said = torch.stack(known)
        standardised = measure_spread(said, places.middle, places.used).standardise(said)
        term = retrieval.class_weight * standardised[0]
        if scores.log_likelihoods is not None:
            term = term + retrieval.likelihood_weight * standardised[1].clamp(-retrieval.clip, retrieval.clip)
        trust = 1.0 / (1.0 + (scores.leverage.clamp_min(0.0) / retrieval.trusted_leverage) ** retrieval.steepness)
        term = (trust * term).index_select(0, rows)
        if not retrieval.best_places:
            return _Placed(term, *self._allow_all())
        constrained = trust >= HALF
        allowed = places.find_allowed(mark_best(scores.scores, retrieval.best_places, places.used))
        return _Placed(term, allowed.index_select(0, rows) | ~constrained, constrained)

    def _place_nowhere(self) -> _Placed:
        return _Placed(self._zeros, *self._allow_all())

    def _allow_all(self) -> tuple[Bool[Tensor, " refs"], Bool[Tensor, ""]]:
        return torch.ones_like(self.memory.probed), self.memory.probed.new_zeros(())

    def _rank(
        self,
        descriptor: Float[Tensor, " dim"],
        looks: _Looks,
        placed: _Placed,
        scores: DeviceScores | None,
        shared: DeviceShared | None,
    ) -> Float[Tensor, " numbers"]:
        total = looks.similarity + placed.term
        searched = torch.where(placed.allowed, total, -torch.inf)
        count, voters = self.packing.candidates, min(self._retrieval.support_matches, self.memory.size)
        ranked = searched[None] if shared is None else torch.stack([searched, looks.similarity])
        values, rows = find_best(ranked, max(count, voters, self.packing.likely, BEST))
        best = rows[0, :count]
        group = self._group(best)
        here = self._find_here(best, group)
        support = self._measure_support(here, group, rows[0, :voters], values[0, :voters], scores)
        # Probes also contradict a constrained search where it has not looked.
        heard = torch.where(placed.allowed | self.memory.probed, total, -torch.inf)
        margin = values[0, :count] - self._find_rivals(heard, here, best)
        plain = looks.plain.index_select(0, best)
        likely = torch.exp(SHARPNESS * (searched - values[0, 0]))
        near = here if group is None else self._find_here(best[:1], None)
        share = torch.where(near[0], likely, 0.0).sum() / likely.sum()
        frame = [scores.leverage if scores else self._zeros[0], placed.constrained, share]
        if shared is not None:
            closest = looks.plain.index_select(0, rows[1, : min(BEST, self.memory.size)]).amax()
            frame += [shared.known, closest, shared.measure(descriptor)]
        head = torch.stack([number.to(torch.float64) for number in frame])
        candidates = [best.to(torch.float64), plain, values[0, :count], support, margin]
        ranked_best = slice(self.packing.likely)
        return torch.cat([head, *candidates, rows[0, ranked_best].to(torch.float64), values[0, ranked_best]])

    def _group(self, best: Int[Tensor, " candidates"]) -> Bool[Tensor, "candidates capacity"] | None:
        """The places around each candidate's, where these instead of metres say what is here."""
        if self._places is None or not self._retrieval.grouped or not self._places.has_mixtures:
            return None
        return self._places.mark_around(self.memory.places.index_select(0, best))

    def _find_here(
        self, best: Int[Tensor, " candidates"], group: Bool[Tensor, "candidates capacity"] | None
    ) -> Bool[Tensor, "candidates refs"]:
        """Which references are where each candidate is."""
        if group is not None:
            return group.index_select(1, self.memory.places)
        away = self.memory.positions - self.memory.positions.index_select(0, best)[:, None]
        return torch.hypot(away[:, :, 0], away[:, :, 1]) <= self._radius

    def _measure_support(
        self,
        here: Bool[Tensor, "candidates refs"],
        group: Bool[Tensor, "candidates capacity"] | None,
        voters: Int[Tensor, " voters"],
        votes: Float[Tensor, " voters"],
        scores: DeviceScores | None,
    ) -> Float[Tensor, " candidates"]:
        """The share of the best matches that are here, or what G gives to these places."""
        posterior = self._places.find_posterior(scores) if self._places and scores and group is not None else None
        if group is not None and posterior is not None:
            return torch.where(group, posterior, 0.0).sum(dim=1).clamp_max(1.0)
        counted = (votes > -torch.inf).to(torch.float64)
        near = here.index_select(1, voters).to(torch.float64)
        return (near * counted).sum(dim=1) / counted.sum().clamp_min(1.0)

    def _find_rivals(
        self, heard: Float[Tensor, " refs"], here: Bool[Tensor, "candidates refs"], best: Int[Tensor, " candidates"]
    ) -> Float[Tensor, " candidates"]:
        """The best match elsewhere of those that rank behind each candidate."""
        if len(best) > 1:
            # Those before it are rejected by the time that it is judged.
            before = (self._ranks[None, :] < self._ranks[:, None]).to(torch.float64)
            passed = torch.zeros_like(here, dtype=torch.float64).index_add(1, best, before)
            here = here | (passed > 0)
        return torch.where(here, -torch.inf, heard).amax(dim=1)
