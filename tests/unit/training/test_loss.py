"""The loss against numbers computed by hand."""

from math import cos, nan, pi, sin

import pytest
import torch

from tmapr.perception.apr import Pose
from tmapr.training.loss import pose_loss

EAST = [1.0, 0.0]


def loss(positions, headings, *, truth, angles, weight=1.0):
    pose = Pose(torch.tensor(positions), torch.tensor(headings))
    return pose_loss(pose, torch.tensor(truth), torch.tensor(angles), weight).item()


def test_a_small_error_counts_half_its_square_and_a_large_one_itself_less_a_half():
    found = loss([[0.5, 3.0]], [EAST], truth=[[0.0, 0.0]], angles=[0.0])
    assert found == pytest.approx((0.5 * 0.5**2 + (3.0 - 0.5)) / 2)


def test_the_heading_counts_as_a_unit_vector():
    found = loss([[0.0, 0.0]], [EAST], truth=[[0.0, 0.0]], angles=[0.3])
    assert found == pytest.approx(0.5 * ((1 - cos(0.3)) ** 2 + sin(0.3) ** 2) / 2)


def test_the_weight_multiplies_the_heading_alone():
    given = {"truth": [[0.5, 0.0]], "angles": [pi / 2]}
    position, heading = 0.5 * 0.5**2 / 2, 0.5
    assert loss([[0.0, 0.0]], [EAST], **given, weight=3.0) == pytest.approx(position + 3.0 * heading)


def test_the_loss_is_continuous_where_the_angle_wraps():
    direction = [cos(2.0), sin(2.0)]
    below, above = (
        loss([[0.0, 0.0]], [direction], truth=[[0.0, 0.0]], angles=[angle]) for angle in (pi - 1e-5, -pi + 1e-5)
    )
    assert below == pytest.approx(above, abs=1e-4)


def test_a_frame_without_heading_drops_that_term_only():
    given = {"truth": [[0.5, 0.0], [0.5, 0.0]], "angles": [pi / 2, nan]}
    position, heading = 0.5 * 0.5**2 / 2, 0.5
    assert loss([[0.0, 0.0]] * 2, [EAST] * 2, **given) == pytest.approx(position + heading / 2)


def test_an_unknown_heading_leaves_no_gradient_behind():
    turned = torch.tensor([EAST, EAST], requires_grad=True)
    pose = Pose(torch.zeros(2, 2, requires_grad=True), turned)
    pose_loss(pose, torch.ones(2, 2), torch.tensor([nan, 1.0]), 1.0).backward()
    assert torch.equal(turned.grad[0], torch.zeros(2))
    assert turned.grad[1].abs().min() > 0
    assert pose.position.grad.isfinite().all()
