"""What all baselines promise, with a trunk of their own and with a frozen encoder's tokens."""

from math import nan

import pytest
import torch
from torch import nn

from samples import RECIPES, make, see, take, truth
from tmapr.baselines.regressor import PoseRegressor

FROZEN = [(name, "frozen") for name in RECIPES]
OWN = [(name, "own") for name in RECIPES]
EACH = pytest.mark.parametrize(("name", "trunk"), FROZEN + OWN)


@EACH
@pytest.mark.parametrize("rotation", ["log-quaternion", "planar"])
def test_it_gives_a_pose_for_each_clip(name, trunk, rotation):
    network = make(name, trunk, rotation=rotation).eval()
    assert isinstance(network, PoseRegressor)
    assert isinstance(network, nn.Module)
    pose = network(see(network, trunk, 2))
    assert pose.position.shape == pose.heading.shape == (2, 2)
    torch.testing.assert_close(pose.heading.norm(dim=1), torch.ones(2))


@pytest.mark.parametrize(("name", "trunk"), FROZEN)
def test_the_loss_is_the_mean_of_its_parts_by_their_numbers_of_images(name, trunk):
    network = make(name, trunk).double().eval()
    inputs = see(network, trunk, 2)
    inputs = inputs._replace(tokens=inputs.tokens.double())
    images = 2 * network.clip.frames
    positions, headings = truth(images, torch.float64)
    headings[0] = nan
    whole = network.loss(inputs, positions, headings)
    border = network.clip.frames
    parts = [
        (len(positions[part]), network.loss(take(inputs, part), positions[part], headings[part]))
        for part in (slice(border), slice(border, None))
    ]
    torch.testing.assert_close(whole, sum(count * loss for count, loss in parts) / images, rtol=1e-9, atol=0)


@EACH
def test_gradients_reach_every_parameter(name, trunk):
    network = make(name, trunk).train()
    inputs = see(network, trunk, 2)
    network.loss(inputs, *truth(2 * network.clip.frames)).backward()
    idle = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()]
    assert idle == []


@pytest.mark.parametrize(("name", "trunk"), FROZEN)
def test_without_any_heading_the_loss_and_all_gradients_are_finite(name, trunk):
    network = make(name, trunk).train()
    positions, headings = truth(2 * network.clip.frames)
    loss = network.loss(see(network, trunk, 2), positions, torch.full_like(headings, nan))
    loss.backward()
    assert loss.isfinite()
    assert all(value.grad.isfinite().all() for value in network.parameters() if value.grad is not None)


@pytest.mark.parametrize(("name", "trunk"), FROZEN)
def test_dropout_acts_in_training_only(name, trunk):
    network = make(name, trunk, dropout=0.5)
    inputs = see(network, trunk, 2)
    assert torch.equal(network.eval()(inputs).position, network(inputs).position)
    assert not torch.equal(network.train()(inputs).position, network(inputs).position)


@pytest.mark.parametrize(("name", "trunk"), OWN)
def test_norms_learn_in_training_and_are_fixed_in_evaluation(name, trunk):
    network = make(name, trunk).train()
    given = see(network, trunk, 2)
    statistics = [value for key, value in network.named_buffers() if key.endswith("running_mean")]
    first = [value.clone() for value in statistics]
    with torch.no_grad():
        network(given)
        learned = [value.clone() for value in statistics]
        network.eval()
        alone = network(take(given, slice(network.clip.frames)))
        together = network(given)
    assert all(not torch.equal(before, after) for before, after in zip(first, learned, strict=True))
    assert all(torch.equal(before, after) for before, after in zip(learned, statistics, strict=True))
    torch.testing.assert_close(together.position[:1], alone.position, rtol=1e-3, atol=1e-3)
