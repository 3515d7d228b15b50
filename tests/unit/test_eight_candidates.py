"""From the search to the verdict and into the files: eight candidates are judged, and the first one stays the first."""

import numpy as np
import pytest

from made_up import car_fusion, paper_tracking
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import load_estimates, save_estimates
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.retrieval.search import Retrieval
from tmapr.system import System, build, make_map
from tmapr.types import NANOSECONDS, Percept, Reason

REFERENCES, DIM, SPACING = 40, 32, 12.0
LOOKS_LIKE, IS_AT = 5, 20


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def system(candidates, **retrieval):
    """The paper's method; places are larger than the references' distance, so that the twin's place is looked at."""
    return System(
        places=Places(mixture=Mixture(dimension=8)),
        retrieval=Retrieval(candidates=candidates, **retrieval),
        tracking=paper_tracking(min_similarity=0.5),
        fusion=car_fusion(),
    )


@pytest.fixture(scope="module")
def reference():
    """A straight road of which no two places look alike."""
    looks = unit(np.random.default_rng(2).normal(size=(REFERENCES, DIM)))
    way = np.stack([SPACING * np.arange(REFERENCES), np.zeros(REFERENCES)], axis=1)
    return Recording.from_arrays("road", NANOSECONDS * np.arange(1, REFERENCES + 1), looks, truth=way)


def observe(reference, candidates, **retrieval):
    """A frame that looks a little more like another place than like its own, with a pose head that is right."""
    chosen = system(candidates, **retrieval)
    looks = [percept.descriptor for percept in reference.percepts]
    percept = Percept(
        100 * NANOSECONDS, unit(looks[LOOKS_LIKE] + 0.9 * looks[IS_AT]), reference.truth[IS_AT] + [1.0, 2.0]
    )
    return build(chosen, make_map(chosen, reference)).observe(percept)


SEARCHES = {
    "everywhere": {"mode": "global"},
    "in places": {"trusted_leverage": 1e6, "class_weight": 0.0},
    "grouped": {"trusted_leverage": 1e6, "class_weight": 0.0, "grouped": True},
}


@pytest.mark.parametrize("search", SEARCHES)
def test_one_candidate_is_rejected_and_among_eight_the_right_one_is_accepted(reference, search):
    one, eight = (observe(reference, candidates, **SEARCHES[search]) for candidates in (1, 8))
    assert (one.verdict.reason, one.candidate.reference) == (Reason.FAR_FROM_APR, LOOKS_LIKE)
    assert (eight.verdict.reason, eight.candidate.reference) == (Reason.ACCEPTED, IS_AT)
    assert eight.recognition.candidates.index(eight.candidate) > 0


def test_what_is_figured_before_the_gates_is_the_first_candidate(reference, tmp_path):
    estimate = observe(reference, 8, mode="global")
    save_estimates(tmp_path / "it.csv", tmp_path / "it.tum", [estimate], [False])
    table = load_estimates(tmp_path / "it.csv")
    assert (table.references.values[0], table.first.references.values[0]) == (IS_AT, LOOKS_LIKE)
    np.testing.assert_array_equal(table.first.positions.values[0], reference.truth[LOOKS_LIKE])
