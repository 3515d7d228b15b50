"""Recall@N: how often one of the first N references shows the query's place, whatever any threshold says.

The share is over the opportunities of `loops`. A frame that cannot be used has no references and misses its own.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.assessment import Recalls
from tmapr.evaluation.loops import correct_candidates
from tmapr.evaluation.trial import Queries

RANKS = (1, 5, 10)


def recall_at(
    ranked: Int[np.ndarray, "frames ranked"],
    recording: Recording,
    positions: Float[np.ndarray, "refs 2"],
    opportunity: Bool[np.ndarray, " n"],
) -> Recalls | None:
    """Recall@1, 5 and 10 by N of rows of the map, −1 where there are no more; None without an opportunity.

    `opportunity` has a row for each frame with a true position.
    """
    if not opportunity.any():
        return None
    rows, truth = ranked[recording.known][opportunity], recording.truth[recording.known][opportunity]
    columns = [(column >= 0) & correct_candidates(positions[column], truth) for column in rows.T]
    near = np.column_stack(columns)
    return {str(count): float(near[:, :count].any(axis=1).mean()) for count in RANKS}


def recall_first(queries: Queries) -> Recalls | None:
    """Recall@1 of the candidates that answered while A_t learned; of later ranks nothing is said."""
    if not queries.opportunity.any() or not queries.found.any():
        return None
    return {str(RANKS[0]): queries.recall_at_1, **{str(count): None for count in RANKS[1:]}}
