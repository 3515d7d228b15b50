"""What the host needs of a frame that was recognised on the device: one short tensor, and the values it becomes."""

from dataclasses import dataclass
from math import isinf, nan
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tmapr.retrieval.memory import Memory
from tmapr.types import Comparison, Recognition

_FRAME, _FAMILIAR, _EACH, _LIKELY = 3, 3, 5, 2


class Likely(NamedTuple):
    """What decides whether local features are matched, and with which references: see `Retrieval`."""

    rows: Int[np.ndarray, " best"]
    scores: Float[np.ndarray, " best"]
    share: float
    """Of all that is likely, what is where the best one is."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each number is: of the frame, of what is familiar, of the candidates, and of the references that rank best.

    Of the frame: leverage, whether places constrained the search, how much of what is likely is in one place. Of each
    candidate its row, plain cosine, score, support and margin, column by column: float64, which holds a row's number
    exactly. A score of −∞ is no candidate: a constrained search may find fewer than it looks for.
    """

    candidates: int
    likely: int
    scored: bool
    """Whether places are; without, there is no leverage."""
    centred: bool
    """Whether what a drive's views share is removed."""

    @property
    def first(self) -> int:
        """Where the row of the first candidate is."""
        return _FRAME + _FAMILIAR * self.centred

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.first + _EACH * self.candidates + _LIKELY * self.likely

    def unpack(
        self,
        packed: Float[np.ndarray, " numbers"],
        memory: Memory,
        comparison: Comparison | None = None,
        view: Float[np.ndarray, " dim"] | None = None,
    ) -> Recognition:
        """The recognition, with what else was fetched."""
        familiar = None
        if self.centred and packed[_FRAME]:
            familiar = np.array([packed[_FRAME + 1], packed[_FRAME + 2], nan])
        columns = packed[self.first :][: _EACH * self.candidates].reshape(_EACH, self.candidates)
        found = tuple(
            memory.name_candidate(int(row), similarity=cosine, score=score, support=support, margin=margin)
            for row, cosine, score, support, margin in columns.T.tolist()
            if not isinf(score)
        )
        leverage = float(packed[0]) if self.scored else None
        ranked = tuple(self.list_likely(packed).rows.tolist())
        return Recognition(found, leverage, bool(packed[1]), comparison, view, familiar, ranked)

    def list_likely(self, packed: Float[np.ndarray, " numbers"]) -> Likely:
        """The references that rank best, best first."""
        rows, scores = packed[self.size - _LIKELY * self.likely :].reshape(_LIKELY, self.likely)
        there = np.isfinite(scores)
        return Likely(rows[there].astype(np.int64), scores[there], float(packed[2]))
