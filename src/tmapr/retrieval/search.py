"""The place-constrained search in M₀: from a descriptor and place scores to ranked reference frames.

Three terms rank a reference: its cosine, the class score of its place and the place's log-likelihood. Their
spreads differ by orders of magnitude between descriptors, so each is standardised by median and MAD before they are
added. A ridge extrapolates badly into conditions it has never seen, and the leverage says when it does: the class
terms are weighted by a trust that falls steeply with it, and below half of it they no longer constrain the search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from tmapr.config import Settings
from tmapr.keypoints import LazyKeypoints
from tmapr.retrieval.condition import Shared
from tmapr.retrieval.keypoints import ReferenceKeypoints
from tmapr.retrieval.memory import Memory
from tmapr.retrieval.ranking import sort_highest
from tmapr.retrieval.verification import measure_surplus
from tmapr.types import RANKED, Candidate, Comparison, PlaceScores, Recognition

MAD_TO_DEVIATION = 1.4826
"""Of a normal distribution."""
HALF = 0.5
"""Trust from which on places constrain the search."""
VERIFIED, _CONTROLS = 10, 3
"""References whose local features are matched: the best ones, and some elsewhere, which are wrong."""
SHARPNESS, BEYOND_DOUBT = 2.0, 0.99
"""How a frame's scores are read as probabilities, and the share of one place from which on it needs no second look."""
_ELSEWHERE = 3.0
"""Radii of a place away from it, where nothing of it is seen."""

Neighbourhood = Callable[[Sequence[int]], list[int]]
"""Places and those around them."""


class Retrieval(Settings):
    """The search in the reference memory."""

    mode: Literal["off", "global", "places"] = Field("places", description="off | global | places")
    candidates: Literal[1, 8] = Field(1, description="candidates judged in rank order: 1 or 8")
    best_places: int = Field(5, ge=0, description="places (with their neighbours) that constrain the search; 0: all")
    class_weight: float = Field(0.3, ge=0, description="weight of the class score beside the cosine")
    likelihood_weight: float = Field(0.1, ge=0, description="weight of the log-likelihood (G) beside the cosine")
    clip: float = Field(3.0, gt=0, description="standardised log-likelihoods are clipped to ± this")
    trusted_leverage: float = Field(0.15, ge=1e-3, description="leverage at which the class terms count half")
    steepness: float = Field(4.0, gt=0, le=100, description="exponent with which trust falls beyond that leverage")
    support_matches: int = Field(10, ge=1, description="best matches that vote for local support")
    support_radius: float = Field(
        0.0, ge=0, description="radius of local support and of 'elsewhere', metres; 0: by the reference"
    )
    grouped: bool = Field(
        False, description="with G, support and margin of a candidate are those of its place and neighbours together"
    )
    centred: bool = Field(
        True, description="compare views without what all of a drive share: its condition (route filter alone)"
    )
    probes: int = Field(256, ge=8, description="references sampled to standardise the cosine")

    def trust(self, leverage: float) -> float:
        """How far the class terms are believed: 1 where conditions were learned, 0 far from them."""
        return 1.0 / (1.0 + (max(leverage, 0.0) / self.trusted_leverage) ** self.steepness)

    def search(
        self,
        memory: Memory,
        descriptor: Float[np.ndarray, " dim"],
        scores: PlaceScores | None,
        neighbourhood: Neighbourhood,
        count: int | None = None,
        compare: bool = False,
        shared: Shared | None = None,
        keypoints: LazyKeypoints | None = None,
    ) -> Recognition:
        """The best references, best first: as many as are judged, or so many; none where no reference exists.

        With `compare`, also how every reference of the map compares, whatever places constrain the search. `shared` is
        what the views of the drive share: without it, and without what the map's share, descriptors are compared. Where
        places remain that look alike, `keypoints` are matched with those of the best references, which ranks them anew.
        """
        leverage = scores.leverage if scores else None
        if self.mode == "off" or not len(memory):
            return Recognition(leverage=leverage)
        matches = self._match(memory, descriptor, scores, neighbourhood, compare, shared)
        return self._rank(memory, descriptor, matches, neighbourhood, leverage, count, keypoints)

    def _rank(
        self,
        memory: Memory,
        descriptor: Float[np.ndarray, " dim"],
        matches: "_Matches",
        neighbourhood: Neighbourhood,
        leverage: float | None,
        count: int | None,
        keypoints: LazyKeypoints | None,
    ) -> Recognition:
        if keypoints and matches.comparison and memory.keypoints:
            matches = self._verify(memory, matches, memory.keypoints, keypoints)
        wanted = count or self.candidates
        order = sort_highest(matches.scores, max(wanted, RANKED, self.support_matches))
        ranks = range(min(wanted, len(order)))
        found = tuple(self._pick(memory, descriptor, matches, order, rank, neighbourhood) for rank in ranks)
        ranked = tuple(matches.rows[order[:RANKED]].tolist())
        return Recognition(found, leverage, matches.constrained, matches.comparison, ranked=ranked)

    def _allow(self, scores: PlaceScores | None, neighbourhood: Neighbourhood) -> list[int] | None:
        """The places that constrain the search; None where nothing does."""
        if scores and self.mode == "places" and self.best_places and self.trust(scores.leverage) >= HALF:
            return neighbourhood(scores.best(self.best_places))
        return None

    def _match(
        self,
        memory: Memory,
        descriptor: Float[np.ndarray, " dim"],
        scores: PlaceScores | None,
        neighbourhood: Neighbourhood,
        compare: bool,
        shared: Shared | None,
    ) -> "_Matches":
        background = memory.background(descriptor, shared)
        center, deviation = _center_and_deviation(background)
        trust = self.trust(scores.leverage) if scores and self.mode == "places" else 0.0
        allowed = self._allow(scores, neighbourhood)
        rows = np.arange(len(memory)) if allowed is None else memory.rows_of(allowed)
        everywhere = memory.similarities(descriptor, shared=shared) if compare else None
        cosines = memory.similarities(descriptor, allowed, shared) if everywhere is None else everywhere[rows]
        total = (cosines - center) / deviation
        # Probes also contradict a constrained search where it has not looked.
        probed = (background - center) / deviation
        term = trust * self._place_term(scores) if scores and trust > 0 else None
        if term is not None:
            total += term[memory.places[rows]]
            probed += term[memory.places[memory.probes]]
        comparison = None
        if everywhere is not None:
            places = np.zeros(len(memory)) if term is None else term[memory.places]
            comparison = Comparison((everywhere - center) / deviation, places)
        unseen = np.zeros(len(probed), dtype=bool)
        if allowed is not None:
            unseen = ~np.isin(memory.places[memory.probes], allowed)
        elsewhere = _Unseen(memory.probes[unseen], probed[unseen])
        modes = scores.posterior if scores and self.grouped else None
        return _Matches(rows, total, elsewhere, allowed is not None, comparison, modes)

    def _verify(
        self, memory: Memory, matches: "_Matches", references: ReferenceKeypoints, find: LazyKeypoints
    ) -> "_Matches":
        """Match local features with the best references, unless the descriptor leaves no doubt of the place."""
        best = matches.rows[sort_highest(matches.scores, VERIFIED)]
        likely = np.exp(SHARPNESS * (matches.scores - matches.scores.max()))
        radius = self.support_radius or memory.reference.place
        here = _near(memory.positions[matches.rows], memory.positions[best[0]], radius)
        if likely[here].sum() > BEYOND_DOUBT * likely.sum() or matches.comparison is None:
            return matches
        away = ~_near(memory.positions[memory.probes], memory.positions[best[0]], _ELSEWHERE * radius)
        controls = memory.probes[away][:: max(1, int(away.sum()) // _CONTROLS)][:_CONTROLS]
        surplus = measure_surplus(find(), *([references[row] for row in rows.tolist()] for rows in (best, controls)))
        local = np.full(len(memory), np.nan)
        local[best] = surplus
        scores = matches.scores + np.nan_to_num(local[matches.rows])
        return replace(matches, scores=scores, comparison=replace(matches.comparison, local=local))

    def _place_term(self, scores: PlaceScores) -> Float[np.ndarray, " classes"]:
        term = self.class_weight * _standardise(scores.scores)
        if scores.log_likelihoods is not None:
            likelihood = np.clip(_standardise(scores.log_likelihoods), -self.clip, self.clip)
            term = term + self.likelihood_weight * likelihood
        return term

    def _pick(
        self,
        memory: Memory,
        descriptor: Float[np.ndarray, " dim"],
        matches: "_Matches",
        order: Int[np.ndarray, " rows"],
        rank: int,
        neighbourhood: Neighbourhood,
    ) -> Candidate:
        """A candidate, its support and its margin over those behind it.

        Candidates before it are rejected by the time that it is judged. Grouped, a match is here if its place is the
        candidate's or next to it, and what G's mixtures give to these places is the support: a mode of the route has
        some, a place that merely looks alike is alone.
        """
        score, row = float(matches.scores[order[rank]]), int(matches.rows[order[rank]])
        if matches.modes is None:
            group = None
            support = self._is_near(memory, matches.rows[order[: self.support_matches]], row, group).mean()
        else:
            group = neighbourhood([int(memory.places[row])])
            support = matches.modes[group].sum()
        away = ~self._is_near(memory, matches.rows, row, group)
        away[order[:rank]] = False
        unseen = matches.unseen.scores[~self._is_near(memory, matches.unseen.rows, row, group)]
        return memory.name_candidate(
            row,
            similarity=memory.measure_cosine(row, descriptor),
            score=score,
            support=min(float(support), 1.0),
            margin=score - float(max(matches.scores[away].max(initial=-np.inf), unseen.max(initial=-np.inf))),
        )

    def _is_near(
        self, memory: Memory, rows: Int[np.ndarray, " n"], row: int, group: list[int] | None
    ) -> Bool[np.ndarray, " n"]:
        """Which references are where a candidate is: around it, or in its group of places where there is one."""
        if group is not None:
            return np.isin(memory.places[rows], group)
        return _near(memory.positions[rows], memory.positions[row], self.support_radius or memory.reference.place)


@dataclass(frozen=True, slots=True)
class _Unseen:
    """Probes where a constrained search did not look."""

    rows: Int[np.ndarray, " n"]
    scores: Float[np.ndarray, " n"]


@dataclass(frozen=True, slots=True)
class _Matches:
    rows: Int[np.ndarray, " rows"]
    scores: Float[np.ndarray, " rows"]
    unseen: _Unseen
    constrained: bool
    comparison: Comparison | None
    modes: Float[np.ndarray, " classes"] | None = None
    """What G's mixtures say of each place, where candidates are grouped by it."""


def _near(
    positions: Float[np.ndarray, "n 2"], position: Float[np.ndarray, "2"], radius: float
) -> Bool[np.ndarray, " n"]:
    return np.hypot(*(positions - position).T) <= radius


def _center_and_deviation(values: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Median and MAD, the latter scaled to a standard deviation; 1 where the values do not vary."""
    center = float(np.median(values))
    deviation = MAD_TO_DEVIATION * float(np.median(np.abs(values - center)))
    return center, deviation if deviation > 0 else 1.0


def _standardise(values: Float[np.ndarray, " classes"]) -> Float[np.ndarray, " classes"]:
    center, deviation = _center_and_deviation(values)
    return (values - center) / deviation
