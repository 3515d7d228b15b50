"""Baselines learn a few frames by heart: from a frozen encoder's tokens, and with a trunk of their own."""

from math import pi

import pytest
import torch

from samples import make, see, truth
from tmapr.perception.encoder import Features


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
