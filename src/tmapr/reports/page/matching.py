"""The queries of a sequence against the whole map: what this system matched, and what global retrieval would have."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.curves import Curve, precision_recall
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.reports.figures.gallery import Disagreements, find_disagreements
from tmapr.reports.figures.similarity_matrix import Pairs
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.retrieval.verification import Matches, count_matches

_MOST = 1500
"""Queries of which every similarity is looked at, spread over the sequence."""


@dataclass(frozen=True)
class Matching:
    """Rows are queries with a usable image, columns the references in the order they were driven."""

    run: ReportedRun
    sequence: ReportedSequence

    @cached_property
    def rows(self) -> Int[np.ndarray, " queries"]:
        """The frames of the queries."""
        usable = np.flatnonzero([not percept.fault for percept in self.sequence.trial.recording.percepts])
        kept = np.linspace(0, len(usable) - 1, min(_MOST, len(usable))).round().astype(int)
        return usable[kept]

    @cached_property
    def judged(self) -> bool:
        """Whether any query has a match and a true position."""
        return bool((self.ours.known & self.truth.known).any())

    @cached_property
    def similarities(self) -> Float[np.ndarray, "queries refs"]:
        """Cosine of every query with every reference."""
        descriptors = np.stack([self.sequence.trial.recording.percepts[row].descriptor for row in self.rows.tolist()])
        return descriptors.astype(np.float32) @ self.run.memory.descriptors[self.references].T

    @cached_property
    def positions(self) -> Float[np.ndarray, "refs 2"]:
        """Where the references were taken."""
        return self.run.memory.positions[self.references]

    @cached_property
    def truth(self) -> Column:
        """Where the queries were taken."""
        return Column(self.sequence.truth.values[self.rows], self.sequence.truth.known[self.rows])

    @cached_property
    def ours(self) -> Column:
        """The reference that the system ranks first for each query, as a column."""
        first, columns = self.sequence.table.first, np.argsort(self.references)
        frames, known = first.references.values[self.rows], first.references.known[self.rows]
        found = np.zeros(len(self.rows), dtype=np.int64)
        for query in np.flatnonzero(known).tolist():
            place = first.positions.values[self.rows[query]]
            found[query] = columns[self.run.memory.find(int(frames[query]), place)]
        return Column(found, known)

    @cached_property
    def disagreements(self) -> Disagreements:
        """Where this system and global retrieval differ."""
        return find_disagreements(self.similarities, self.positions, truth=self.truth, ours=self.ours)

    @property
    def matches(self) -> Pairs:
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

    def match_points(self, row: int, column: int) -> Matches | None:
        """The local matches of a query with a reference; None where the run kept no keypoints."""
        find = self.sequence.trial.recording.percepts[int(self.rows[row])].keypoints
        kept = self.run.memory.keypoints
        return count_matches(find(), kept[int(self.references[column])]) if find and kept else None

    def curves(self) -> dict[str, Curve]:
        """Precision over recall of this system and of global retrieval, on the same queries."""
        known = self.truth.known
        where: Float[np.ndarray, "n 2"] = self.truth.values[known]
        similarities = self.similarities[known]
        answers = {
            "ours": (
                self.ours.values[known],
                self.sequence.table.first.similarities.values[self.rows][known],
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

    @property
    def references(self) -> Int[np.ndarray, " refs"]:
        """The row of each column in the map's memory."""
        return self.run.memory.order
