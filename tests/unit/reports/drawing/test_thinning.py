"""What is left out of a drawing could not have been seen."""

from itertools import pairwise

import numpy as np

from tmapr.reports.drawing.lines import keep_bends, keep_distinct, keep_extremes


def distance_to_route(point, route):
    """Smallest distance to any segment, by brute force along each."""
    share = np.linspace(0, 1, 400)[:, None]
    along = [start + share * (stop - start) for start, stop in pairwise(route)]
    return min(np.linalg.norm(points - point, axis=1).min() for points in along)


def test_every_point_left_out_lies_within_the_tolerance_of_the_route(rng):
    walk = np.cumsum(rng.normal(size=(300, 2)), axis=0)
    route = keep_bends(walk, tolerance=2.0)
    assert len(route) < len(walk) / 2
    assert max(distance_to_route(point, route) for point in walk) < 2.0 + 0.05


def test_a_way_out_and_back_keeps_where_it_turned():
    there = np.column_stack([np.arange(50.0), np.zeros(50)])
    assert [49.0, 0.0] in keep_bends(np.vstack([there, there[:9:-1]])).tolist()


def test_a_pixel_column_keeps_its_first_lowest_highest_and_last_value():
    curve = np.column_stack([np.linspace(3.0, 3.9, 7), [1.0, 5.0, 2.0, -4.0, 0.0, 3.0, 2.5]])
    np.testing.assert_array_equal(keep_extremes(curve)[:, 1], [1.0, 5.0, -4.0, 2.5])


def test_dots_on_one_another_are_one_and_dots_apart_are_two():
    points = np.array([[1.0, 1.0], [1.1, 1.1], [3.0, 1.0]])
    np.testing.assert_array_equal(keep_distinct(points), points[[0, 2]])
