"""The best entries of long rows, best first, ties in the order of the entries: a stable sort that is never done whole.

Blocks are sorted beside one another, and the first of each are sorted again. Equal numbers keep their order in both, as
they do in NumPy's stable sort and no `topk` promises; and on a GPU two short sorts take less than one long selection.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

_BLOCK = 512


def find_best(
    values: Float[Tensor, "rows n"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The highest numbers of each row and where they are; −∞ where there are fewer."""
    rows, length = values.shape
    block = max(_BLOCK, count)
    blocks = -(-length // block)
    padded = pad(values, (0, blocks * block - length), value=-torch.inf).view(rows, blocks, block)
    first = torch.sort(padded, dim=2, descending=True, stable=True)
    starts = block * torch.arange(blocks, device=values.device)[:, None]
    where = (first.indices[:, :, :count] + starts).flatten(start_dim=1)
    best = torch.sort(first.values[:, :, :count].flatten(start_dim=1), dim=1, descending=True, stable=True)
    return best.values[:, :count], where.gather(1, best.indices[:, :count])
