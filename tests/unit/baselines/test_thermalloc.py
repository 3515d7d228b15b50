"""ThermalLoc as we read it: its parts in their order, and its size."""

import torch

from samples import CHANNELS, COLUMNS, ROWS, parameters, tokens
from tmapr.baselines.building import build_baseline
from tmapr.baselines.settings import Baselines, ThermalLocRecipe
from tmapr.perception.apr import position_codes

EFFICIENTNET = 4_007_548
FROZEN = Baselines(thermalloc=ThermalLocRecipe(trunk="frozen", width=16, layers=2, heads=4, rotation="planar"))


def linear(inputs, outputs):
    return inputs * outputs + outputs


def layer(width):
    return (
        linear(width, 3 * width)
        + linear(width, width)
        + linear(width, 4 * width)
        + linear(4 * width, width)
        + 4 * width
    )


def test_it_has_the_size_of_its_parts():
    network = build_baseline("thermalloc", Baselines(), CHANNELS)
    outputs = 2 * (linear(256, 256) + linear(256, 3))
    assert parameters(network) == EFFICIENTNET + linear(1280, 256) + 4 * layer(256) + outputs + 2 == 7_627_652


def test_tokens_are_projected_told_their_place_transformed_and_averaged():
    torch.manual_seed(3)
    network, given = build_baseline("thermalloc", FROZEN, CHANNELS).eval(), tokens(2)
    inner = network.projection(given.tokens)
    inner = inner + position_codes(inner, ROWS, COLUMNS)
    for each in network.layers:
        inner = each(inner)
    pose = network(given)
    torch.testing.assert_close(pose.position, network.position(inner.mean(dim=1))[:, :2])
    heading = network.rotation(inner.mean(dim=1))
    torch.testing.assert_close(pose.heading, heading / heading.norm(dim=1, keepdim=True))
