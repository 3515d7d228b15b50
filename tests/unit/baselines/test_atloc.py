"""AtLoc: its attention written out with loops, and its published size."""

import numpy as np
import torch
from torch import nn

from samples import CHANNELS, parameters, tokens
from tmapr.baselines.atloc import AtLoc, ChannelAttention
from tmapr.baselines.building import build_baseline
from tmapr.baselines.rotation import ROTATIONS
from tmapr.baselines.settings import Baselines

LOG = ROTATIONS["log-quaternion"]
RESNET = 21_284_672


def linear(inputs, outputs):
    return inputs * outputs + outputs


def apply(layer, vector):
    return layer.weight.numpy() @ vector + layer.bias.numpy()


def attend(attention, x):
    """Row by row: a channel of φ weighs the channels of g by its products with those of θ."""
    phi, theta, g = (apply(layer, x) for layer in (attention.phi, attention.theta, attention.g))
    mixed = np.empty(len(phi))
    for i in range(len(phi)):
        weights = np.array([np.exp(phi[i] * theta[j]) for j in range(len(theta))])
        mixed[i] = sum(weights[j] * g[j] for j in range(len(g))) / weights.sum()
    return x + apply(attention.widen, mixed)


def test_attention_equals_its_loops():
    torch.manual_seed(4)
    attention = ChannelAttention(24, 5).double().requires_grad_(False)
    vectors = torch.randn(3, 24, dtype=torch.float64)
    expected = np.stack([attend(attention, vector) for vector in vectors.numpy()])
    np.testing.assert_allclose(attention(vectors), expected, atol=1e-12)


def test_the_network_is_mean_layer_attention_and_two_outputs():
    torch.manual_seed(5)
    network = AtLoc(nn.Identity(), CHANNELS, rotation=ROTATIONS["planar"], width=16).double().eval()
    network.requires_grad_(False)
    given = tokens(2)._replace(tokens=tokens(2).tokens.double())
    pose = network(given)
    for image, patches in enumerate(given.tokens.numpy()):
        x = attend(network.attention, np.maximum(apply(network.expand, patches.mean(axis=0)), 0))
        np.testing.assert_allclose(pose.position[image], apply(network.position, x)[:2], atol=1e-12)
        direction = apply(network.rotation, x)
        np.testing.assert_allclose(pose.heading[image], direction / np.linalg.norm(direction), atol=1e-12)


def test_it_has_the_published_size_and_the_two_learned_weights():
    network = build_baseline("atloc", Baselines(), CHANNELS)
    expected = RESNET + linear(512, 2048) + 3 * linear(2048, 256) + linear(256, 2048) + 2 * linear(2048, 3)
    assert parameters(network) == expected + 2 == 24_447_560


def test_new_layers_start_as_published():
    torch.manual_seed(6)
    network = AtLoc(nn.Identity(), CHANNELS, rotation=LOG)
    for layer in (network.expand, network.attention.theta, network.attention.widen):
        np.testing.assert_allclose(layer.weight.std().item(), (2 / layer.in_features) ** 0.5, rtol=0.02)
        assert torch.equal(layer.bias, torch.zeros_like(layer.bias))
