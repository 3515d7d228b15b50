"""EfficientNet-B0 against the one of `transformers`, with torchvision's names and the published size."""

import pytest
import torch
from torch import nn
from transformers import EfficientNetConfig, EfficientNetModel

from samples import parameters, perturb
from tmapr.baselines.efficientnet import EfficientNetB0

BLOCKS = (1, 2, 2, 3, 3, 4, 1)
PUBLISHED = 4_007_548  # EfficientNet-B0's 5 288 548 without its classifier of 1280 · 1000 + 1000
NORM = ("weight", "bias", "running_mean", "running_var")


def values(network):
    """The tensors in the order in which they are used, without the counters."""
    return [value for name, value in network.state_dict().items() if not name.endswith("num_batches_tracked")]


@pytest.fixture(scope="module")
def both():
    """The same weights in our network and in theirs, whose padding and ε are TensorFlow's unless told otherwise."""
    ours = perturb(EfficientNetB0())
    padded_on_both_sides = {"depthwise_padding": list(range(sum(BLOCKS)))}
    theirs = EfficientNetModel(
        EfficientNetConfig(
            width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280, batch_norm_eps=1e-5, **padded_on_both_sides
        )
    ).double()
    theirs.embeddings.padding = nn.ZeroPad2d(1)
    for mine, yours in zip(values(ours), values(theirs), strict=True):
        yours.copy_(mine)
    return ours, theirs.eval().requires_grad_(False)


@pytest.mark.parametrize("size", [(64, 96), (75, 50)])
def test_the_map_is_that_of_transformers(both, size):
    ours, theirs = both
    images = torch.randn(2, 3, *size, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    found, expected = ours(images), theirs(images).last_hidden_state
    assert (found.rows, found.columns) == expected.shape[2:]
    torch.testing.assert_close(found.tokens, expected.flatten(2).transpose(1, 2), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found.summary, expected.mean(dim=(2, 3)), rtol=1e-9, atol=1e-9)


def test_the_tensors_have_torchvisions_names():
    def name_convolution(where):
        return {f"{where}.0.weight", *(f"{where}.1.{kind}" for kind in NORM)}

    expected = name_convolution("features.0") | name_convolution("features.8")
    for stage, blocks in enumerate(BLOCKS, start=1):
        parts = (
            ("depthwise", "excitation", "project") if stage == 1 else ("expand", "depthwise", "excitation", "project")
        )
        for block in range(blocks):
            for place, part in enumerate(parts):
                where = f"features.{stage}.{block}.block.{place}"
                weighed = {f"{where}.fc{which}.{kind}" for which in (1, 2) for kind in ("weight", "bias")}
                expected |= weighed if part == "excitation" else name_convolution(where)
    assert {name for name in EfficientNetB0().state_dict() if not name.endswith("num_batches_tracked")} == expected


def test_it_has_the_published_size():
    assert parameters(EfficientNetB0()) == PUBLISHED
    assert EfficientNetB0.channels == 1280
