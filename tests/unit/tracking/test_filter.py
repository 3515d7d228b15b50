"""The route filter against a dense one that is written out plainly, and what always holds of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plain_filter import PlainFilter
from routes import ROUTES, SPEED, lay, random_evidence, random_step, ring, shake
from tmapr.tracking.filter import RouteFilter
from tmapr.tracking.masses import Masses
from tmapr.tracking.motion import Cells, Motion, Turns, arrive
from tmapr.tracking.speeds import CHANGE, REDRAW, SPEEDS, Step, make_prior

STATES = ("on", "mimic", "off", "pace")


def distance(one, other):
    """Total variation: half of what differs."""
    return 0.5 * sum(np.abs(getattr(one, name) - getattr(other, name)).sum() for name in ("on", "mimic", "off"))


@pytest.mark.parametrize("name", ROUTES)
def test_every_state_equals_the_plain_filter_s_after_every_step(name, rng):
    route = ROUTES[name]
    ours, plain = RouteFilter(route, pruned=0.0), PlainFilter(route)
    for _ in range(20):
        step, evidence = random_step(rng), random_evidence(rng, len(route))
        arriving = ours.predict(step)
        expected = plain.predict(step)
        np.testing.assert_allclose(arriving, expected, rtol=0, atol=1e-12)
        assert ours.update(evidence, arriving) == pytest.approx(plain.update(evidence, expected), abs=1e-11)
        for state in STATES:
            np.testing.assert_allclose(getattr(ours, state), getattr(plain, state), rtol=0, atol=1e-12, err_msg=state)
        # Metres up to a billion, and a mean weighted by what may be as small as rounding.
        np.testing.assert_allclose(ours.reach, plain.reach, rtol=1e-9)


def test_the_routes_are_what_they_are_called():
    assert [ROUTES[name].closed.any() for name in ("a loop", "an open way", "a stop")] == [True, False, False]
    assert len(ROUTES["there and back"].first) == 2
    assert all(len(ROUTES[name].links) for name in ("there and back", "a crossing"))


def drive_around(filters, route, views, lapses, rng):
    """A lap at the mapped speed whose evidence is one sharp peak, sometimes elsewhere; yields after each view."""
    step = Step(route.spacing / SPEED, 1.3)
    for view in range(views):
        at = view % len(route)
        apart = np.abs((np.arange(len(route)) - at + len(route) // 2) % len(route) - len(route) // 2)
        seen = np.exp(-0.5 * (apart / 2.0) ** 2)
        if rng.random() < lapses:
            seen = np.roll(seen, int(rng.integers(len(route))))
        evidence = np.log(0.05 + 0.95 * seen / seen.mean())
        for each in filters:
            arriving = np.zeros(len(route)) if view == 0 else each.predict(step)
            each.update(evidence, arriving)
        yield view


@pytest.mark.parametrize(("lapses", "most"), [(0.0, 1e-6), (0.15, 1e-5)])
def test_pruning_changes_nothing_that_matters(lapses, most, rng):
    route = lay(shake(ring(300), 7))
    whole, pruned = RouteFilter(route, pruned=0.0), RouteFilter(route)
    apart, active = [], []
    for _ in drive_around((whole, pruned), route, 100, lapses, rng):
        apart.append(distance(whole, pruned))
        active.append(len(pruned.active))
    assert min(active) < len(route) / 4
    assert max(apart) <= most


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(sorted(ROUTES)), sharp=st.floats(0.0, 300.0))
def test_a_belief_is_never_negative_and_sums_to_one(seed, name, sharp):
    rng, route = np.random.default_rng(seed), ROUTES[name]
    belief = RouteFilter(route)
    for _ in range(8):
        # Evidence has a floor, and a reference of a millionth of the way can be no likelier than a million to one.
        evidence = np.clip(sharp * random_evidence(rng, len(route)), -5.0, 15.0)
        belief.update(evidence, belief.predict(random_step(rng)))
        assert all((getattr(belief, state) >= 0).all() for state in (*STATES, "reach"))
        assert belief.on.sum() + belief.p_off == pytest.approx(1.0, abs=1e-6)
        assert belief.pace.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("way", [-300.0, -3.0, 0.0, 3.0, 300.0])
def test_nothing_is_lost_over_the_ends(name, way, rng):
    route = ROUTES[name]
    cells = Cells(route.edges, route.first, route.last, route.closed, route.drive_of, route.lengths)
    masses = Masses(cells, Turns(make_prior(), REDRAW, CHANGE, 2))
    masses.by_speed = rng.random((len(SPEEDS), len(route)))
    before = masses.total
    near, far = np.full(len(SPEEDS), way - 0.5), np.full(len(SPEEDS), way + 0.5)
    over = masses.advance(Motion(np.ones((1, len(SPEEDS))), near, far, 0.3, 2.0))
    assert masses.total + over.sum() == pytest.approx(before, rel=1e-12)
    assert over[route.closed[route.drive_of]].sum() == 0.0


def test_what_returns_is_dealt_out_over_the_places_in_reach_as_they_are_long():
    centres, share = np.array([[0.0, 0.0], [4.0, 0.0], [8.0, 0.0], [90.0, 0.0]]), np.array([0.1, 0.2, 0.3, 0.4])
    back = arrive(np.array([0.3, 0.0, 0.1, 0.0]), np.full(4, 5.0), centres, share, 1e-9, 1000.0)
    np.testing.assert_allclose(back, [0.3 / 3, 0.3 * 2 / 3 + 0.1 * 2 / 5, 0.1 * 3 / 5, 0.0])
