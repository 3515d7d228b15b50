import numpy as np
import pytest
from scipy.optimize import least_squares

from tmapr.evaluation.alignment import fit_planar
from tmapr.exceptions import InputError


def test_a_moved_trajectory_is_brought_back(rng):
    truth = rng.normal(size=(50, 2)) * 30
    turn = np.array([[np.cos(2.5), -np.sin(2.5)], [np.sin(2.5), np.cos(2.5)]])
    moved = (truth - [7.0, -3.0]) @ turn
    np.testing.assert_allclose(fit_planar(moved, truth)(moved), truth, atol=1e-12)


@pytest.mark.parametrize("shape", ["anywhere", "a straight line", "a line that is hardly one"])
def test_a_general_solver_finds_the_same_fit(rng, shape):
    width = {"anywhere": 20.0, "a straight line": 0.0, "a line that is hardly one": 1e-3}[shape]
    source = np.column_stack([np.linspace(-50, 50, 60), width * rng.normal(size=60)]) @ [[0.6, 0.8], [-0.8, 0.6]]
    target = source @ [[-0.28, 0.96], [-0.96, -0.28]] + [400.0, -30.0]
    target += 0.0 if shape == "a straight line" else rng.normal(size=(60, 2))

    def left(guess):
        cosine, sine = np.cos(guess[0]), np.sin(guess[0])
        return (source @ [[cosine, sine], [-sine, cosine]] + guess[1:] - target).ravel()

    solved = [least_squares(left, [start, 0.0, 0.0], xtol=1e-15, ftol=1e-15, gtol=1e-15) for start in (0.0, 2.0, 4.0)]
    best = min(solved, key=lambda found: found.cost)
    fit = fit_planar(source, target)
    # An iterative solver finds a minimum to the root of the rounding only.
    assert np.cos(fit.angle - best.x[0]) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(fit.translation, best.x[1:], atol=1e-5)
    assert np.sum((fit(source) - target) ** 2) <= 2 * best.cost * (1 + 1e-12) + 1e-20


def test_one_position_is_not_enough():
    with pytest.raises(InputError, match="at least two positions, got 1"):
        fit_planar(np.zeros((1, 2)), np.zeros((1, 2)))
