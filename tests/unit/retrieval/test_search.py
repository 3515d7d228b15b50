"""The search against a plain reimplementation that looks at every reference, one by one."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tmapr.keypoints import Keypoints
from tmapr.retrieval.keypoints import ReferenceKeypoints
from tmapr.retrieval.memory import remember
from tmapr.retrieval.search import Retrieval
from tmapr.types import PlaceScores

REFS, DIM, PLACES, PROBES = 80, 16, 12, 32
KNOWN, UNKNOWN = 0.01, 1.0
ALONE = list
"""A neighbourhood in which no place has neighbours."""


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.fixture
def memory(rng):
    """A drive along a line, two metres between frames, seven frames to a place."""
    positions = np.stack([2.0 * np.arange(REFS), np.zeros(REFS)], axis=1)
    return remember(
        unit(rng.normal(size=(REFS, DIM)) + 1.0),
        positions,
        np.arange(REFS) // 7,
        np.arange(REFS),
        frames=np.arange(REFS),
        probes=PROBES,
    )


@pytest.fixture
def empty_memory():
    nothing = np.zeros(0, dtype=np.int64)
    return remember(np.zeros((0, DIM)), np.zeros((0, 2)), nothing, nothing, frames=nothing, probes=PROBES)


@pytest.fixture
def queries(rng):
    return unit(rng.normal(size=(20, DIM)) + 1.0)


@pytest.fixture
def scores(rng):
    """Place scores at a leverage, with or without the mixtures' opinion."""

    def at(leverage, *, mixture=True):
        likelihoods = rng.normal(size=PLACES) * 1000 if mixture else None
        return PlaceScores(rng.normal(size=PLACES) * 0.01, leverage, likelihoods)

    return at


def tuned(**changes):
    """A search whose numbers do not follow the defaults."""
    fixed = {"trusted_leverage": 0.1, "steepness": 4.0, "class_weight": 1.0, "likelihood_weight": 0.5, "probes": PROBES}
    return Retrieval(**fixed | {"support_radius": 10.0} | changes)


def standardised(values, among):
    spread = 1.4826 * np.median(np.abs(among - np.median(among)))
    return (values - np.median(among)) / spread


def brute_force(retrieval, memory, query, scores):
    """Score, cosine and position of every reference, in the order of the drive."""
    cosines = np.array([float(row.astype(float) @ query) for row in memory.descriptors[np.argsort(memory.frames)]])
    probed = np.linspace(0, REFS - 1, retrieval.probes).astype(int)
    total = standardised(cosines, cosines[probed])
    if retrieval.mode == "places" and scores is not None:
        trust = 1 / (1 + (scores.leverage / retrieval.trusted_leverage) ** retrieval.steepness)
        for frame in range(REFS):
            place = frame // 7
            total[frame] += trust * retrieval.class_weight * standardised(scores.scores, scores.scores)[place]
            if scores.log_likelihoods is not None:
                likely = standardised(scores.log_likelihoods, scores.log_likelihoods)[place]
                likely = min(max(likely, -retrieval.clip), retrieval.clip)
                total[frame] += trust * retrieval.likelihood_weight * likely
    return total, cosines, 2.0 * np.arange(REFS)


def assert_equals_brute_force(retrieval, memory, query, scores):
    recognition = retrieval.search(memory, query, scores, ALONE)
    found = recognition.candidates
    total, cosines, along = brute_force(retrieval, memory, query, scores)
    ranked = np.argsort(-total)
    assert memory.frames[list(recognition.ranked)].tolist() == ranked[:10].tolist()
    assert [candidate.reference for candidate in found] == list(ranked[: retrieval.candidates])
    for rank, (candidate, frame) in enumerate(zip(found, ranked, strict=False)):
        # The cosines are float32: 1e-7 over a spread of a few hundredths.
        assert candidate.score == pytest.approx(total[frame], abs=1e-4)
        assert candidate.similarity == pytest.approx(cosines[frame], abs=1e-6)
        near = np.abs(along - along[frame]) <= retrieval.support_radius
        assert candidate.support == np.mean(near[ranked[: retrieval.support_matches]])
        behind = [each for each in ranked[rank:] if not near[each]]
        assert candidate.margin == pytest.approx(total[frame] - total[behind].max(), abs=1e-4)
        assert (candidate.place, candidate.position.tolist()) == (frame // 7, [along[frame], 0.0])


@pytest.mark.parametrize("candidates", [1, 8])
def test_the_global_search_equals_brute_force(candidates, memory, queries):
    retrieval = tuned(mode="global", candidates=candidates)
    for query in queries:
        assert_equals_brute_force(retrieval, memory, query, None)


@pytest.mark.parametrize("candidates", [1, 8])
@pytest.mark.parametrize("mixture", [True, False])
@pytest.mark.parametrize("leverage", [0.0, 0.05, 0.1, 0.12, 3.0])
def test_the_search_in_all_places_equals_brute_force(candidates, mixture, leverage, memory, queries, scores):
    retrieval = tuned(candidates=candidates, best_places=0, clip=0.7)
    for query in queries:
        assert_equals_brute_force(retrieval, memory, query, scores(leverage, mixture=mixture))


def test_a_search_that_is_off_finds_nothing(memory, queries, scores):
    assert tuned(mode="off").search(memory, queries[0], scores(KNOWN), ALONE).candidates == ()


@pytest.mark.parametrize("mode", ["global", "places"])
def test_nothing_is_found_where_there_is_no_reference(mode, empty_memory, queries, scores):
    assert tuned(mode=mode).search(empty_memory, queries[0], scores(KNOWN), ALONE).candidates == ()


def favouring(place, leverage, places=PLACES):
    return PlaceScores(np.eye(places)[place], leverage)


@pytest.mark.parametrize("leverage", [0.0, 0.0999, 0.1])
def test_a_trusted_classifier_confines_the_search_to_its_places(leverage, memory, queries):
    retrieval = tuned(candidates=8, best_places=1, class_weight=0.0)
    for query in queries:
        found = retrieval.search(memory, query, favouring(5, leverage), lambda places: [4, *places, 6]).candidates
        assert len(found) == 8
        assert {candidate.place for candidate in found} <= {4, 5, 6}


def test_a_confined_search_finds_the_best_of_its_places(memory, queries):
    retrieval = tuned(best_places=1, class_weight=0.0)
    for query in queries:
        (found,) = retrieval.search(memory, query, favouring(5, KNOWN), lambda places: [4, *places, 6]).candidates
        rows = memory.rows_of([4, 5, 6])
        assert found.reference == memory.frames[rows[np.argmax(memory.similarities(query, [4, 5, 6]))]]


def test_a_confined_search_asks_for_the_best_places(memory, queries, scores):
    asked = []
    given = scores(KNOWN)
    tuned(best_places=3).search(memory, queries[0], given, lambda places: asked.append(list(places)) or list(places))
    assert asked == [given.best(3)]


@pytest.mark.parametrize("leverage", [0.1001, 0.5, UNKNOWN])
def test_a_classifier_that_is_not_trusted_does_not_confine(leverage, memory, queries):
    retrieval = tuned(best_places=1, class_weight=0.0)
    for query in queries:
        (found,) = retrieval.search(memory, query, favouring(5, leverage), ALONE).candidates
        assert found.reference == memory.frames[np.argmax(memory.similarities(query))]


def test_places_without_references_invent_nothing(memory, queries):
    new = favouring(PLACES + 1, KNOWN, places=PLACES + 2)
    assert tuned(best_places=1).search(memory, queries[0], new, ALONE).candidates == ()


def test_fewer_references_than_candidates_are_all_returned(memory, queries):
    found = tuned(candidates=8, best_places=1).search(memory, queries[0], favouring(2, KNOWN), ALONE).candidates
    assert sorted(candidate.reference for candidate in found) == list(range(14, 21))


def test_a_probe_outside_the_confined_search_still_contradicts(memory):
    probe = memory.probes[1]
    query = unit(memory.descriptors[probe].astype(float))
    (found,) = tuned(best_places=1, class_weight=0.0).search(memory, query, favouring(8, KNOWN), ALONE).candidates
    assert found.place == 8 != memory.places[probe]
    assert found.margin < 0


@pytest.mark.parametrize("radius", [2.0 * REFS, 1e9])
def test_the_margin_is_infinite_where_nothing_lies_elsewhere(radius, memory, queries):
    (found,) = tuned(mode="global", support_radius=radius).search(memory, queries[0], None, ALONE).candidates
    assert (found.margin, found.support) == (math.inf, 1.0)


def test_how_far_support_reaches_is_what_the_map_calls_a_place(memory, queries):
    set_, left = (tuned(mode="global", support_radius=radius) for radius in (memory.reference.place, 0.0))
    for query in queries:
        ours, theirs = (each.search(memory, query, None, ALONE).first for each in (left, set_))
        assert (ours.support, ours.margin) == (theirs.support, theirs.margin)


def test_references_that_all_look_alike_are_still_ranked():
    alike = np.tile(unit(np.ones(DIM)), (10, 1))
    where = np.arange(20.0).reshape(10, 2)
    memory = remember(alike, where, np.zeros(10, dtype=int), np.arange(10), frames=np.arange(10), probes=8)
    (found,) = tuned(mode="global").search(memory, alike[0], None, ALONE).candidates
    assert math.isfinite(found.score)


@pytest.mark.parametrize("steepness", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("trusted", [0.05, 0.3])
def test_trust_is_one_half_at_the_trusted_leverage(steepness, trusted):
    assert tuned(trusted_leverage=trusted, steepness=steepness).trust(trusted) == 0.5


@pytest.mark.parametrize("leverage", [0.0, -1e-12])
def test_trust_is_full_where_everything_was_learned(leverage):
    assert tuned().trust(leverage) == 1.0


@pytest.mark.parametrize(
    ("settings", "leverage", "constrained"),
    [
        ({"best_places": 1}, KNOWN, True),
        ({"best_places": 1}, 3.0, False),
        ({"best_places": 0}, KNOWN, False),
        ({"best_places": 1, "mode": "global"}, KNOWN, False),
        ({"best_places": 1, "mode": "off"}, KNOWN, False),
    ],
)
def test_a_recognition_says_whether_places_constrained_it_and_how_strange_the_frame_is(
    settings, leverage, constrained, memory, queries
):
    found = tuned(**settings).search(memory, queries[0], favouring(5, leverage), ALONE)
    assert (found.constrained, found.leverage) == (constrained, leverage)


def test_without_place_scores_there_is_no_leverage(memory, queries):
    assert tuned(mode="global").search(memory, queries[0], None, ALONE).leverage is None


def test_more_candidates_than_are_judged_may_be_asked_for(memory, queries, scores):
    given = scores(KNOWN)
    for retrieval in (tuned(), tuned(candidates=8)):
        few, many = (retrieval.search(memory, queries[0], given, ALONE, count) for count in (None, 10))
        assert len(many.candidates) == 10
        assert [each.reference for each in few.candidates] == [
            each.reference for each in many.candidates[: retrieval.candidates]
        ]
        assert many.first.reference == few.first.reference


def see_points(rng, count=60):
    looks = unit(rng.normal(size=(count, 64)).astype(np.float32)).astype(np.float32)
    return Keypoints.quantise(rng.uniform(0, 1, (count, 2)).astype(np.float32), looks)


def map_with_keypoints(looks, points):
    """As `memory`, with other looks."""
    line = np.stack([2.0 * np.arange(REFS), np.zeros(REFS)], axis=1)
    numbers = np.arange(REFS)
    made = remember(looks, line, numbers // 7, numbers, frames=numbers, probes=PROBES)
    return replace(made, keypoints=ReferenceKeypoints([lambda each=each: each for each in points]))


def test_among_places_that_look_alike_local_matches_decide(memory, rng):
    """Frames 20 and 60 have one descriptor: only their keypoints tell them apart."""
    looks = np.array(memory.descriptors, dtype=float)
    looks[60] = looks[20]
    points = [see_points(rng) for _ in range(REFS)]
    twins = map_with_keypoints(looks, points)
    search = Retrieval(mode="global", probes=PROBES).search
    for right in (20, 60):
        asked = []

        def look(seen=points[right], asked=asked):
            asked.append(1)
            return seen

        found = search(twins, looks[20], None, ALONE, compare=True, keypoints=look)
        assert found.first.reference == right
        assert asked == [1]
        local = found.comparison.local
        assert np.nanargmax(local) == right
        assert (~np.isnan(local)).sum() == 10
        assert np.nanmin(local) >= 0


def refuse():
    raise AssertionError("there was no need to look")


def test_without_doubt_nobody_looks_for_keypoints(memory, rng):
    looks = unit(np.eye(DIM)[0] + 0.05 * rng.normal(size=(REFS, DIM)))
    looks[30] = np.eye(DIM)[1]
    points = [see_points(rng) for _ in range(REFS)]
    search = Retrieval(mode="global", probes=PROBES).search
    found = search(map_with_keypoints(looks, points), looks[30], None, ALONE, compare=True, keypoints=refuse)
    assert found.first.reference == 30
    assert found.comparison.local is None
    doubtful, view = map_with_keypoints(memory.descriptors, points), unit(memory.descriptors.mean(axis=0).astype(float))
    with pytest.raises(AssertionError, match="no need"):
        search(doubtful, view, None, ALONE, compare=True, keypoints=refuse)
    assert search(doubtful, view, None, ALONE, keypoints=refuse).first, "the paper's method does not verify"


NEIGHBOURS = {place: [each for each in (place - 1, place, place + 1) if 0 <= each < PLACES] for place in range(PLACES)}


def around(places):
    """Along the line the places before and after one."""
    return sorted({each for place in places for each in NEIGHBOURS[place]})


GROUPED = Retrieval(grouped=True, class_weight=0.0, best_places=0, probes=PROBES, candidates=8)


def test_a_group_is_supported_by_the_mixtures_and_rivals_are_outside(memory, queries, scores, rng):
    for query in queries:
        chances = rng.dirichlet(np.ones(PLACES))
        given = replace(scores(KNOWN), posterior=chances)
        total, *_ = brute_force(GROUPED, memory, query, given)
        order = np.argsort(-total, kind="stable")
        found = GROUPED.search(memory, query, given, around).candidates
        assert [each.reference for each in found] == order[:8].tolist()
        for rank, each in enumerate(found):
            group = NEIGHBOURS[each.place]
            rivals = [frame for frame in order[rank:] if frame // 7 not in group]
            assert each.support == pytest.approx(chances[group].sum())
            assert each.margin == pytest.approx(total[order[rank]] - total[rivals].max(), abs=1e-4)


def replace_setting(retrieval, **values):
    return Retrieval(**{**retrieval.model_dump(), **values})


def test_without_G_nothing_is_grouped(memory, queries, scores):  # noqa: N802
    plain = replace_setting(GROUPED, grouped=False)
    for query in queries:
        given = scores(KNOWN, mixture=False)
        both = (each.search(memory, query, given, around).candidates for each in (GROUPED, plain))
        one, other = ([(each.reference, each.score, each.support, each.margin) for each in found] for found in both)
        assert one == other
