"""What a candidate is ahead of: of those outside its places by probes, and of wrong pictures by local matches."""

import numpy as np
import pytest

from tmapr.keypoints import Keypoints
from tmapr.retrieval.memory import remember
from tmapr.retrieval.search import Retrieval
from tmapr.retrieval.verification import count_matches, measure_surplus
from tmapr.types import PlaceScores

REFS, PLACES, PROBES, RADIUS, KNOWN = 60, 10, 12, 10.0, 0.01


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def standardised(values, among):
    return (values - np.median(among)) / (1.4826 * np.median(np.abs(among - np.median(among))))


def test_a_confined_search_is_held_against_the_probes_it_did_not_look_at_with_their_places_terms(rng):
    way, looks = np.stack([2.0 * np.arange(REFS), np.zeros(REFS)], axis=1), unit(rng.normal(size=(REFS, 16)))
    places, frames = np.arange(REFS) * PLACES // REFS, np.arange(REFS)
    memory = remember(looks, way, places, frames, frames=frames, probes=PROBES)
    search = Retrieval(best_places=1, class_weight=1.0, trusted_leverage=0.1, probes=PROBES, support_radius=RADIUS)
    probes = np.linspace(0, REFS - 1, PROBES).astype(int)
    for query in unit(rng.normal(size=(10, 16))):
        scores = rng.normal(size=PLACES)
        (found,) = search.search(memory, query, PlaceScores(scores, KNOWN, None), list).candidates
        cosines = looks @ query
        terms = standardised(scores, scores) / (1 + (KNOWN / search.trusted_leverage) ** search.steepness)
        total = standardised(cosines, cosines[probes]) + terms[places]
        inside = places == np.argmax(scores)
        seen = frames[inside | np.isin(frames, probes)]
        rivals = seen[np.abs(way[seen, 0] - found.position[0]) > RADIUS]
        assert inside[found.reference]
        assert found.margin == pytest.approx(total[found.reference] - total[rivals].max(), abs=1e-4)


def test_matches_count_by_what_they_have_more_than_those_of_a_wrong_picture(rng):
    looks, spots = unit(rng.normal(size=(90, 64))).astype(np.float32), rng.uniform(0, 1, (90, 2)).astype(np.float32)
    query = Keypoints.quantise(spots, looks)
    right, wrong = Keypoints.quantise(spots[:80], looks[:80]), Keypoints.quantise(spots[:30], looks[:30])
    ahead = count_matches(query, right).strength - count_matches(query, wrong).strength
    assert ahead > 0.5
    assert measure_surplus(query, [right], [wrong]).tolist() == pytest.approx([ahead])
    assert measure_surplus(query, [wrong], [right]).tolist() == [0.0]
