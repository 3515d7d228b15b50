"""Between references: a frame's place along the mapped line, finer than the map, and how far that can be trusted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routes import lay, line, look, ring, stopping
from tmapr.tracking.between import Reading, lay_between
from tmapr.types import Comparison

RADIUS, WEIGHTS = 16.0, (2.0, 2.0)


def seen_from(way, position, rng):
    """How a view from a position compares with those of a mapped way: the field that `lay` maps, seen again."""
    cosines = look(way, np.random.default_rng(1)) @ look(np.atleast_2d(position), rng)[0]
    centre = np.median(cosines)
    return Comparison((cosines - centre) / (1.4826 * np.median(np.abs(cosines - centre))), np.zeros(len(way)))


def read_at_references(route, near, compared, weights):
    """The plain version: a softmax over references, each with the metres that it owns."""
    total = 3.0 * (weights[0] * compared.similarity[near] + weights[1] * compared.place[near])
    likely = np.exp(total - total.max()) * route.widths[near]
    likely /= likely.sum()
    middle = likely @ route.positions[near]
    spread = np.cov(route.positions[near].T, aweights=likely, ddof=0)
    return middle, spread + np.eye(2) * route.spacing**2 / 12


@pytest.mark.parametrize("spacing", [6.0, 10.0])
def test_a_thinned_map_is_read_better_between_its_references_than_at_them(spacing, rng):
    way = line(80, spacing)
    route = lay(way)
    radius = max(RADIUS, 2 * spacing)
    between, at, beside = lay_between(route, radius), [], []
    for metres in np.arange(10 * spacing, 30 * spacing, 0.73):
        spot = np.array([metres, 0.0])
        near = np.array(route.tree.query_ball_point(spot, radius))
        compared = seen_from(way, spot, rng)
        beside.append(np.hypot(*(between.read(near, compared, WEIGHTS).position - spot)))
        at.append(np.hypot(*(read_at_references(route, near, compared, WEIGHTS)[0] - spot)))
    assert np.mean(np.square(beside)) < 0.25 * np.mean(np.square(at))
    assert np.sqrt(np.mean(np.square(beside))) < spacing / 20


def test_the_answer_of_a_thinned_map_is_that_of_the_dense_one(rng):
    dense, thinned = line(401, 0.5), line(26, 8.0)
    fine, coarse = (lay_between(lay(way), RADIUS) for way in (dense, thinned))
    for metres in np.arange(40.0, 160.0, 1.3):
        spot = np.array([metres, 0.0])
        answers = [
            between.read(np.flatnonzero(np.hypot(*(way - spot).T) <= RADIUS), seen_from(way, spot, rng), WEIGHTS)
            for between, way in ((fine, dense), (coarse, thinned))
        ]
        assert np.hypot(*(answers[0].position - answers[1].position)) < 1.0


def test_on_a_dense_map_it_is_the_reading_at_references(rng):
    way = stopping(60, at=30, frames=5) * 0.2
    route = lay(way)
    near = np.arange(10, 50)
    compared = Comparison(rng.normal(size=len(way)), rng.normal(size=len(way)))
    found = lay_between(route, RADIUS).read(near, compared, WEIGHTS)
    position, covariance = read_at_references(route, near, compared, WEIGHTS)
    np.testing.assert_allclose(found.position, position)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-12)


def test_a_frame_that_tells_nothing_is_as_uncertain_as_its_surroundings():
    route = lay(line(40, 4.0))
    flat = Comparison(np.zeros(40), np.zeros(40))
    found = lay_between(route, RADIUS).read(np.arange(10, 21), flat, WEIGHTS)
    # Uniform over the cells of references 10 to 20, and what lies between references.
    assert found.covariance[0, 0] == pytest.approx((11 * 4.0) ** 2 / 12 + 4.0**2 / 12, rel=0.02)
    assert found.position[0] == pytest.approx(15 * 4.0, abs=0.5)


@pytest.mark.parametrize(
    "way", [line(30, 4.0), ring(30, 4.0), stopping(30, at=12, frames=8)], ids=["open", "loop", "stop"]
)
def test_nodes_divide_what_the_references_own(way):
    route = lay(way)
    between = lay_between(route, RADIUS)
    driven = np.hypot(*np.diff(way, axis=0).T).sum()
    around = np.hypot(*(way[0] - way[-1])) if route.closed[0] else 0.0
    assert between.metres.sum() == pytest.approx(driven + around, abs=1.7)
    assert len(between.first) == len(route) + 1
    assert (np.diff(between.first) >= 1).all()


def test_two_traverses_are_never_mixed():
    route = lay(line(20, 4.0), line(20, 4.0, beside=50.0))
    assert set(np.round(lay_between(route, RADIUS).positions[:, 1], 9)) == {0.0, 50.0}


def test_a_gap_in_the_map_is_not_bridged():
    way = np.concatenate([line(20, 4.0), line(20, 4.0) + np.array([200.0, 0.0])])
    along = lay_between(lay(way), RADIUS).positions[:, 0]
    assert not ((along > 76.1) & (along < 199.9)).any()


numbers = st.floats(-50, 50)
scales = st.floats(0.05, 20)


@given(numbers, numbers, scales, scales, scales, scales, st.floats(0, 3))
def test_readings_join_as_information_does(x, y, a, b, c, d, turn):
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    one = Reading(np.array([x, y]), np.diag([a**2, b**2]))
    other = Reading(np.array([y, -x]), rotation @ np.diag([c**2, d**2]) @ rotation.T)
    joined = one.join(other)
    weights = [np.linalg.inv(each.covariance) for each in (one, other)]
    wanted = np.linalg.inv(weights[0] + weights[1])
    np.testing.assert_allclose(joined.covariance, wanted, rtol=1e-6, atol=1e-9)
    position = wanted @ (weights[0] @ one.position + weights[1] @ other.position)
    np.testing.assert_allclose(joined.position, position, atol=1e-6)
