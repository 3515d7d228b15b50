"""Recognition on the device as torch writes it: on a CPU, for settings the kernels leave out, and as their oracle.

`recognising` and `retrieval.search` are the reference. What differs is the form alone: places that a search may look at
are a mask instead of rows, and numbers that the host would branch on are selected.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tmapr.device.condition import DeviceShared
from tmapr.device.found import Found, Prepared
from tmapr.device.memory import DeviceMemory
from tmapr.device.packing import Packing
from tmapr.device.places import DevicePlaces, DeviceScores, Observed
from tmapr.device.ranking import find_best
from tmapr.device.standardising import mark_best, measure_spread
from tmapr.retrieval.memory import BEST
from tmapr.retrieval.search import HALF, SHARPNESS, Retrieval


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


class PlainRecognition:
    """What is done before the ridge and the memory are asked, and afterwards."""

    def __init__(
        self, retrieval: Retrieval, memory: DeviceMemory, places: DevicePlaces | None, packing: Packing, radius: float
    ) -> None:
        self._retrieval, self._memory, self._places, self._packing = retrieval, memory, places, packing
        self._radius = radius
        self._zeros = torch.zeros(memory.size, dtype=torch.float64, device=memory.device)
        self._ranks = torch.arange(packing.candidates, device=memory.device)

    def prepare(self, descriptor: Float[Tensor, " dim"], shared: DeviceShared | None) -> Prepared:
        """The view under the map's condition, and what the memory is multiplied with."""
        if shared is None:
            return Prepared(descriptor, descriptor[None].to(torch.float32), None, None)
        own = shared.remove(descriptor)
        # Before anything is known of the drive, a view is compared as it is, whatever its length.
        length = torch.where(shared.known > 0, torch.linalg.vector_norm(own), 1.0)
        measures = torch.stack([torch.dot(own, self._memory.mean), length, shared.measure(descriptor)])
        view = shared.exchange(descriptor, self._memory.mean)
        return Prepared(view, torch.stack([own, descriptor]).to(torch.float32), shared, measures)

    def conclude(
        self,
        prepared: Prepared,
        products: Float[Tensor, "k refs"],
        scores: DeviceScores | None,
        observed: Observed | None,
    ) -> Found:
        """Everything else, once the ridge and the memory have answered."""
        looks = self._compare(products.to(torch.float64), prepared)
        placed = self._weigh_places(self._places, scores) if self._places and scores else self._place_nowhere()
        packed = self._rank(looks, placed, scores, prepared)
        return Found(packed, prepared.view, looks.similarity, placed.term, looks.cosine, scores, observed)

    def _compare(self, products: Float[Tensor, "k refs"], prepared: Prepared) -> _Looks:
        memory, plain, cosine = self._memory, products[-1], products[-1]
        if prepared.shared is not None and prepared.measures is not None:
            cosine = self._relate(products[0], prepared.measures, prepared.shared.weight)
        background = measure_spread(cosine.index_select(0, memory.probes)[None], memory.middle)
        return _Looks(plain, cosine, background.standardise(cosine[None])[0])

    def _relate(
        self, products: Float[Tensor, " refs"], measures: Float[Tensor, "3"], weight: Float[Tensor, ""]
    ) -> Float[Tensor, " refs"]:
        """Cosines with references less their share of the mean, from products with them as they are."""
        memory = self._memory
        lengths = torch.sqrt(1.0 - 2.0 * weight * memory.sharing + weight**2 * memory.mean_square)
        return (products - weight * measures[0]) / lengths / measures[1]

    def _weigh_places(self, places: DevicePlaces, scores: DeviceScores) -> _Placed:
        retrieval, rows = self._retrieval, self._memory.places
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
        return torch.ones_like(self._memory.probed), self._memory.probed.new_zeros(())

    def _rank(
        self, looks: _Looks, placed: _Placed, scores: DeviceScores | None, prepared: Prepared
    ) -> Float[Tensor, " numbers"]:
        shared, measures = prepared.shared, prepared.measures
        total = looks.similarity + placed.term
        searched = torch.where(placed.allowed, total, -torch.inf)
        count, voters = self._packing.candidates, min(self._retrieval.support_matches, self._memory.size)
        ranked = searched[None] if shared is None else torch.stack([searched, looks.similarity])
        values, rows = find_best(ranked, max(count, voters, self._packing.likely, BEST))
        best = rows[0, :count]
        group = self._group(best)
        here = self._find_here(best, group)
        support = self._measure_support(here, group, rows[0, :voters], values[0, :voters], scores)
        # Probes also contradict a constrained search where it has not looked.
        heard = torch.where(placed.allowed | self._memory.probed, total, -torch.inf)
        margin = values[0, :count] - self._find_rivals(heard, here, best)
        plain = looks.plain.index_select(0, best)
        likely = torch.exp(SHARPNESS * (searched - values[0, 0]))
        near = here if group is None else self._find_here(best[:1], None)
        share = torch.where(near[0], likely, 0.0).sum() / likely.sum()
        frame = [scores.leverage if scores else self._zeros[0], placed.constrained, share]
        if shared is not None and measures is not None:
            closest = looks.plain.index_select(0, rows[1, : min(BEST, self._memory.size)]).amax()
            frame += [shared.known, closest, measures[2]]
        head = torch.stack([number.to(torch.float64) for number in frame])
        candidates = [best.to(torch.float64), plain, values[0, :count], support, margin]
        ranked_best = slice(self._packing.likely)
        return torch.cat([head, *candidates, rows[0, ranked_best].to(torch.float64), values[0, ranked_best]])

    def _group(self, best: Int[Tensor, " candidates"]) -> Bool[Tensor, "candidates capacity"] | None:
        """The places around each candidate's, where these instead of metres say what is here."""
        if self._places is None or not self._retrieval.grouped or not self._places.has_mixtures:
            return None
        return self._places.mark_around(self._memory.places.index_select(0, best))

    def _find_here(
        self, best: Int[Tensor, " candidates"], group: Bool[Tensor, "candidates capacity"] | None
    ) -> Bool[Tensor, "candidates refs"]:
        """Which references are where each candidate is."""
        if group is not None:
            return group.index_select(1, self._memory.places)
        away = self._memory.positions - self._memory.positions.index_select(0, best)[:, None]
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
