"""The Vision Transformer against the implementation of `transformers`, and its grids against literal interpolation."""

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import interpolate
from transformers import Dinov2Config, Dinov2Model, Dinov2WithRegistersConfig, Dinov2WithRegistersModel

from networks import name_as_hub, perturbed
from tmapr.exceptions import InputError
from tmapr.perception.vit import PATCH, VisionTransformer

WIDTH, DEPTH, HEADS = 64, 2, 4
TINY = {"hidden_size": WIDTH, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS}


def images(*shape, seed=11):
    return torch.randn(shape[0], 3, *shape[1:], generator=torch.Generator().manual_seed(seed))


def of_transformers(shape, registers):
    native = {"image_size": 518, "patch_size": PATCH}
    if registers:
        return Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**native, **shape, num_register_tokens=registers))
    return Dinov2Model(Dinov2Config(**native, **shape))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Makes a perturbed model of `transformers` and ours with the weights of the file that it writes."""
    made = {}

    def make(shape, *, registers=0, rule="exact"):
        key = shape["hidden_size"], registers
        if key not in made:
            theirs = perturbed(of_transformers(shape, registers))
            theirs.save_pretrained(folder := tmp_path_factory.mktemp("weights"))
            state = name_as_hub(load_file(folder / "model.safetensors"))
            del state["mask_token"]
            made[key] = theirs, state
        theirs, state = made[key]
        ours = VisionTransformer(*shape.values(), registers=registers, position_rule=rule)
        ours.load_state_dict(state, strict=True)
        return theirs, ours.requires_grad_(False)

    for registers in (0, 4):
        make(TINY, registers=registers)
    return make


def assert_equal(ours, theirs, batch, registers=0):
    features, expected = ours(batch), theirs(batch).last_hidden_state
    torch.testing.assert_close(features.summary, expected[:, 0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(features.tokens, expected[:, 1 + registers :], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("size", [(224, 224), (252, 322), (322, 252)])
@pytest.mark.parametrize("registers", [0, 4])
def test_another_grid_equals_transformers_under_the_exact_rule(pair, size, registers):
    theirs, ours = pair(TINY, registers=registers)
    assert_equal(ours, theirs, images(2, *size), registers)


@pytest.mark.parametrize("rule", ["hub", "exact"])
@pytest.mark.parametrize("registers", [0, 4])
def test_the_native_grid_equals_transformers_under_either_rule(pair, rule, registers):
    theirs, ours = pair(TINY, registers=registers, rule=rule)
    assert_equal(ours, theirs, images(1, 518, 518), registers)


def test_the_hub_rule_scales_by_the_grid_and_a_tenth():
    """The oracle's native grid is the interpolated one, so that it does not interpolate."""
    ours = perturbed(VisionTransformer(WIDTH, DEPTH, HEADS, rows=20, columns=30))
    native = ours.pos_embed[:, 1:].reshape(1, 20, 30, WIDTH).permute(0, 3, 1, 2)
    scale = (18 + 0.1) / 20, (23 + 0.1) / 30
    patches = interpolate(native, scale_factor=scale, mode="bicubic", align_corners=False, antialias=False)
    state = ours.state_dict()
    state["pos_embed"] = torch.cat([ours.pos_embed[:, :1], patches.permute(0, 2, 3, 1).reshape(1, -1, WIDTH)], dim=1)
    oracle = VisionTransformer(WIDTH, DEPTH, HEADS, rows=18, columns=23)
    oracle.load_state_dict(state, strict=True)
    batch = images(1, 18 * PATCH, 23 * PATCH)
    torch.testing.assert_close(ours(batch).tokens, oracle(batch).tokens, atol=1e-6, rtol=0)


@pytest.mark.parametrize("rule", ["hub", "exact"])
@pytest.mark.parametrize("registers", [0, 4])
def test_a_fixed_copy_gives_identical_features(pair, rule, registers):
    _, ours = pair(TINY, registers=registers, rule=rule)
    batch = images(2, 252, 322)
    fixed = ours.fix_size(252, 322)
    assert fixed.pos_embed.shape == (1, 1 + 18 * 23, WIDTH)
    assert torch.equal(fixed(batch).tokens, ours(batch).tokens)
    assert torch.equal(fixed(batch).summary, ours(batch).summary)


def test_a_fixed_copy_refuses_another_size(pair):
    fixed = pair(TINY)[1].fix_size(252, 322)
    with pytest.raises(InputError, match=r"images are 322 × 252 pixels, .* fixed to 252 × 322"):
        fixed(images(1, 322, 252))


def test_positions_are_interpolated_in_single_precision():
    half = perturbed(VisionTransformer(WIDTH, 1, HEADS, position_rule="exact")).bfloat16()
    native = half.pos_embed[:, 1:].float().reshape(1, 37, 37, WIDTH).permute(0, 3, 1, 2)
    expected = interpolate(native, size=(16, 18), mode="bicubic").permute(0, 2, 3, 1).reshape(-1, WIDTH)
    assert torch.equal(half.fix_size(224, 252).pos_embed[0, 1:], expected.bfloat16())


@pytest.mark.parametrize(
    ("size", "nearest"), [((225, 322), "224 × 322"), ((224, 300), "224 × 294"), ((10, 6), "14 × 14")]
)
def test_a_size_that_is_no_multiple_of_the_patch_is_refused_with_the_nearest(size, nearest):
    network = VisionTransformer(WIDTH, 1, HEADS)
    message = f"images are {size[0]} × {size[1]} pixels, but sides must be multiples of 14; try {nearest}"
    with pytest.raises(InputError, match=message):
        network(images(1, *size))
    with pytest.raises(InputError, match=message):
        network.fix_size(*size)


def test_a_width_that_the_heads_cannot_share_is_refused():
    with pytest.raises(ValueError, match="got 64 and 6"):
        VisionTransformer(64, 1, 6)


@pytest.mark.parametrize(("row", "column", "token"), [(0, 0, 0), (0, 2, 2), (1, 0, 3), (1, 2, 5)])
def test_tokens_run_row_by_row(row, column, token):
    """Without blocks a token sees its own patch alone."""
    network = perturbed(VisionTransformer(WIDTH, 0, HEADS))
    blank = torch.zeros(1, 3, 2 * PATCH, 3 * PATCH)
    marked = blank.clone()
    marked[:, :, row * PATCH : (row + 1) * PATCH, column * PATCH : (column + 1) * PATCH] = 1.0
    features = network(marked)
    changed = (features.tokens != network(blank).tokens).any(dim=2)[0]
    assert (features.rows, features.columns) == (2, 3)
    assert changed.nonzero().flatten().tolist() == [token]


@pytest.mark.parametrize(
    ("shape", "published"), [((384, 12, 6), 22_056_576), ((768, 12, 12), 86_580_480), ((1024, 24, 16), 304_368_640)]
)
def test_the_parameters_are_as_many_as_published_less_the_mask_token(shape, published):
    with torch.device("meta"):
        network = VisionTransformer(*shape)
    assert sum(parameter.numel() for parameter in network.parameters()) == published - shape[0]
