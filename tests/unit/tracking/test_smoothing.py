"""Where the camera was, by what it saw since: held against all ways that it may have gone, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routes import lay, line, ring
from tmapr.tracking.smoothing import Smoother, View, keep_view, pack_views, unpack_views

REFERENCES = 4
ROUTE = lay(line(REFERENCES, spacing=3.0))


def chance(route, before, after, metres):
    """Of going from one reference to another, or from or to None, elsewhere."""
    leaving, returning = 1 - np.exp(-metres / 2000), 1 - np.exp(-metres / 300)
    if before is None:
        return 1 - returning if after is None else returning * route.widths[after] / route.widths.sum()
    if after is None:
        return leaving
    reach = metres + route.spacing
    apart = np.hypot(*(route.positions[before] - route.positions[after]))
    density = np.exp(-0.5 * (apart / reach) ** 2) / (np.sqrt(2 * np.pi) * reach)
    share = route.widths[after] / route.widths.sum()
    return (1 - leaving) * ((1 - 1e-5) * route.widths[after] * density + 1e-5 * share)


def walk_all_ways(route, likelihoods, metres):
    """The filtered and the smoothed probability of each state at each view, from every single way."""
    states = [*range(len(route)), None]
    views = len(likelihoods)
    filtered, smoothed = np.zeros((views, len(states))), np.zeros((views, len(states)))
    for length, found in [*((count, filtered[count - 1]) for count in range(1, views + 1)), (views, smoothed)]:
        for way in product(range(len(states)), repeat=length):
            weight = likelihoods[0][way[0]]
            for view in range(1, length):
                step = chance(route, states[way[view - 1]], states[way[view]], metres[view])
                weight *= step * likelihoods[view][way[view]]
            if found is smoothed:
                for view in range(views):
                    smoothed[view, way[view]] += weight
            else:
                found[way[-1]] += weight
    return [each / each.sum(axis=1, keepdims=True) for each in (filtered, smoothed)]


def fill(route, filtered, metres, lag=20):
    smoother = Smoother(route, lag)
    for belief, driven in zip(filtered, metres, strict=True):
        smoother.add(View(np.arange(len(route)), belief[:-1], driven))
    return smoother


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 3))
def test_a_view_is_smoothed_as_all_ways_through_it_say(seed, views):
    rng = np.random.default_rng(seed)
    metres = rng.uniform(0.5, 6.0, views)
    filtered, smoothed = walk_all_ways(ROUTE, rng.uniform(0.01, 1.0, (views, REFERENCES + 1)), metres)
    smoother = fill(ROUTE, filtered, metres)
    for expected in smoothed:
        found = smoother.smooth_oldest()
        np.testing.assert_allclose([*found.masses, found.elsewhere], expected, atol=1e-12)


@given(seeds)
def test_a_single_view_is_as_the_filter_has_it(seed):
    belief = np.random.default_rng(seed).dirichlet(np.ones(REFERENCES + 1))
    found = fill(ROUTE, [belief], [2.0]).smooth_oldest()
    np.testing.assert_array_equal(found.masses, belief[:-1])


@given(seeds)
def test_probabilities_stay_probabilities_whatever_the_filter_kept(seed):
    rng = np.random.default_rng(seed)
    route, smoother = lay(ring(40)), Smoother(lay(ring(40)))
    for _ in range(6):
        rows = np.sort(rng.choice(len(route), rng.integers(0, 6), replace=False))
        smoother.add(View(rows, rng.dirichlet(np.ones(len(rows) + 1))[:-1], float(rng.uniform(0, 9))))
    found = smoother.smooth_oldest()
    assert (found.masses >= 0).all()
    assert found.masses.sum() <= 1 + 1e-12


def test_what_is_seen_later_decides_between_two_streets():
    route = lay(line(30), line(30, beside=500.0))
    smoother = Smoother(route)
    for step in range(5):
        here = np.zeros(len(route))
        here[[10 + step, 40 + step]] = (0.5, 0.5) if step < 4 else (0.98, 0.01)
        smoother.add(keep_view(here, 2.0))
    found = smoother.smooth_oldest()
    assert dict(zip(found.rows.tolist(), found.masses, strict=True))[10] > 0.97


def test_a_view_is_due_when_as_many_followed_as_the_lag():
    smoother = Smoother(ROUTE, lag=2)
    due = []
    for _ in range(3):
        smoother.add(View(np.arange(1), np.ones(1), 1.0))
        due.append(smoother.full)
    assert due == [False, False, True]


def test_what_a_view_keeps_is_bounded_and_the_rest_is_elsewhere():
    belief = np.full(1000, 0.001)
    belief[500:] = 0.0
    view = keep_view(belief, 1.0)
    assert len(view.rows) == 128
    assert view.elsewhere == pytest.approx(1 - 0.128)


def test_a_doubted_view_is_half_elsewhere():
    assert keep_view(np.array([0.0, 1.0]), 1.0, trust=0.5).elsewhere == pytest.approx(0.5)


def test_views_survive_being_saved():
    first, second = fill(ROUTE, np.eye(REFERENCES + 1), [1.0] * (REFERENCES + 1)), Smoother(ROUTE)
    second.restore(first.arrays())
    for _ in range(REFERENCES + 1):
        ours, theirs = second.smooth_oldest(), first.smooth_oldest()
        np.testing.assert_array_equal(ours.masses, theirs.masses)
        assert ours.metres == theirs.metres


def test_views_of_another_route_are_refused():
    with pytest.raises(ValueError, match="on a route of 4"):
        unpack_views(pack_views([View(np.array([4]), np.ones(1), 0.0)]), REFERENCES)
