"""The search's kernel against float64.

Not collected with the others: where there is no GPU, Triton must be told to interpret before it is loaded, so that a
process of its own runs this file, see test_device_compiled.py. On a machine with a GPU: `pytest
tests/device/compiled_checks.py`.
"""

import pytest
import torch

from interpreting import DEVICE
from tmapr.device.products import Cut, multiply_halves, multiply_rows

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
