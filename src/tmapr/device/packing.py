"""What the host needs of a frame that was recognised on the device: one short tensor, and the values it becomes."""

from dataclasses import dataclass
from math import isinf, nan

import numpy as np
from jaxtyping import Float

from tmapr.retrieval.memory import Memory
from tmapr.types import Comparison, Recognition

_FRAME, _FAMILIAR, _EACH = 2, 3, 5


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each number is: leverage, whether places constrained the search, what is familiar, then the candidates.

    Of each candidate its row, plain cosine, score, support and margin, column by column: float64, which holds a row's
    number exactly. A score of −∞ is no candidate: a constrained search may find fewer than it looks for.
    """

    candidates: int
    centred: bool

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return _FRAME + _FAMILIAR * self.centred + _EACH * self.candidates

    def unpack(
        self,
        packed: Float[np.ndarray, " numbers"],
        memory: Memory,
        *,
        scored: bool = True,
        comparison: Comparison | None = None,
        view: Float[np.ndarray, " dim"] | None = None,
    ) -> Recognition:
        """The recognition, with what else was fetched; without `scored`, no place was, and there is no leverage."""
        leverage, constrained = float(packed[0]) if scored else None, bool(packed[1])
        familiar = None
        if self.centred and packed[_FRAME]:
            familiar = np.array([packed[_FRAME + 1], packed[_FRAME + 2], nan])
        columns = packed[self.size - _EACH * self.candidates :].reshape(_EACH, self.candidates)
        found = tuple(
            memory.name_candidate(int(row), similarity=cosine, score=score, support=support, margin=margin)
            for row, cosine, score, support, margin in columns.T.tolist()
            if not isinf(score)
        )
        return Recognition(found, leverage, constrained, comparison, view, familiar)
