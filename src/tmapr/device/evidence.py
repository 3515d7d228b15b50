"""The log-evidence of every reference along a route, from a comparison that is on the device: `tracking.evidence`."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device.recognition import Found
from tmapr.tracking.evidence import FLOOR


class Evidence:
    """Weighs comparisons along a route; the weights are tensors, which labelled drives may change between frames."""

    def __init__(self, rows: Int[Tensor, " refs"], share: Float[Tensor, " refs"], weights: tuple[float, float]) -> None:
        self._rows, self._share = rows, share
        self._weights = share.new_tensor(weights)

    def learn(self, weights: tuple[float, float]) -> None:
        """Weigh similarity and place otherwise from now on; graphs that were captured do so too."""
        self._weights.copy_(torch.tensor(weights, dtype=self._weights.dtype))

    def add_up(self, found: Found) -> Float[Tensor, " refs"]:
        """Similarity and place of every reference, weighed, in the order of the route."""
        return (self._weights[0] * found.similarity + self._weights[1] * found.place).index_select(0, self._rows)

    def weigh(self, found: Found, local: Float[Tensor, " refs"] | None = None) -> Float[Tensor, " refs"]:
        """The log-evidence; `local` is what the host's matches add to the similarity, along the route."""
        total = self.add_up(found) if local is None else self.add_up(found) + self._weights[0] * local
        likely = torch.exp(total - total.amax())
        return torch.log(FLOOR + (1.0 - FLOOR) * likely / torch.dot(likely, self._share))
