"""What a frame says of every reference, against scipy's softmax and plain loops; how one stands among the others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, logsumexp

from routes import lay, line, shake
from tmapr.tracking import RouteModel
from tmapr.tracking.evidence import weigh
from tmapr.tracking.margin import stand_out
from tmapr.types import Comparison

MODEL = RouteModel()
ROUTE = lay(shake(line(40), 3), shake(line(20, beside=9.0)[::-1], 4))
"""Of two drives along streets nine metres apart, so that rows, references and neighbours are three orders."""
REFERENCES = len(ROUTE.rows)
REACH = 10.0


def compared(rng):
    return Comparison(rng.normal(size=REFERENCES), 0.5 * rng.normal(size=REFERENCES))


def softmax_evidence(frame, model, local=0.0):
    """In the order of the route."""
    total = (model.similarity_weight * (frame.similarity + local) + model.place_weight * frame.place)[ROUTE.rows]
    with np.errstate(divide="ignore"):
        share = np.log(ROUTE.share)
    chance = log_softmax(total + share) - share
    return logsumexp([np.full(REFERENCES, np.log(model.blind)), np.log(1 - model.blind) + chance], axis=0)


@pytest.mark.parametrize("numbers", [{}, {"similarity_weight": 0.7, "place_weight": 3.0, "blind": 0.5}])
def test_evidence_is_the_softmax_over_the_way_and_what_blind_views_leave(numbers, rng):
    model = RouteModel(**numbers)
    for _ in range(10):
        frame = compared(rng)
        np.testing.assert_allclose(weigh(frame, ROUTE, model, REACH), softmax_evidence(frame, model), atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), sharp=st.floats(0.0, 100.0))
def test_its_exponential_is_one_in_the_mean_over_the_route(seed, sharp):
    frame = compared(np.random.default_rng(seed))
    evidence = weigh(replace(frame, similarity=sharp * frame.similarity), ROUTE, MODEL, REACH)
    assert np.exp(evidence) @ ROUTE.share == pytest.approx(1.0, rel=1e-12)
    assert evidence.min() >= np.log(MODEL.blind)


def test_a_frame_that_is_like_all_more_or_less_says_the_same(rng):
    frame = compared(rng)
    shifted = Comparison(frame.similarity + 7.0, frame.place - 3.0)
    np.testing.assert_allclose(weigh(shifted, ROUTE, MODEL, REACH), weigh(frame, ROUTE, MODEL, REACH), atol=1e-12)


def test_a_frame_that_is_alike_to_all_says_nothing():
    same = Comparison(np.full(REFERENCES, 9.0), np.zeros(REFERENCES))
    np.testing.assert_allclose(weigh(same, ROUTE, MODEL, REACH), 0.0, atol=1e-12)


def test_matches_with_a_reference_speak_for_its_neighbours_as_plain_loops_say(rng):
    matched = np.where(rng.uniform(size=REFERENCES) < 0.2, rng.uniform(0, 3, REFERENCES), np.nan)
    frame, spread = compared(rng), np.zeros(REFERENCES)
    for here, row in enumerate(ROUTE.rows):
        away = np.hypot(*(ROUTE.positions - ROUTE.positions[here]).T)
        local = matched[ROUTE.rows]
        heard = [local[other] * max(1 - away[other] / REACH, 0) for other in np.flatnonzero(~np.isnan(local))]
        spread[row] = max([0.0, *heard]) if np.isnan(matched[row]) else matched[row]
    assert ((spread > 0) & np.isnan(matched)).any()
    np.testing.assert_allclose(
        weigh(replace(frame, local=matched), ROUTE, MODEL, REACH), softmax_evidence(frame, MODEL, spread), atol=1e-12
    )


@pytest.mark.parametrize("size", [1, 7, 10, 11, 500])
def test_support_and_lead_of_a_reference_are_those_of_a_sort(size, rng):
    similarity, place = rng.normal(size=(2, size))
    total, row = similarity + place, int(rng.integers(size))
    around = np.flatnonzero(np.abs(np.arange(size) - row) < 3)
    best, far = np.argsort(-total)[:10], np.setdiff1d(np.arange(size), around)
    score, support, margin = stand_out(similarity, place, row, around, 10)
    assert score == total[row]
    assert support == pytest.approx(np.isin(best, around).mean())
    assert margin == pytest.approx(total[row] - total[far].max(initial=total.min()))
