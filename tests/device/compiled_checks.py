"""The search's kernel against float64, and a frame's steps as torch's compiler sees them.

Not collected with the others: where there is no GPU, Triton must be told to interpret before it is loaded, and the
checks of shapes that tests install are nothing that a compiler can trace. So a test runs this file in a process of its
own. On a machine with a GPU: `pytest --noconftest tests/device/compiled_checks.py`.
"""

import pytest
import torch

from device_world import World
from tmapr.device.products import Cut, multiply_halves, multiply_rows

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CUTS = [Cut(), Cut(rows=4, columns=128, warps=2, stages=2)]


def draw(refs, dim, queries):
    generator = torch.Generator().manual_seed(refs)
    rows = torch.nn.functional.normalize(torch.randn(refs, dim, generator=generator)).half()
    return rows.to(DEVICE), torch.nn.functional.normalize(torch.randn(queries, dim, generator=generator)).to(DEVICE)


@pytest.mark.parametrize("cut", CUTS, ids=["default", "small"])
@pytest.mark.parametrize(("refs", "dim"), [(37, 600), (1, 3)], ids=["tails", "tiny"])
@pytest.mark.parametrize("queries", [1, 2])
def test_each_product_is_summed_in_float32(refs, dim, queries, cut):
    rows, wanted = draw(refs, dim, queries)
    torch.testing.assert_close(
        multiply_rows(rows, wanted, cut).double(), wanted.double() @ rows.double().T, rtol=0, atol=1e-6
    )


@pytest.mark.skipif(DEVICE.type != "cuda", reason="the library has it for CUDA alone")
def test_the_librarys_product_rounds_the_rows_alone():
    rows, wanted = draw(64, 256, 2)
    torch.testing.assert_close(
        multiply_halves(rows, wanted).double(), wanted.double() @ rows.double().T, rtol=0, atol=1e-6
    )


def test_a_frame_is_one_graph_before_the_ridge_is_asked_and_one_after(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)  # the ridge's kernels have checks of their own
    backend = "inductor" if DEVICE.type == "cuda" else "eager"
    world = World.make(300, 48, 12, 6, DEVICE)
    plain, fused = world.recogniser(torch.float64), world.recogniser(torch.float64)
    fused.fuse(backend)
    with torch.inference_mode():
        for query in world.queries:
            torch.testing.assert_close(
                fused.recognise(query).packed, plain.recognise(query).packed, rtol=1e-9, atol=1e-9
            )
