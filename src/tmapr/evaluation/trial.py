"""One test sequence as evaluation sees it: what was said of every frame, beside what was true and what was mapped."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.beliefs import RouteBeliefs
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import Column, EstimateTable
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.retrieval.memory import Memory
from tmapr.types import Status


@dataclass(frozen=True, slots=True)
class Queries:
    """The frames with a true position as queries for loops, see `loops`; each is about its first candidate."""

    similarity: Float[np.ndarray, " n"]
    found: Bool[np.ndarray, " n"]
    correct: Bool[np.ndarray, " n"]
    opportunity: Bool[np.ndarray, " n"]

    def accepted(self, threshold: float) -> Bool[np.ndarray, " n"]:
        """Whether each query's candidate reaches the threshold."""
        return self.found & (self.similarity >= threshold)

    @property
    def recall_at_1(self) -> float | None:
        """Share of the opportunities whose candidate is right, whatever any threshold says."""
        right = (self.correct & self.found)[self.opportunity]
        return float(right.mean()) if len(right) else None


@dataclass(frozen=True)
class Trial:
    """The estimates, the percepts and truth they were made from, the map, and the threshold of similarity."""

    table: EstimateTable
    recording: Recording
    memory: Memory
    threshold: float
    beliefs: RouteBeliefs | None = None
    """Over the references of the map, after each frame; only the route filter has some."""

    @property
    def fused(self) -> Column:
        """The filter's positions: every frame has one."""
        return Column(self.table.positions, np.ones(len(self.recording), dtype=bool))

    @property
    def localized(self) -> Bool[np.ndarray, " n"]:
        """Whether the filter claimed to know where it is."""
        return np.array([status is Status.LOCALIZED for status in self.table.statuses])

    @property
    def mapped_speed(self) -> float:
        """v₉₉ of the traverses that were mapped: what a jump is measured by."""
        return self.memory.reference.top_speed

    @cached_property
    def queries(self) -> Queries:
        """What the first candidates are worth; every frame is held against every reference once."""
        known, first = self.recording.known, self.table.first
        truth: Float[np.ndarray, "n 2"] = self.recording.truth[known]
        return Queries(
            similarity=first.similarities.values[known],
            found=first.similarities.known[known],
            correct=correct_candidates(first.positions.values[known], truth),
            opportunity=opportunities(truth, self.memory.positions),
        )
