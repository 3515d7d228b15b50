"""The kernels of one image against torch: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so test_device_network.py runs this
file in a process of its own. On a machine with a GPU: `pytest tests/device/network_checks.py`.
"""

import pytest
import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from interpreting import DEVICE, numbers_as_numpy_has_them  # noqa: F401 (a fixture)
from tmapr.device import head_layers, vit_layers
from tmapr.device.precision import lower_precision
from tmapr.device.vit_layers import Branch, Cut
from tmapr.perception.apr import AprHead
from tmapr.perception.card import CLIP, Input
from tmapr.perception.network import Network
from tmapr.perception.pooling import GridPooling, Joined
from tmapr.perception.salad import Salad, transport
from tmapr.perception.vit import VisionTransformer

pytestmark = pytest.mark.usefixtures("numbers_as_numpy_has_them")

HALF = torch.float16
SIZE = (56, 70)
WIDTH = 48
ROUNDING = {"rtol": 2e-3, "atol": 2e-3}
"""Of numbers about 1 in half precision, once."""
SMALL = Cut(tall=16, wide=16, deep=16, stages=2)


def draw(*shape, dtype=HALF):
    return torch.randn(*shape, device=DEVICE).to(dtype)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize(("activation", "torch_s"), [("none", nn.Identity()), ("gelu", gelu), ("relu", torch.relu)])
def test_a_layer_is_torch_s(activation, torch_s):
    given, weight, bias = draw(17, 40), draw(72, 40) / 6, draw(72)
    found = vit_layers.multiply(given, weight, bias, activation, cut=SMALL)
    expected = torch_s(given.double() @ weight.double().T + bias.double())
    torch.testing.assert_close(found.double(), expected, **ROUNDING)


def test_shares_of_a_layer_add_up_to_it():
    layer = nn.Linear(72, 40).to(DEVICE, HALF)
    given = draw(17, 72)
    shares, bias = vit_layers.share(given, layer, SMALL._replace(splits=3))
    assert len(shares) == 3
    torch.testing.assert_close(shares.sum(dim=0) + bias, layer.float()(given.float()), rtol=0, atol=1e-5)


def test_a_gelu_keeps_to_the_error_function_beyond_half_precision():
    given = torch.linspace(-9, 9, 1001, device=DEVICE)
    layer = nn.Linear(1, 1001).to(DEVICE)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.copy_(given)
        found = head_layers.multiply_vector(torch.ones(1, device=DEVICE), layer, "gelu")
    apart = (found.double() - gelu(given.double())).abs()
    assert apart.max() < 8e-5
    assert apart[given.abs() < 3].max() < 1e-5


@pytest.mark.parametrize("splits", [0, 2])
def test_a_norm_adds_what_a_branch_left(splits):
    tokens, norm = draw(5, WIDTH, dtype=torch.float32), nn.LayerNorm(WIDTH).to(DEVICE)
    norm.weight.data.uniform_()
    branch = Branch(draw(splits, 5, WIDTH, dtype=torch.float32), draw(WIDTH)) if splits else None
    total = tokens + branch.shares.sum(dim=0) + branch.bias if branch else tokens.clone()
    found = vit_layers.add_normalise(tokens.clone(), branch, norm)
    torch.testing.assert_close(found.tokens, total, rtol=0, atol=1e-5)
    torch.testing.assert_close(found.normal, norm(total), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("tokens", "heads"), [(17, 2), (65, 3), (70, 1)])
def test_attention_is_torch_s(tokens, heads):
    packed = draw(tokens, 3 * WIDTH)
    query, key, value = packed.double().unflatten(1, (3, heads, -1)).permute(1, 2, 0, 3)
    expected = scaled_dot_product_attention(query, key, value).transpose(0, 1).flatten(1)
    torch.testing.assert_close(vit_layers.attend(packed, heads).double(), expected, **ROUNDING)


def test_the_transport_is_salad_s():
    scores, local = 20 * draw(20, 6, dtype=torch.float32), draw(20, 5)
    plan = transport(scores.T[None], torch.tensor(1.0, device=DEVICE), 3)[0, :-1]
    found = head_layers.aggregate(scores, local, 3)
    torch.testing.assert_close(found, local.float().T @ plan.T, rtol=0, atol=1e-5)


def test_rows_are_scaled_to_the_nearest_of_length_one():
    rows = draw(2, 1000, dtype=torch.float32)
    wide = rows.double()
    expected = (wide / torch.linalg.vector_norm(wide, dim=1, keepdim=True)).float()
    torch.testing.assert_close(head_layers.scale_rows(rows, 1e-38), expected, rtol=0, atol=0)
    assert not head_layers.scale_rows(torch.zeros(1, 8, device=DEVICE), 1e-38).any()


def build(*, registers=0, pooled=None, parts=1):
    vit = VisionTransformer(WIDTH, 2, 2, registers=registers, rows=5, columns=6)
    salad = Salad(WIDTH, clusters=8, cluster_dim=3, token_dim=5, hidden=16)
    head = AprHead(WIDTH, layers=2, heads=3, hidden=8, pooled=pooled)
    for part in (vit, salad, head):
        for parameter in part.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
    descriptor = Joined([salad, GridPooling(WIDTH)][:parts], (1.0, 0.5)[:parts])
    given = Input(mean=CLIP[0], std=CLIP[1], size=SIZE)
    return Network(vit.fix_size(*SIZE), descriptor, head, given).eval().requires_grad_(False).to(DEVICE)


@pytest.mark.parametrize("changes", [{"registers": 2}, {"pooled": (2, 2), "parts": 2}], ids=["fused", "plain heads"])
def test_one_image_is_seen_as_the_network_sees_it(changes):
    network = build(**changes)
    picture = torch.randint(0, 256, (1, *SIZE), dtype=torch.uint8, device=DEVICE)
    lowered = lower_precision(network, HALF)
    found, plain, expected = lowered(picture), lowered.plain(picture), network(picture)
    for ours, theirs, exact in zip(found, plain, expected, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, exact, rtol=0, atol=2e-3)
    assert 1 - (found[0] * expected[0]).sum() < 1e-5
