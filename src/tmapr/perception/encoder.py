"""What every frozen encoder gives: patch tokens in image order and one summary vector."""

from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor


class Features(NamedTuple):
    """One encoder pass; `tokens` run row by row over a grid of `rows` × `columns` patches."""

    tokens: Float[Tensor, "images patches channels"]
    summary: Float[Tensor, "images channels"]
    rows: int
    columns: int


@runtime_checkable
class Encoder(Protocol):
    """An image batch, normalised as the checkpoint asks, becomes tokens and a summary."""

    channels: int

    def __call__(self, images: Float[Tensor, "images 3 height width"]) -> Features:
        """Encode a batch."""
        ...
