"""What the tests of the baselines look at: made-up pictures and tokens."""

import torch
from torch.nn.functional import interpolate

from tmapr.baselines.building import build_baseline
from tmapr.baselines.settings import AtLocRecipe, Baselines, RobustLocRecipe, ThermalLocRecipe
from tmapr.perception.encoder import Features

CHANNELS, ROWS, COLUMNS = 24, 3, 4
# The least that each can be made of without leaving anything out.
RECIPES = {
    "atloc": (AtLocRecipe, {"width": 256}),
    "robustloc": (RobustLocRecipe, {"frames": 3, "size": 32}),
    "thermalloc": (ThermalLocRecipe, {"width": 64, "layers": 2}),
}


def pictures(count, side=32, seed=11):
    """Smooth ones: at this size noise would leave little of itself after five halvings."""
    coarse = torch.randn(count, 3, 4, 4, generator=torch.Generator().manual_seed(seed))
    return interpolate(coarse, size=(side, side), mode="bilinear")


def tokens(count, seed=12):
    """Of a frozen encoder; the summary is another vector than their mean, as a ViT's is."""
    generator = torch.Generator().manual_seed(seed)
    given = torch.randn(count, ROWS * COLUMNS, CHANNELS, generator=generator)
    return Features(given, torch.randn(count, CHANNELS, generator=generator), ROWS, COLUMNS)


def take(inputs, which):
    """Some of the images, whatever they are given as."""
    if isinstance(inputs, Features):
        return inputs._replace(tokens=inputs.tokens[which], summary=inputs.summary[which])
    return inputs[which]


def perturb(module, seed=7):
    """All weights and statistics moved, so that none is a one or a zero that hides a mistake; float64."""
    generator = torch.Generator().manual_seed(seed)
    module = module.double()
    for name, value in module.state_dict().items():
        if value.is_floating_point():
            noise = torch.randn(value.shape, generator=generator, dtype=value.dtype)
            value += 0.1 * (noise.abs() if name.endswith("running_var") else noise)
    return module.eval().requires_grad_(False)


def parameters(module):
    """Numbers that are learned."""
    return sum(value.numel() for value in module.parameters())


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
