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


Tokens = Float[Tensor, "images rows columns channels"]


@runtime_checkable
class Encode(Protocol):
    """An encoder of somebody else's package; a torch module is moved to the device, others find their pictures there.

    A token follows from its picture alone, whatever else is in the batch.
    """

    def __call__(
        self, pictures: Float[Tensor, "images 3 height width"]
    ) -> Tokens | tuple[Tokens, Float[Tensor, "images channels"]]:
        """Tokens over the picture and, if there is one, a summary; without, it is the tokens' mean.

        Three equal channels, from 0 to 1, or as `perception.statistics` says. NumPy arrays may be returned as well.
        """
