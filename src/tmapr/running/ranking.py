"""Recall@N: how often one of the first N references shows the query's place, whatever any threshold says.

The share is over the opportunities of `loops`. A frame that cannot be used has no references and misses its own. The
model is asked again: a run keeps only the candidates that were judged. Of a streamed sequence it cannot be, since A_t
changed from frame to frame.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.percepts import Recording
from tmapr.evaluation.assessment import Recalls
from tmapr.evaluation.loops import correct_candidates
from tmapr.evaluation.trial import Queries
from tmapr.retrieval.memory import Memory
from tmapr.running.finished import FinishedRun
from tmapr.system import resume
from tmapr.types import Percept, Watch

RANKS = (1, 5, 10)

Rank = Callable[[Percept], Float[np.ndarray, "found 2"]]
"""Gives the positions of the references that the next percept of a drive looks most like, best first."""

Ranking = Callable[[], Rank]
"""Begins a drive."""


def rank_by_similarity(memory: Memory) -> Ranking:
    """Global retrieval: the plain cosine with every reference."""

    def rank(percept: Percept) -> Float[np.ndarray, "found 2"]:
        similarities = memory.similarities(percept.descriptor)
        count = min(RANKS[-1], len(memory))
        best = np.argpartition(-similarities, count - 1)[:count]
        return memory.positions[best[np.argsort(-similarities[best], kind="stable")]]

    return lambda: rank


def rank_by_system(run: FinishedRun) -> Ranking | None:
    """The run's own search with the state that adaptation left; None where that state did not make the estimates."""
    system = run.experiment.system
    if system.retrieval.mode == "off" or run.provenance.labels != "off" or not run.folder.state.exists():
        return None
    adapted = resume(system, run.environment, run.folder.state)

    def begin() -> Rank:
        localizer = adapted.fork()

        def rank(percept: Percept) -> Float[np.ndarray, "found 2"]:
            candidates = localizer.recognise(percept, RANKS[-1]).candidates
            localizer.observe(percept)  # the next frame is seen as this drive's
            return np.array([candidate.position for candidate in candidates]).reshape(-1, 2)

        return rank

    return begin


def recall_at(
    ranking: Ranking, recording: Recording, opportunity: Bool[np.ndarray, " n"], watch: Watch = iter
) -> Recalls | None:
    """Recall@1, 5 and 10 by N; `opportunity` has a row for each frame with a true position. None without any."""
    if not opportunity.any():
        return None
    rank = ranking()
    near = np.zeros((len(recording), RANKS[-1]), dtype=bool)
    for row in watch(range(len(recording))):
        percept, truth = recording.percepts[row], recording.truth[row]
        if not percept.fault:
            positions = rank(percept)
            near[row, : len(positions)] = correct_candidates(positions, np.broadcast_to(truth, positions.shape))
    hits = near[recording.known][opportunity]
    return {str(count): float(hits[:, :count].any(axis=1).mean()) for count in RANKS}


def recall_first(queries: Queries) -> Recalls | None:
    """Recall@1 of what was answered, whatever answered it; of later ranks nothing is kept."""
    if not queries.opportunity.any() or not queries.found.any():
        return None
    return {str(RANKS[0]): queries.recall_at_1, **{str(count): None for count in RANKS[1:]}}
