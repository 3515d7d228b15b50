"""Axes: where values lie, and which round numbers stand beside them."""

import numpy as np
import pytest

from tmapr.reports.drawing.scale import LinearScale, LogarithmicScale, RootScale, round_step

UNIT = (0.0, 1.0)


@pytest.mark.parametrize(
    ("least", "step"), [(0.9, 1), (1.0, 1), (1.1, 2), (2.1, 5), (5.1, 10), (0.03, 0.05), (130.0, 200)]
)
def test_a_step_is_the_next_round_number(least, step):
    assert round_step(least) == pytest.approx(step)


@pytest.mark.parametrize(
    ("axis", "numbers"),
    [
        (LinearScale(-210.0, 230.0, UNIT, 10), ["−200", "−150", "−100", "−50", "0", "50", "100", "150", "200"]),
        (LinearScale(0.21, 0.52, UNIT, 7), ["0.25", "0.30", "0.35", "0.40", "0.45", "0.50"]),
        (LinearScale(0.0, 1.0, UNIT, 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (LogarithmicScale(-1, 2, UNIT), ["0.1", "1", "10", "100"]),
        (RootScale(UNIT, (0.01, 0.5, 1.0)), ["1 %", "50 %", "100 %"]),
    ],
)
def test_ticks_are_round_numbers_inside_the_axis_with_the_same_decimals(axis, numbers):
    assert [words for _, words in axis.ticks()] == numbers


def test_a_linear_axis_puts_its_ends_on_its_pixels():
    np.testing.assert_allclose(LinearScale(-10.0, 30.0, (300.0, 20.0))(np.array([-10.0, 10.0, 30.0])), [300, 160, 20])


def test_an_axis_of_roots_keeps_nothing_at_nothing_and_shows_one_per_cent():
    axis = RootScale((300.0, 0.0), (1.0,))
    np.testing.assert_allclose(axis(np.array([0.0, 0.01, 0.25, 1.0])), [300, 270, 150, 0])


def test_a_logarithmic_axis_gives_each_decade_the_same_room():
    np.testing.assert_allclose(
        LogarithmicScale(-1, 2, (300.0, 0.0))(np.array([0.1, 1.0, 10.0, 100.0])), [300, 200, 100, 0]
    )


def test_what_a_logarithmic_axis_cannot_hold_is_drawn_on_its_edge():
    np.testing.assert_allclose(LogarithmicScale(0, 1, (100.0, 0.0))(np.array([0.0, 1e9])), [100, 0])


@pytest.mark.parametrize(("axis", "end"), [(LinearScale, 2.0), (LogarithmicScale, 2)])
def test_an_axis_that_does_not_rise_is_refused(axis, end):
    with pytest.raises(ValueError, match="must rise"):
        axis(end, end, UNIT)
