"""The queries of a sequence against the whole map: what this system matched, and what global retrieval would have."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.curves import Curve, precision_recall
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.reports.evidence import RunEvidence, SequenceEvidence
from tmapr.reports.gallery import Examples, chosen_examples
from tmapr.reports.matrix import Pairs

_MOST = 1500
"""Queries of which every similarity is looked at, spread over the sequence."""


@dataclass(frozen=True)
class Matching:
    """Rows are queries with a usable image, columns the references in the order of their frames."""

    run: RunEvidence
    sequence: SequenceEvidence

    @cached_property
    def rows(self) -> Int[np.ndarray, " queries"]:
        """The frames of the queries."""
        usable = np.flatnonzero([not percept.fault for percept in self.sequence.recording.percepts])
        kept = np.linspace(0, len(usable) - 1, min(_MOST, len(usable))).round().astype(int)
        return usable[kept]

    @cached_property
    def judged(self) -> bool:
        """Whether any query has a match and a true position."""
        return bool((self.ours.known & self.truth.known).any())

    @cached_property
    def similarities(self) -> Float[np.ndarray, "queries refs"]:
        """Of every query to every reference."""
        descriptors = np.stack([self.sequence.recording.percepts[row].descriptor for row in self.rows.tolist()])
        return descriptors.astype(np.float32) @ self.run.memory.descriptors[self._order].T

    @cached_property
    def positions(self) -> Float[np.ndarray, "refs 2"]:
        """Of the references."""
        return self.run.memory.positions[self._order]

    @cached_property
    def frames(self) -> Int[np.ndarray, " refs"]:
        """Of the references, in their traverse."""
        return self.run.memory.frames[self._order]

    @cached_property
    def truth(self) -> Column:
        """Where the queries were taken."""
        return Column(self.sequence.truth.values[self.rows], self.sequence.truth.known[self.rows])

    @cached_property
    def ours(self) -> Column:
        """The system's match of each query, as a column."""
        values, known = (part[self.rows] for part in (self.sequence.references.values, self.sequence.references.known))
        return Column(np.where(known, np.searchsorted(self.frames, np.where(known, values, 0)), 0), known)

    @cached_property
    def examples(self) -> Examples:
        """Where this system and global retrieval differ."""
        return chosen_examples(self.similarities, self.positions, truth=self.truth, ours=self.ours)

    @property
    def matched(self) -> Pairs:
        """The system's matches."""
        rows = np.flatnonzero(self.ours.known)
        return Pairs(rows, self.ours.values[rows])

    @property
    def nearest(self) -> Pairs:
        """The true nearest reference of each query that shows a mapped place."""
        rows = np.flatnonzero(self.truth.known)
        rows = rows[opportunities(self.truth.values[rows], self.positions)]
        away = np.hypot(*(self.truth.values[rows, None] - self.positions).transpose(2, 0, 1))
        return Pairs(rows, away.argmin(axis=1))

    def curves(self) -> dict[str, Curve]:
        """Precision over recall of this system and of global retrieval, on the same queries."""
        known = self.truth.known
        where: Float[np.ndarray, "n 2"] = self.truth.values[known]
        similarities = self.similarities[known]
        answers = {
            "ours": (
                self.ours.values[known],
                self.sequence.similarities.values[self.rows][known],
                self.ours.known[known],
            ),
            "global retrieval": (similarities.argmax(axis=1), similarities.max(axis=1).astype(float), known[known]),
        }
        chances = opportunities(where, self.positions)
        return {
            name: precision_recall(
                values, found=found, correct=correct_candidates(self.positions[columns], where), opportunity=chances
            )
            for name, (columns, values, found) in answers.items()
        }

    @cached_property
    def _order(self) -> Int[np.ndarray, " refs"]:
        return np.argsort(self.run.memory.frames)
