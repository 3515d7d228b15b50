"""`PlainRecognition` by kernels of its own: the same numbers in eight launches.

Scratch is taken anew for each frame and given back with it, as torch's own steps do: captured in a graph it has fixed
addresses, and two frames that are recognised at once share nothing.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device import ranking_kernels, recognition_kernels, standardising_kernels
from tmapr.device.condition import DeviceShared
from tmapr.device.found import Found, Prepared
from tmapr.device.memory import DeviceMemory
from tmapr.device.packing import Packing
from tmapr.device.places import DevicePlaces, DeviceScores, Observed
from tmapr.device.triangle import power_of_two
from tmapr.retrieval.condition import SHORTEST
from tmapr.retrieval.memory import BEST
from tmapr.retrieval.search import MAD_TO_DEVIATION, Retrieval

MOST_RANKED = 128
"""Of a block as many references can be among the best as it has."""


class Constants(NamedTuple):
    """What kernels read as float64, in the order in which they know it."""

    mean_square: float
    to_deviation: float
    class_weight: float
    likelihood_weight: float
    clip: float
    trusted_leverage: float
    steepness: float
    radius: float
    shortest: float


class Cut(NamedTuple):
    """What a program takes at a time, and its warps; every choice gives the same numbers."""

    view: int = 512
    """Numbers of a descriptor."""
    references: int = MOST_RANKED
    """That are ranked among one another."""
    rivals: int = 256
    ranked: int = 8
    others: int = 2048
    """Ranked ones, and those they are compared with at once: the first of all blocks."""
    standardised: int = 256
    """Probes or places with which such are compared at once."""
    warps: int = 4


class _Ranks(NamedTuple):
    """The best of all references, by what is searched and by similarity: their values and their rows."""

    values: Float[Tensor, "kinds first"]
    rows: Int[Tensor, "kinds first"]


class _Spreads(NamedTuple):
    """Of probes, scores and likelihoods the two in the middle, also of how far they are from it; and allowed places."""

    medians: Float[Tensor, "3 2"]
    distances: Float[Tensor, "3 2"]
    allowed: Int[Tensor, " capacity"]


class FusedRecognition:
    """What is done before the ridge and the memory are asked, and afterwards."""

    def __init__(
        self,
        retrieval: Retrieval,
        memory: DeviceMemory,
        places: DevicePlaces | None,
        packing: Packing,
        radius: float,
        cut: Cut | None = None,
    ) -> None:
        self._memory, self._places, self._packing, self._cut = memory, places, packing, cut or Cut()
        self._best_places = retrieval.best_places
        self._voters = min(retrieval.support_matches, memory.size)
        self._first = max(packing.candidates, self._voters, packing.likely, BEST)
        constants = Constants(
            memory.mean_square,
            MAD_TO_DEVIATION,
            retrieval.class_weight,
            retrieval.likelihood_weight,
            retrieval.clip,
            retrieval.trusted_leverage,
            retrieval.steepness,
            radius,
            SHORTEST,
        )
        self._constants = torch.tensor(constants, dtype=torch.float64, device=memory.device)
        self._kinds = {"CENTRED": packing.centred, "PLACED": packing.scored, "GATED": self._best_places > 0}

    @classmethod
    def fits(cls, retrieval: Retrieval, places: DevicePlaces | None, packing: Packing) -> bool:
        """Whether the kernels know these settings: not groups of places, nor more matches than a block has."""
        grouped = retrieval.grouped and places is not None and places.has_mixtures
        return not grouped and max(packing.candidates, retrieval.support_matches) <= MOST_RANKED

    def _take(self, *shape: int) -> Float[Tensor, "..."]:
        return torch.empty(shape, dtype=torch.float64, device=self._memory.device)

    def prepare(self, descriptor: Float[Tensor, " dim"], shared: DeviceShared | None) -> Prepared:
        """The view under the map's condition, and what the memory is multiplied with."""
        if shared is None:
            return Prepared(descriptor, descriptor[None].to(torch.float32), None, None)
        dim, cut = len(descriptor), self._cut
        programs = -(-dim // cut.view)
        queries = torch.empty((2, dim), dtype=torch.float32, device=descriptor.device)
        parts, view, measures = self._take(4, programs), self._take(dim), self._take(3)
        compared = (descriptor, shared.mean, self._memory.mean, shared.weight)
        recognition_kernels.remove_shared[(programs,)](
            *(*compared, queries, parts, dim), BLOCK=cut.view, num_warps=cut.warps, enable_fp_fusion=False
        )
        recognition_kernels.exchange_shared[(programs,)](
            *(*compared, shared.known, shared.length, self._constants, parts, view, measures, dim),
            PARTS=power_of_two(programs),
            BLOCK=cut.view,
            num_warps=cut.warps,
            enable_fp_fusion=False,
        )
        return Prepared(view, queries, shared, measures)

    def conclude(
        self,
        prepared: Prepared,
        products: Float[Tensor, "k refs"],
        scores: DeviceScores | None,
        observed: Observed | None,
    ) -> Found:
        """Everything else, once the ridge and the memory have answered."""
        related = self._relate(prepared, products)
        said = self._listen(scores)
        compared, first = self._compare(related, said, self._measure_spreads(related, said))
        ranks = self._merge(first)
        packed = self._pack(prepared, products[-1], said, compared, ranks)
        cosine, similarity, place, _, _ = compared
        return Found(packed, prepared.view, similarity, place, cosine, scores, observed)

    def _relate(self, prepared: Prepared, products: Float[Tensor, "k refs"]) -> tuple[Tensor, ...]:
        """What cosines are found from; without a drive's condition, products alone are read."""
        weight = self._constants if prepared.shared is None else prepared.shared.weight
        measures = self._constants if prepared.measures is None else prepared.measures
        return products, self._memory.sharing, weight, measures, self._constants

    def _listen(self, scores: DeviceScores | None) -> DeviceScores:
        """What places said; where they said nothing, what is not read."""
        return scores or DeviceScores(self._constants, self._constants, None)

    def _measure_spreads(self, related: tuple[Tensor, ...], said: DeviceScores) -> _Spreads:
        memory, places, cut = self._memory, self._places, self._cut
        capacity = places.capacity if places else 1
        used, middle, around = (
            (places.used, places.middle, places.around) if places else (memory.probed, memory.middle, memory.probes)
        )
        probes, room = len(memory.probes), max(len(memory.probes), capacity)
        keys, medians, distances = self._take(3, room), self._take(3, 2), self._take(3, 2)
        marked, allowed = torch.empty((2, capacity), dtype=torch.int8, device=memory.device)
        jobs = 1 if places is None else 4 if self._best_places else 3
        programs = (-(-room // cut.ranked), jobs)
        standardising_kernels.find_medians[programs](
            *(*related, memory.probes, memory.middle, said.scores, _or_scores(said), used, middle),
            *(keys, medians, marked, probes, capacity, room, self._best_places),
            MINE=cut.ranked,
            OTHERS=cut.standardised,
            CENTRED=self._packing.centred,
            num_warps=cut.warps,
            enable_fp_fusion=False,
        )
        standardising_kernels.find_deviations[programs](
            *(keys, medians, memory.middle, middle, around, marked, said.leverage, self._constants),
            *(distances, allowed, probes, capacity, room),
            MINE=cut.ranked,
            OTHERS=cut.standardised,
            AROUND=around.shape[1] if places else 1,
            num_warps=cut.warps,
            enable_fp_fusion=False,
        )
        return _Spreads(medians, distances, allowed)

    def _compare(
        self, related: tuple[Tensor, ...], said: DeviceScores, spreads: _Spreads
    ) -> tuple[Float[Tensor, "5 refs"], _Ranks]:
        """Of each reference cosine, similarity, place, what is searched, what is heard; and the first of each block."""
        memory, cut = self._memory, self._cut
        blocks = -(-memory.size // cut.references)
        compared, values = self._take(5, memory.size), self._take(1 + self._packing.centred, blocks * self._first)
        rows = torch.empty(values.shape, dtype=torch.int32, device=memory.device)
        ranking_kernels.compare_references[(blocks,)](
            *(*related, memory.places, memory.probed, said.scores, _or_scores(said), said.leverage),
            *(spreads.allowed, spreads.medians, spreads.distances, compared, values, rows, memory.size),
            BLOCK=cut.references,
            FIRST=self._first,
            LIKELIHOODS=said.log_likelihoods is not None,
            **self._kinds,
            num_warps=cut.warps,
            enable_fp_fusion=False,
        )
        return compared, _Ranks(values, rows)

    def _merge(self, first: _Ranks) -> _Ranks:
        cut, (kinds, size) = self._cut, first.values.shape
        values = self._take(kinds, self._first)
        rows = torch.empty(values.shape, dtype=torch.int32, device=values.device)
        ranking_kernels.merge_first[(-(-size // cut.ranked), kinds)](
            *(*first, values, rows, size),
            FIRST=self._first,
            MINE=cut.ranked,
            OTHERS=cut.others,
            num_warps=cut.warps,
        )
        return _Ranks(values, rows)

    def _pack(
        self,
        prepared: Prepared,
        plain: Float[Tensor, " refs"],
        said: DeviceScores,
        compared: Float[Tensor, "5 refs"],
        ranks: _Ranks,
    ) -> Float[Tensor, " numbers"]:
        memory, packing, cut = self._memory, self._packing, self._cut
        blocks = -(-memory.size // cut.rivals)
        rivals, likely, packed = self._take(packing.candidates, blocks), self._take(2, blocks), self._take(packing.size)
        ranking_kernels.find_rivals[(blocks,)](
            *(compared, memory.positions, self._constants, *ranks, rivals, likely, memory.size),
            CANDIDATES=packing.candidates,
            BLOCK=cut.rivals,
            num_warps=cut.warps,
            enable_fp_fusion=False,
        )
        known = self._constants if prepared.shared is None else prepared.shared.known
        measures = self._constants if prepared.measures is None else prepared.measures
        ranking_kernels.pack[(1,)](
            *(plain, memory.positions, measures, self._constants, known, said.leverage),
            *(*ranks, rivals, likely, packed, blocks, self._voters, min(BEST, memory.size)),
            CANDIDATES=packing.candidates,
            LIKELY=packing.likely,
            FIRST=self._first,
            FIRST_UP=power_of_two(self._first),
            BLOCKS=power_of_two(blocks),
            **self._kinds,
            num_warps=1,
            enable_fp_fusion=False,
        )
        return packed


def _or_scores(said: DeviceScores) -> Float[Tensor, " capacity"]:
    """Likelihoods; without any, what is not read."""
    return said.scores if said.log_likelihoods is None else said.log_likelihoods
