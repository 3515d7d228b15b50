"""A network whose wide layers are computed in another precision, and everything else in float32 as it was.

What is cast: the encoder, SALAD's three small networks, the pose head's layers. What is not, since it costs nothing and
its digits are seen: the optimal transport, every mean and norm of a descriptor, and the last layers of the pose head,
whose result is metres over the whole map.
"""

from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tmapr.perception.encoder import Features
from tmapr.perception.network import Network
from tmapr.perception.salad import Salad


def lower_precision(network: Network, dtype: torch.dtype) -> Network:
    """A copy with weights of `dtype` where most of the time goes; float32 gives the network as it is."""
    if dtype == torch.float32:
        return network
    lowered = deepcopy(network).eval().requires_grad_(False)
    lowered.encoder = _Lowered(lowered.encoder, dtype)
    for salad in [part for part in lowered.descriptor.modules() if isinstance(part, Salad)]:
        for name in ("token_features", "cluster_features", "score"):
            salad.set_submodule(name, _Lowered(salad.get_submodule(name), dtype))
    if lowered.apr is not None:
        lowered.apr.set_submodule("projection", _Lowered(lowered.apr.projection, dtype))
        lowered.apr.layers = nn.ModuleList(_Lowered(layer, dtype) for layer in lowered.apr.layers)
    return lowered


class _Lowered(nn.Module):
    """A module computed in another precision, float32 before and after."""

    def __init__(self, inner: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = inner.to(dtype)
        self._dtype = dtype

    def forward(self, given: Float[Tensor, "*given"]) -> Float[Tensor, "*found"] | Features:
        found = self.inner(given.to(self._dtype))
        if isinstance(found, Features):
            return found._replace(tokens=found.tokens.float(), summary=found.summary.float())
        return found.float()
