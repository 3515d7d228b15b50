import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tmapr.evaluation.alignment import fit_planar
from tmapr.exceptions import InputError


def test_a_moved_trajectory_is_brought_back(rng):
    truth = rng.normal(size=(50, 2)) * 30
    turn = np.array([[np.cos(2.5), -np.sin(2.5)], [np.sin(2.5), np.cos(2.5)]])
    moved = (truth - [7.0, -3.0]) @ turn
    np.testing.assert_allclose(fit_planar(moved, truth)(moved), truth, atol=1e-12)


def test_the_rotation_is_scipys(rng):
    source = rng.normal(size=(80, 2)) * 20
    target = source @ np.array([[0.6, 0.8], [-0.8, 0.6]]) + rng.normal(size=(80, 2)) + [100.0, 5.0]
    a, b = (np.column_stack([track - track.mean(axis=0), np.zeros(80)]) for track in (source, target))
    rotation, _ = Rotation.align_vectors(b, a)
    assert fit_planar(source, target).angle == pytest.approx(rotation.as_euler("zyx")[0])


def test_no_other_translation_fits_better(rng):
    source, target = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 4.0
    left = target - fit_planar(source, target)(source)
    np.testing.assert_allclose(left.mean(axis=0), 0.0, atol=1e-12)


def test_one_position_is_not_enough():
    with pytest.raises(InputError, match="at least two positions, got 1"):
        fit_planar(np.zeros((1, 2)), np.zeros((1, 2)))
