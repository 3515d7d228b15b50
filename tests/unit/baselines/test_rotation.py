"""Codings of a heading, against SciPy's rotations."""

from math import pi

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation as Turn

from tmapr.baselines.rotation import ROTATIONS

ANGLES = torch.tensor([0.0, 0.3, -2.0, pi / 2, pi, -pi, pi - 1e-3, -pi + 1e-3, 3.5, -7.0, 40.0], dtype=torch.float64)


def directions(angles):
    return torch.stack([angles.cos(), angles.sin()], dim=1)


@pytest.mark.parametrize("coding", ROTATIONS)
def test_what_was_written_is_read_again_on_both_sides_of_pi_too(coding):
    rotation = ROTATIONS[coding]
    written = rotation.write(ANGLES)
    assert written.shape == (len(ANGLES), rotation.numbers)
    torch.testing.assert_close(rotation.read(written), directions(ANGLES), rtol=0, atol=1e-12)


def test_the_logarithm_is_half_of_scipys_rotation_vector():
    inside = ANGLES[ANGLES.abs() < pi - 1e-6]
    expected = Turn.from_euler("z", inside.numpy()[:, None]).as_rotvec() / 2
    np.testing.assert_allclose(ROTATIONS["log-quaternion"].write(inside), expected, atol=1e-12)


def test_any_three_numbers_give_where_the_rotated_first_axis_points(rng):
    given = rng.normal(size=(50, 3))
    axes = Turn.from_rotvec(2 * given).apply([1.0, 0.0, 0.0])[:, :2]
    expected = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    np.testing.assert_allclose(ROTATIONS["log-quaternion"].read(torch.from_numpy(given)), expected, atol=1e-9)


def test_planar_numbers_of_any_length_are_a_direction():
    read = ROTATIONS["planar"].read(torch.tensor([[3.0, 4.0], [-0.2, 0.0]]))
    torch.testing.assert_close(read, torch.tensor([[0.6, 0.8], [-1.0, 0.0]]))


def test_only_the_planar_coding_is_near_itself_across_pi():
    across = torch.tensor([pi - 1e-3, -pi + 1e-3])
    steps = {coding: rotation.write(across).diff(dim=0).norm().item() for coding, rotation in ROTATIONS.items()}
    assert steps["log-quaternion"] == pytest.approx(pi, abs=2e-3)
    assert steps["planar"] == pytest.approx(2e-3, rel=1e-3)
