"""The mapped route: which reference owns which stretch, where it closes and crosses, and how long its views are."""

import numpy as np
import pytest

from routes import SPEED, eight, lay, line, look, ring, shake, stopping
from tmapr.tracking.route import _CLOSE, _LOOK_AHEAD, lay_route

WAYS = {
    "a loop": (shake(ring(60), 1),),
    "an open way": (shake(line(50), 2),),
    "there and back": (shake(line(40), 3), shake(line(40, beside=1.5)[::-1], 5)),
    "a crossing": (shake(eight(70), 6),),
    "a stop": (stopping(40, at=20, frames=12),),
}
ROUTES = {name: lay(*drives) for name, drives in WAYS.items()}


def bounds_of(route, drive):
    """The bounds of a traverse's cells."""
    return route.edges[route.first[drive] + drive : route.last[drive] + drive + 2]


@pytest.mark.parametrize("name", WAYS)
def test_a_point_of_the_way_lies_in_the_cell_of_the_reference_that_is_nearest_along_it(name):
    route = ROUTES[name]
    for drive, positions in enumerate(WAYS[name]):
        way = np.concatenate(
            [[0.0], np.cumsum(np.maximum(np.hypot(*np.diff(positions, axis=0).T), 1e-3 * route.spacing))]
        )
        bounds = bounds_of(route, drive)
        assert (np.diff(bounds) > 0).all()
        for point in np.linspace(way[0], way[-1], 301)[1:-1]:
            cell = np.searchsorted(bounds, point, side="right") - 1
            assert abs(way[cell] - point) == pytest.approx(np.abs(way - point).min(), abs=1e-9)


def test_widths_add_up_to_the_way_and_the_gap_that_closes_it():
    positions = WAYS["a loop"][0]
    around = np.hypot(*(positions - np.roll(positions, 1, axis=0)).T).sum()
    assert ROUTES["a loop"].widths.sum() == pytest.approx(around)


@pytest.mark.parametrize(
    ("positions", "closes"),
    [
        (ring(60), True),
        (ring(60)[:-8], False),
        (np.concatenate([line(40), line(40, beside=1.0)[::-1]]), False),
        (line(40), False),
        (ring(8), False),
    ],
    ids=["a lap", "a lap that was not finished", "there and back on one street", "a street", "on the spot"],
)
def test_a_traverse_closes_where_it_ends_as_it_began(positions, closes):
    assert lay(positions).closed.tolist() == [closes]


def test_a_reference_where_the_drive_stood_keeps_a_sliver():
    route = ROUTES["a stop"]
    assert (route.widths[21:31] < 0.01 * route.spacing).all()
    assert np.delete(route.widths, np.arange(20, 32)).min() > 0.3 * route.spacing


def test_a_stop_changes_neither_the_spacing_nor_the_speed():
    stopped, through = ROUTES["a stop"], lay(shake(line(40), 4))
    assert stopped.spacing == pytest.approx(through.spacing)
    assert stopped.speed == pytest.approx(through.speed, rel=1e-6)
    assert through.speed == pytest.approx(SPEED, rel=1e-6)


@pytest.mark.parametrize("name", WAYS)
def test_links_are_references_at_one_spot_far_apart_along_the_way(name):
    route = ROUTES[name]
    reach, drive = _CLOSE * route.spacing, route.drive_of
    wide = route.widths > 0.1 * route.spacing
    expected = set()
    for here in range(len(route)):
        for there in range(len(route)):
            if not (wide[here] and wide[there]) or np.hypot(*(route.positions[here] - route.positions[there])) > reach:
                continue
            begins = [route.edges[row + drive[row]] for row in (here, there)]
            apart = abs(begins[0] - begins[1])
            if route.closed[drive[here]]:
                apart = min(apart, route.widths[drive == drive[here]].sum() - apart)
            if drive[here] != drive[there] or apart > 4 * reach:
                expected.add((here, there))
    assert {(int(here), int(there)) for here, there in route.links} == expected
    assert bool(expected) == (name in ("there and back", "a crossing"))


def naive_length(route, descriptors, row):
    """Metres ahead of a reference at which its view has changed, by walking; None where it never does."""
    drive = route.drive_of[row]
    first, last = route.first[drive], route.last[drive]
    count, here, change = last - first + 1, 0.0, 0.0
    for ahead in range(1, min(_LOOK_AHEAD, count - 1) + 1):
        other = row + ahead
        if other > last and not route.closed[drive]:
            return None
        other, before = (first + (each - first) % count for each in (other, other - 1))
        step = np.hypot(*(route.positions[other] - route.positions[before]))
        now = 1.0 - descriptors[row] @ descriptors[other]
        if now >= route.view:
            return here + step * (route.view - change) / max(now - change, 1e-12)
        here, change = here + step, max(change, now)
    return None


@pytest.mark.parametrize("name", ["a loop", "an open way", "there and back", "a crossing"])
def test_a_view_is_as_long_as_a_walk_ahead_finds(name):
    route = ROUTES[name]
    descriptors = look(np.concatenate(WAYS[name]), np.random.default_rng(1))
    found = [naive_length(route, descriptors, row) for row in range(len(route))]
    known = np.array([each is not None for each in found])
    assert known.sum() > 0.8 * len(route)
    least = 0.05 * route.spacing
    np.testing.assert_allclose(
        route.lengths[known], [max(each, least) for each in found if each is not None], rtol=1e-9
    )
    assert (route.lengths[~known] >= least).all()


def test_rows_of_the_map_come_in_the_order_they_were_driven(rng):
    positions = shake(line(30), 2)
    order = rng.permutation(30)
    shuffled = np.empty_like(positions)
    shuffled[order] = positions
    stamps = np.empty(30, dtype=np.int64)
    stamps[order] = np.arange(30) * 10**9 // 4
    route = lay_route([order], shuffled, stamps, np.zeros(30, dtype=np.int64), look(shuffled, rng))
    np.testing.assert_array_equal(route.positions, positions)
    np.testing.assert_array_equal(route.rows, order)


@pytest.mark.parametrize(
    "drives",
    [(line(1),), (line(2),), (np.zeros((5, 2)),), (line(1), line(1, beside=1.0)), (np.zeros((1, 2)), line(20))],
    ids=["one reference", "two references", "all at one spot", "two traverses of one", "one and a street"],
)
def test_a_route_of_hardly_anything_is_still_one(drives):
    route = lay(*drives)
    assert len(route) == sum(len(drive) for drive in drives)
    assert not route.closed.any()
    assert (route.widths > 0).all()
    assert (route.lengths > 0).all()
    assert route.spacing > 0
    assert route.speed > 0
    assert len(route.edges) == len(route) + len(drives)
