"""ResNet-34 against the one of `transformers`, with torchvision's names and the published size."""

import pytest
import torch
from transformers import ResNetConfig, ResNetModel

from samples import parameters, perturb
from tmapr.baselines.resnet import CHANNELS, ResNet34

BLOCKS = (3, 4, 6, 3)
PUBLISHED = 21_284_672  # ResNet-34's 21 797 672 without its classifier of 512 · 1000 + 1000
NORM = ("weight", "bias", "running_mean", "running_var")


def images(height, width):
    return torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def name_in_transformers(name):
    """The name that `transformers` gives to one of torchvision's tensors."""
    first, *rest = name.split(".")
    if first in ("conv1", "bn1"):
        return f"embedder.embedder.{'convolution' if first == 'conv1' else 'normalization'}.{rest[-1]}"
    block, part, *which = rest[:-1]
    where = f"encoder.stages.{int(first.removeprefix('layer')) - 1}.layers.{block}"
    if part == "downsample":
        return f"{where}.shortcut.{('convolution', 'normalization')[int(which[0])]}.{rest[-1]}"
    return f"{where}.layer.{int(part[-1]) - 1}.{'convolution' if part[:-1] == 'conv' else 'normalization'}.{rest[-1]}"


@pytest.fixture(scope="module")
def both():
    """The same weights in our network and in theirs."""
    ours = perturb(ResNet34())
    theirs = ResNetModel(
        ResNetConfig(embedding_size=64, hidden_sizes=list(CHANNELS), depths=list(BLOCKS), layer_type="basic")
    )
    renamed = {name_in_transformers(name): value for name, value in ours.state_dict().items()}
    theirs.double().load_state_dict(renamed, strict=True)
    return ours, theirs.eval().requires_grad_(False)


@pytest.mark.parametrize("size", [(64, 96), (75, 50)])
def test_all_four_maps_are_those_of_transformers(both, size):
    ours, theirs = both
    expected = theirs(images(*size), output_hidden_states=True).hidden_states[1:]
    for found, maps in zip(ours.levels(images(*size)), expected, strict=True):
        assert (found.rows, found.columns) == maps.shape[2:]
        torch.testing.assert_close(found.tokens, maps.flatten(2).transpose(1, 2), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(found.summary, maps.mean(dim=(2, 3)), rtol=1e-9, atol=1e-9)


def test_the_tensors_have_torchvisions_names():
    expected = {"conv1.weight", *(f"bn1.{kind}" for kind in NORM)}
    for layer, blocks in enumerate(BLOCKS, start=1):
        for block in range(blocks):
            where = f"layer{layer}.{block}"
            expected |= {f"{where}.conv1.weight", f"{where}.conv2.weight"}
            expected |= {f"{where}.bn{which}.{kind}" for which in (1, 2) for kind in NORM}
            if layer > 1 and block == 0:
                expected |= {f"{where}.downsample.0.weight", *(f"{where}.downsample.1.{kind}" for kind in NORM)}
    assert {name for name in ResNet34().state_dict() if not name.endswith("num_batches_tracked")} == expected


def test_it_has_the_published_size():
    assert parameters(ResNet34()) == PUBLISHED
