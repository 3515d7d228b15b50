"""The shared loss against sums written out by hand."""

from math import cos, exp, nan, sin

import pytest
import torch

from tmapr.baselines.criterion import Criterion, weigh
from tmapr.baselines.rotation import ROTATIONS

OUTPUTS = {
    "log-quaternion": torch.tensor([[0.5, -0.25, 0.125, 0.1, -0.2, 0.3], [0.0, 1.0, -0.5, 0.0, 0.0, -1.0]]),
    "planar": torch.tensor([[0.5, -0.25, 0.125, 0.9, 0.3], [0.0, 1.0, -0.5, -0.1, 1.1]]),
}
POSITIONS, HEADINGS = torch.tensor([[0.25, 0.25], [-1.0, 0.5]]), torch.tensor([0.4, -2.2])
MOVED = [(0.25 + 0.5 + 0.125) / 3, (1.0 + 0.5 + 0.5) / 3]
TURNED = {
    "log-quaternion": [(0.1 + 0.2 + abs(0.3 - 0.2)) / 3, abs(-1.0 + 1.1) / 3],
    "planar": [
        (abs(0.9 - cos(0.4)) + abs(0.3 - sin(0.4))) / 2,
        (abs(-0.1 - cos(-2.2)) + abs(1.1 - sin(-2.2))) / 2,
    ],
}
CODINGS = pytest.mark.parametrize("coding", ROTATIONS)


def criterion(coding, s_x=0.0, s_q=-3.0):
    made = Criterion(ROTATIONS[coding])
    with torch.no_grad():
        made.s_x.fill_(s_x)
        made.s_q.fill_(s_q)
    return made


@CODINGS
def test_it_starts_at_the_published_weights(coding):
    found = Criterion(ROTATIONS[coding])(OUTPUTS[coding], POSITIONS, HEADINGS).item()
    assert found == pytest.approx(sum(MOVED) / 2 + sum(TURNED[coding]) / 2 * exp(3) - 3, rel=1e-5)


@CODINGS
def test_learned_weights_scale_each_term_and_are_added(coding):
    found = criterion(coding, 0.7, -1.5)(OUTPUTS[coding], POSITIONS, HEADINGS).item()
    expected = sum(MOVED) / 2 * exp(-0.7) + 0.7 + sum(TURNED[coding]) / 2 * exp(1.5) - 1.5
    assert found == pytest.approx(expected, rel=1e-5)


@CODINGS
def test_an_image_without_heading_loses_its_rotation_and_its_share_of_the_weight(coding):
    found = criterion(coding)(OUTPUTS[coding], POSITIONS, torch.tensor([nan, -2.2])).item()
    assert found == pytest.approx(sum(MOVED) / 2 + (TURNED[coding][1] * exp(3) - 3) / 2, rel=1e-5)


@CODINGS
def test_a_batch_without_any_heading_has_the_position_s_loss_and_finite_gradients(coding):
    tried, outputs = criterion(coding), OUTPUTS[coding].clone().requires_grad_()
    loss = tried(outputs, POSITIONS, torch.full((2,), nan))
    loss.backward()
    assert loss.item() == pytest.approx(sum(MOVED) / 2)
    assert torch.equal(outputs.grad[:, 3:], torch.zeros_like(outputs.grad[:, 3:]))
    assert outputs.grad.isfinite().all()
    assert tried.s_q.grad == 0


def test_at_its_least_the_weight_is_the_error():
    s = torch.tensor(0.0, requires_grad=True)
    weigh(torch.tensor(1.0), s).backward()
    assert s.grad == 0
    assert weigh(torch.tensor(0.2), torch.tensor(0.2).log()) < weigh(torch.tensor(0.2), torch.tensor(-1.5))


@CODINGS
def test_a_pose_is_in_the_plane(coding):
    pose = criterion(coding).pose(OUTPUTS[coding])
    assert torch.equal(pose.position, OUTPUTS[coding][:, :2])
    assert torch.equal(pose.heading, ROTATIONS[coding].read(OUTPUTS[coding][:, 3:]))


def test_poses_of_half_precision_outputs_have_the_network_s_precision():
    pose = criterion("planar").pose(OUTPUTS["planar"].bfloat16())
    assert {pose.position.dtype, pose.heading.dtype} == {torch.float32}
