"""One or two products with every row of a matrix in half precision, summed in float32: one read of the matrix.

A library's product of a tall matrix with two columns has tiles for many more, and gives back halves or wants the
columns in half precision too. Here columns stay float32, and only reading counts.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Float16, Float32
from torch import Tensor


class Cut(NamedTuple):
    """What a program takes at a time: few enough sums for its registers, and loads enough to keep the memory busy."""

    rows: int = 16
    columns: int = 512
    warps: int = 8
    stages: int = 3


_CUT = Cut()


@triton.jit
def _multiply(
    rows,
    queries,
    products,
    count,
    DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    BOTH: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Some rows, block of columns after block of columns; sums cross threads only at the end."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    here = rows + row.to(tl.int64)[:, None] * DIM
    first = tl.zeros([ROWS, COLUMNS], tl.float32)
    second = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in tl.range(0, DIM, COLUMNS, num_stages=STAGES):
        at = start + column
        inside = at < DIM
        block = tl.load(here + at[None, :], mask=(row < count)[:, None] & inside[None, :], other=0.0).to(tl.float32)
        first += block * tl.load(queries + at, mask=inside, other=0.0)[None, :]
        if BOTH:
            second += block * tl.load(queries + DIM + at, mask=inside, other=0.0)[None, :]
    tl.store(products + row, tl.sum(first, axis=1), mask=row < count)
    if BOTH:
        tl.store(products + count + row, tl.sum(second, axis=1), mask=row < count)


def multiply_rows(
    rows: Float16[Tensor, "refs dim"], queries: Float32[Tensor, "k dim"], cut: Cut = _CUT
) -> Float32[Tensor, "k refs"]:
    """The product of each of one or two queries with each row."""
    count, dim = rows.shape
    products = torch.empty((len(queries), count), dtype=torch.float32, device=rows.device)
    _multiply[(triton.cdiv(count, cut.rows),)](
        *(rows, queries, products, count),
        DIM=dim,
        ROWS=cut.rows,
        COLUMNS=cut.columns,
        BOTH=len(queries) == 2,
        STAGES=cut.stages,
        num_warps=cut.warps,
    )
    return products


def multiply_halves(rows: Float16[Tensor, "refs dim"], queries: Float32[Tensor, "k dim"]) -> Float[Tensor, "k refs"]:
    """The same by torch's library, each query as a sum of two halves, so that only the rows are rounded; CUDA alone."""
    high = queries.to(torch.float16)
    halves = torch.cat([high, (queries - high).to(torch.float16)])
    products = torch.mm(rows, halves.T, out_dtype=torch.float32)
    return (products[:, : len(queries)] + products[:, len(queries) :]).T
