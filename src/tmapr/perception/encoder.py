"""What every frozen encoder gives: patch tokens in image order and one summary vector."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


class Features(NamedTuple):
    """One encoder pass; `tokens` run row by row over a grid of `rows` × `columns` patches."""

    tokens: Float[Tensor, "images patches channels"]
    summary: Float[Tensor, "images channels"]
    rows: int
    columns: int
