"""What a frame says of every reference: a softmax whose mean over the route is one, and weights that labels sharpen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial import cKDTree
from scipy.special import log_softmax, logsumexp

from tmapr.tracking.evidence import _PLACE, _SIMILARITY, _USUAL, FLOOR, Scale, add_up, spread_matches, weigh
from tmapr.types import Comparison

REFERENCES = 60


def uneven(rng, count=REFERENCES):
    """The share of the way of each reference."""
    share = rng.uniform(0.2, 2.0, count)
    return share / share.sum()


def compared(rng, count=REFERENCES):
    return Comparison(rng.normal(size=count), 0.5 * rng.normal(size=count))


def softmax_evidence(frame, share, similarity, place):
    """The same from scipy's softmax over the way."""
    total = similarity * frame.similarity + place * frame.place
    chance = log_softmax(total + np.log(share)) - np.log(share)
    return logsumexp([np.full(len(share), np.log(FLOOR)), np.log(1 - FLOOR) + chance], axis=0)


def test_evidence_is_the_softmax_over_the_way_with_a_floor(rng):
    for _ in range(10):
        frame, share = compared(rng), uneven(rng)
        np.testing.assert_allclose(
            weigh(frame, share, (3.0, 1.5)), softmax_evidence(frame, share, 3.0, 1.5), atol=1e-12
        )


@given(seed=st.integers(0, 2**32 - 1), similarity=st.floats(0.0, 50.0), place=st.floats(0.0, 50.0))
def test_its_exponential_is_one_in_the_mean_over_the_route(seed, similarity, place):
    rng = np.random.default_rng(seed)
    frame, share = compared(rng), uneven(rng)
    evidence = weigh(frame, share, (similarity, place))
    assert np.exp(evidence) @ share == pytest.approx(1.0, rel=1e-12)
    assert evidence.min() >= np.log(FLOOR)


def test_a_frame_that_is_brighter_or_darker_altogether_says_the_same(rng):
    frame, share = compared(rng), uneven(rng)
    shifted = Comparison(frame.similarity + 7.0, frame.place - 3.0)
    np.testing.assert_allclose(weigh(shifted, share, (2.0, 2.0)), weigh(frame, share, (2.0, 2.0)), atol=1e-12)


def labelled(rng, frames, strength):
    """Frames and where they were taken, drawn so that the softmax with these weights is the truth."""
    share = np.full(REFERENCES, 1 / REFERENCES)
    found = []
    for _ in range(frames):
        frame = compared(rng)
        total = strength[0] * frame.similarity + strength[1] * frame.place
        right = np.zeros(REFERENCES, dtype=bool)
        right[np.argmax(total + rng.gumbel(size=REFERENCES))] = True
        found.append((frame, right))
    return share, found


def learned(share, frames):
    scale = Scale()
    for frame, right in frames:
        scale.learn(frame, share, right)
    return scale


def test_the_order_of_the_labels_does_not_matter_and_states_add_up(rng):
    share, frames = labelled(rng, 12, (2.0, 1.0))
    whole = learned(share, frames).likelihoods
    np.testing.assert_allclose(learned(share, frames[::-1]).likelihoods, whole, atol=1e-10)
    parts = learned(share, frames[:5]).likelihoods + learned(share, frames[5:]).likelihoods
    np.testing.assert_allclose(parts, whole, atol=1e-10)


def test_the_best_of_the_grid_is_next_to_what_an_optimizer_finds(rng):
    share, frames = labelled(rng, 20, (2.0, 2.0))

    def surprise(logarithms):
        weights = np.exp(logarithms)
        return -sum(softmax_evidence(frame, share, *weights)[right].sum() for frame, right in frames)

    best = np.exp(minimize(surprise, np.zeros(2), method="Nelder-Mead").x)
    likelihoods = learned(share, frames).likelihoods
    row, column = np.unravel_index(np.argmax(likelihoods), likelihoods.shape)
    # The grid has half an octave between its lines.
    assert abs(np.log2(_SIMILARITY[row] / best[0])) <= 0.5
    assert abs(np.log2(_PLACE[column] / best[1])) <= 0.5
    assert -likelihoods[row, column] >= surprise(np.log(best)) - 1e-9


def test_nothing_learned_leaves_the_usual_weights():
    assert Scale().weights == _USUAL


@pytest.mark.parametrize(("strength", "sharper"), [((6.0, 4.0), True), ((0.3, 0.3), False)])
def test_labels_move_the_weights_towards_what_fits_them(strength, sharper, rng):
    weights = learned(*labelled(rng, 60, strength)).weights
    assert all((found > usual) == sharper for found, usual in zip(weights, _USUAL, strict=True))


def test_of_a_large_map_a_sample_and_the_right_references_are_enough(rng):
    count = 9000
    share, frame = np.full(count, 1 / count), compared(rng, count)
    right = np.zeros(count, dtype=bool)
    right[1234] = True
    frame.similarity[1234] += 5.0
    scale = Scale()
    scale.learn(frame, share, right)
    whole = np.array([[softmax_evidence(frame, share, a, b)[1234] for b in _PLACE] for a in _SIMILARITY])
    # A quarter of the references is looked at, and among them the right one always.
    assert np.abs(scale.likelihoods - whole)[:5].max() < np.log(4.0) + 0.2


def test_matches_with_a_reference_speak_for_its_neighbours_as_plain_loops_say(rng):
    positions, reach = rng.uniform(0, 60, (REFERENCES, 2)), 10.0
    local = np.where(rng.uniform(size=REFERENCES) < 0.2, rng.uniform(0, 3, REFERENCES), np.nan)
    frame = replace(compared(rng), local=local)
    spread = spread_matches(frame, positions, cKDTree(positions), reach)
    for row in range(REFERENCES):
        away = np.hypot(*(positions - positions[row]).T)
        heard = [local[other] * max(1 - away[other] / reach, 0) for other in np.flatnonzero(~np.isnan(local))]
        expected = max([0.0, *heard]) if np.isnan(local[row]) else local[row]
        assert spread.local[row] == pytest.approx(expected)
    np.testing.assert_allclose(add_up(spread, (2.0, 3.0)), 2.0 * (frame.similarity + spread.local) + 3.0 * frame.place)
    plain = compared(rng)
    assert spread_matches(plain, positions, cKDTree(positions), reach) is plain
