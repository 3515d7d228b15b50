import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmapr.places.grid import Grid

ORIGIN = np.array([100.0, -50.0])
CELLS = st.tuples(st.integers(-5, 5), st.integers(-5, 5))
VISITS = st.lists(CELLS, max_size=60)


def visited(cells):
    grid = Grid(ORIGIN, 15.0)
    for cell in cells:
        grid.enter_cell(cell)
    return grid


def middle(cell):
    """A position in the middle of a cell."""
    return ORIGIN + 15.0 * (np.array(cell) + 0.5)


@pytest.mark.parametrize(
    ("offset", "cell"),
    [
        ((0.0, 0.0), (0, 0)),
        ((14.99, 0.01), (0, 0)),
        ((15.0, 0.0), (1, 0)),
        ((-0.01, 0.0), (-1, 0)),
        ((-15.0, -15.01), (-1, -2)),
        ((1e6, -1e6), (66666, -66667)),
    ],
)
def test_a_cell_is_the_floor_of_the_offset_over_the_cell_size(offset, cell):
    grid = Grid(ORIGIN, 15.0)
    grid.enter(ORIGIN + offset)
    np.testing.assert_array_equal(grid.cells, [cell])


@given(cells=VISITS)
def test_places_are_numbered_in_order_of_appearance(cells):
    np.testing.assert_array_equal(visited(cells).cells, np.array(list(dict.fromkeys(cells))).reshape(-1, 2))


@given(cells=VISITS)
def test_entering_answers_the_place_that_finding_will(cells):
    grid = Grid(ORIGIN, 15.0)
    for cell in cells:
        assert grid.enter(middle(cell)) == grid.find(middle(cell))


def test_finding_adds_no_place():
    grid = visited([(0, 0)])
    assert grid.find(middle((1, 0))) is None
    assert len(grid) == 1


@given(cells=st.lists(CELLS, min_size=1, max_size=60), data=st.data())
def test_around_is_every_place_within_one_cell_of_a_given_one(cells, data):
    grid = visited(cells)
    asked = data.draw(st.lists(st.integers(0, len(grid) - 1), max_size=4))
    distances = np.abs(grid.cells[:, None] - grid.cells[asked][None]).max(axis=2)
    np.testing.assert_array_equal(grid.around(asked), np.flatnonzero((distances <= 1).any(axis=1)))


@given(cells=VISITS)
def test_a_restored_grid_is_the_same(cells):
    grid = visited(cells)
    restored = Grid.from_arrays(grid.arrays())
    for name, array in grid.arrays().items():
        np.testing.assert_array_equal(restored.arrays()[name], array, err_msg=name)
        assert restored.arrays()[name].dtype == array.dtype


def test_a_restored_grid_numbers_on():
    restored = Grid.from_arrays(visited([(0, 0), (2, 2)]).arrays())
    assert [restored.enter_cell(cell) for cell in ((5, 5), (2, 2), (6, 6))] == [2, 1, 3]


def test_the_first_position_lies_in_the_middle_of_a_cell(rng):
    positions = rng.normal(size=(5, 2)) * 1000
    grid = Grid.from_traverse(positions, 15.0)
    place = grid.enter(positions[0])
    for shift in ([7.49, 7.49], [-7.49, -7.49], [7.49, -7.49]):
        assert grid.find(positions[0] + shift) == place
    for shift in ([7.51, 0.0], [0.0, -7.51]):
        assert grid.find(positions[0] + shift) is None


def test_a_grid_keeps_its_own_origin():
    origin = ORIGIN.copy()
    grid = Grid(origin, 15.0)
    origin += 1000.0
    np.testing.assert_array_equal(grid.origin, ORIGIN)


@pytest.mark.parametrize("cell", [0.0, -15.0, float("nan")])
def test_a_cell_that_is_not_positive_is_refused(cell):
    with pytest.raises(ValueError, match=f"got {cell}"):
        Grid(ORIGIN, cell)
