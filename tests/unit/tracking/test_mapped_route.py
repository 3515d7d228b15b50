"""The mapped route: where it closes, how its cells lie between the references, and what each of those stands for."""

import numpy as np
import pytest

from routes import SPEED, WAYS, lay, line, look, remember_drives, ring, shake, stopping
from tmapr.tracking import RouteModel
from tmapr.tracking.route import TILE, lay_route

ROUTES = {name: lay(*drives) for name, drives in WAYS.items()}
each_route = pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES.keys())


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


def test_each_traverse_closes_by_itself():
    assert lay(line(30), ring(60), line(30, beside=9.0)).closed.tolist() == [False, True, False]


@pytest.mark.parametrize("name", WAYS)
def test_a_cell_lies_between_two_references_that_follow_each_other_and_where_it_says(name):
    route, ends = ROUTES[name], np.cumsum([len(drive) for drive in WAYS[name]])
    before, after, between = (each[route.used] for each in (route.before, route.after, route.between))
    drive = np.searchsorted(ends, before, side="right")
    np.testing.assert_array_equal(drive, np.repeat(np.arange(len(ends)), route.cells))
    begins = np.where(route.closed[drive], ends[drive] - np.array([len(each) for each in WAYS[name]])[drive], before)
    np.testing.assert_array_equal(after, np.where(before + 1 < ends[drive], before + 1, begins))
    assert between.min() >= 0
    assert between.max() <= 1
    placed, share = route.positions, between[:, None]
    np.testing.assert_allclose(route.spots[route.used], placed[before] * (1 - share) + placed[after] * share)


@each_route
def test_every_reference_has_its_share_of_the_way(route):
    assert route.share.sum() == pytest.approx(1.0)
    assert (route.share >= 0).all()


def test_shares_of_a_steady_drive_are_alike_and_those_of_a_stop_are_one_reference_s():
    loop, stop = ROUTES["a loop"], ROUTES["a stop"]
    steps = np.hypot(*(loop.positions - np.roll(loop.positions, 1, axis=0)).T)
    around = (steps + np.roll(steps, -1)) / 2
    # Counted in cells, of which a reference has two.
    np.testing.assert_allclose(loop.share, around / around.sum(), atol=0.6 / loop.cells[0])
    assert stop.share[21:32].sum() < 2.0 / stop.cells[0]
    assert stop.share[20:33].sum() == pytest.approx(1 / 39, rel=0.1)


@each_route
def test_cells_are_as_long_as_the_model_says_and_spare_ones_are_never_used(route):
    tiles = np.diff(route.first)
    assert len(route.before) == TILE * route.first[-1]
    np.testing.assert_array_equal(tiles, -(-route.cells // TILE))
    numbers = [np.arange(count) + TILE * first for first, count in zip(route.first, route.cells, strict=False)]
    np.testing.assert_array_equal(route.used, np.concatenate(numbers))


def test_a_way_is_cut_into_equal_cells_from_its_first_reference_to_its_last():
    route = lay(line(30), cells_per_spacing=2.0)
    assert (route.cell, route.cells.tolist()) == (1.0, [59])
    np.testing.assert_allclose(route.spots[:59, 0], np.arange(59.0), atol=1e-9)


def test_a_loop_is_cut_around_and_its_last_cell_touches_its_first():
    route = lay(ring(60), cells_per_spacing=2.0)
    around = np.hypot(*(ring(60) - np.roll(ring(60), 1, axis=0)).T).sum()
    spots = route.spots[route.used]
    steps = np.hypot(*(spots - np.roll(spots, 1, axis=0)).T)
    np.testing.assert_allclose(steps, around / len(spots), rtol=0.05)
    assert route.cells.tolist() == [round(around / route.cell)]


@pytest.mark.parametrize(("spacing", "cell"), [(0.2, 0.5), (2.0, 1.0), (8.0, 4.0)])
def test_cells_are_half_a_spacing_long_and_not_below_half_a_metre(spacing, cell):
    assert lay(line(30, spacing=spacing), cells_per_spacing=2.0).cell == pytest.approx(cell)


def test_a_gap_that_nobody_drove_is_no_way_of_kilometres():
    together, apart = line(60), np.concatenate([line(30), line(30) + np.array([1e6, 0.0])])
    far, near = lay(apart), lay(together)
    assert far.cells.sum() * far.cell < near.cells.sum() * near.cell + 60 * near.spacing


def test_a_stop_changes_neither_the_spacing_nor_the_speed():
    stopped, through = lay(stopping(40, at=20, frames=12)), lay(shake(line(40), 4))
    assert stopped.spacing == pytest.approx(through.spacing)
    assert stopped.speed == pytest.approx(through.speed, rel=1e-6)
    assert through.speed == pytest.approx(SPEED, rel=1e-6)


def test_the_rows_of_the_map_come_in_the_order_they_were_driven():
    drives = shake(ring(60), 1), shake(line(40), 2)  # places are numbered from the west
    memory = remember_drives(*drives)
    route = lay_route(memory, RouteModel())
    np.testing.assert_array_equal(route.positions, np.concatenate(drives))
    np.testing.assert_array_equal(memory.positions[route.rows], route.positions)
    np.testing.assert_array_equal(memory.headings[route.rows], route.headings)
    assert (np.diff(route.rows) < 0).any()


def test_cells_near_a_spot_are_those_within_the_radius_and_no_spare_one():
    route = ROUTES["two traverses"]
    for spot in route.spots[route.used][::7]:
        near = route.used[np.hypot(*(route.spots[route.used] - spot).T) <= 5.0]
        np.testing.assert_array_equal(route.find_near(spot, 5.0), near)


def test_a_new_view_is_a_quarter_of_what_separates_unrelated_references():
    views = look(line(200), np.random.default_rng(1))
    route = lay_route(remember_drives(line(200), views=views), RouteModel())
    apart = 1.0 - (views @ views.T)[np.triu_indices(200, 1)]
    assert route.view == pytest.approx(0.25 * np.median(apart), rel=0.1)


def test_metres_between_new_views_are_counted_within_each_traverse():
    views = np.eye(8)[[0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 5]]
    route = lay_route(remember_drives(line(7), line(5, beside=30.0), views=views), RouteModel())
    assert route.metres_a_view == pytest.approx(np.mean([2.0, 3.0, 1.0, 1.0, 1.0]) * route.spacing)
    assert lay_route(remember_drives(line(7), views=views[[0] * 7]), RouteModel()).metres_a_view == RouteModel().view


@pytest.mark.parametrize(
    "drives",
    [(line(1),), (line(2),), (np.zeros((5, 2)),), (line(1), line(1, beside=1.0)), (np.zeros((1, 2)), line(20))],
    ids=["one reference", "two references", "all at one spot", "two traverses of one", "one and a street"],
)
def test_a_route_of_hardly_anything_is_still_one(drives):
    route = lay(*drives)
    assert len(route.rows) == sum(len(drive) for drive in drives)
    assert not route.closed.any()
    assert (route.cells >= 1).all()
    assert min(route.cell, route.spacing, route.speed, route.view) > 0
    assert np.isfinite(route.spots).all()
    assert np.isfinite(route.share).all()
