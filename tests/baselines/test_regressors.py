"""What all baselines promise, with a trunk of their own and with a frozen encoder's tokens."""

from math import nan, pi

import pytest
import torch
from samples import CHANNELS, pictures, take, tokens
from torch import nn

from tmapr.baselines.building import build_baseline
from tmapr.baselines.regressor import PoseRegressor
from tmapr.baselines.settings import AtLocRecipe, Baselines, RobustLocRecipe, ThermalLocRecipe
from tmapr.perception.encoder import Features

# The least that each can be made of without leaving anything out.
RECIPES = {
    "atloc": (AtLocRecipe, {"width": 256}),
    "robustloc": (RobustLocRecipe, {"frames": 3, "size": 32}),
    "thermalloc": (ThermalLocRecipe, {"width": 64, "layers": 2}),
}
FROZEN = [(name, "frozen") for name in RECIPES]
OWN = [(name, "own") for name in RECIPES]
EACH = pytest.mark.parametrize(("name", "trunk"), FROZEN + OWN)


def make(name, trunk, **changes):
    recipe, small = RECIPES[name]
    torch.manual_seed(1)
    return build_baseline(
        name, Baselines(**{name: recipe(trunk=trunk, **small | {"dropout": 0.0} | changes)}), CHANNELS
    )


def see(network, trunk, clips, side=32):
    count = clips * network.clip.frames
    return tokens(count) if trunk == "frozen" else pictures(count, side)


def truth(count, dtype=torch.float32):
    """Corners of squares, and headings on both sides of π."""
    corners = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.0, 0.0], [0.0, 1.0]], dtype=dtype)
    headings = torch.tensor([3.1, -3.1, 0.5, -1.0, 2.0, -2.0], dtype=dtype)
    again = -(-count // 6)
    return corners.repeat(again, 1)[:count], headings.repeat(again)[:count]


@EACH
@pytest.mark.parametrize("rotation", ["log-quaternion", "planar"])
def test_it_gives_a_pose_for_each_clip(name, trunk, rotation):
    network = make(name, trunk, rotation=rotation).eval()
    assert isinstance(network, PoseRegressor)
    assert isinstance(network, nn.Module)
    pose = network(see(network, trunk, 2))
    assert pose.position.shape == pose.heading.shape == (2, 2)
    torch.testing.assert_close(pose.heading.norm(dim=1), torch.ones(2))


@EACH
def test_the_loss_is_the_mean_of_its_parts_by_their_numbers_of_images(name, trunk):
    network = make(name, trunk).double().eval()
    inputs = see(network, trunk, 3)
    inputs = inputs._replace(tokens=inputs.tokens.double()) if trunk == "frozen" else inputs.double()
    images = 3 * network.clip.frames
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
    inputs = see(network, trunk, 2, side=64)
    network.loss(inputs, *truth(2 * network.clip.frames)).backward()
    idle = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()]
    assert idle == []


@EACH
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


def overfit(network, inputs, *, rate, steps):
    """How far the poses are from the truth, in normalised units and radians, after so many steps on all of them."""
    clip = network.train().clip
    positions, headings = truth(len(inputs.tokens if isinstance(inputs, Features) else inputs))
    with torch.no_grad():
        network.criterion.s_q.fill_(-1.0)  # at the published −3 rotations come first, and positions many steps later
    optimizer = torch.optim.Adam(network.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in range(steps):
        optimizer.zero_grad()
        network.loss(inputs, positions, headings).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        pose = network(inputs)
    middle = slice(clip.frames // 2, None, clip.frames)
    turned = torch.atan2(pose.heading[:, 1], pose.heading[:, 0]) - headings[middle]
    away = (pose.position - positions[middle]).norm(dim=1).max().item()
    return away, ((turned + pi) % (2 * pi) - pi).abs().max().item()


@pytest.mark.parametrize(("name", "clips", "steps"), [("atloc", 4, 200), ("robustloc", 2, 80), ("thermalloc", 4, 150)])
def test_on_frozen_tokens_it_learns_a_few_frames_by_heart(name, clips, steps):
    network = make(name, "frozen")
    away, turned = overfit(network, see(network, "frozen", clips), rate=1e-3, steps=steps)
    assert away < 0.1
    assert turned < 0.1


# A random trunk of 34 layers needs some dozens of steps to tell pictures apart; a constant answer is more than 1 away.
@pytest.mark.parametrize(
    ("name", "changes", "clips", "side", "rate", "steps"),
    [
        ("atloc", {"width": 1024}, 3, 48, 1e-4, 30),
        ("robustloc", {}, 2, 32, 1e-3, 15),
        ("thermalloc", {}, 3, 32, 1e-3, 40),
    ],
)
def test_with_its_own_trunk_it_tells_a_few_frames_apart(name, changes, clips, side, rate, steps):
    network = make(name, "own", **changes)
    away, turned = overfit(network, see(network, "own", clips, side), rate=rate, steps=steps)
    assert away < 0.7
    assert turned < 0.7
