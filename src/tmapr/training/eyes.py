"""The frozen encoder as training uses it: pictures become tokens, averaged to the head's grid, without a gradient."""

from functools import cached_property

import torch
from jaxtyping import UInt8
from torch import Tensor

from tmapr.perception.card import EfficientNet, Size, Vit
from tmapr.perception.encoder import Features
from tmapr.perception.network import Network, assemble, on_device
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.pooling import averaged
from tmapr.perception.settings import Perception
from tmapr.recipes import Training

_AT_ONCE = 4
_ANYWHERE = Normaliser((0.0, 0.0), 1.0)


class Eyes:
    """An encoder on a device, and its card; without a training that says how to average, it gives all its tokens."""

    def __init__(self, perception: Perception, training: Training | None, device: str = "cpu") -> None:
        # A pose head would be one of an earlier training; only the encoder is looked through.
        self.perception = perception.model_copy(update={"apr": None})
        self.device = torch.device(device)
        network, self.card = assemble(self.perception)
        self._network = on_device(network, self.device)
        self.pooled = training.head_for(self.encoder, _ANYWHERE).pooled if training else None

    @property
    def encoder(self) -> Vit | EfficientNet:
        """The encoder's shape."""
        if self.card.encoder is None:
            raise ValueError("a network has an encoder, and the card describes none")
        return self.card.encoder

    @cached_property
    def grid(self) -> Size:
        """Rows and columns of the tokens."""
        if self.card.input is None:
            raise ValueError("a network has an input, and the card describes none")
        if self.pooled:
            return self.pooled
        seen = self.features(torch.zeros(1, *self.card.input.size, dtype=torch.uint8))
        return seen.rows, seen.columns

    def features(self, pictures: UInt8[Tensor, "images height width"]) -> Features:
        """What the encoder sees."""
        # Few at a time on a CPU: the maps of many leave its cache, and each then costs three times as much.
        size = _AT_ONCE if self.device.type == "cpu" else len(pictures)
        # Whatever the precision of what is trained, tokens on the way are those that a cache would hold.
        with torch.autocast(self.device.type, enabled=False):
            seen = in_parts(self._network, pictures, size, self.device)
        return averaged(seen, *self.pooled) if self.pooled else seen


def in_parts(
    network: Network, pictures: UInt8[Tensor, "images height width"], size: int, device: torch.device
) -> Features:
    """What a network's frozen encoder sees, so many pictures at a time."""
    seen = [network.features(part.to(device)) for part in torch.split(pictures, size)]
    tokens, summaries = (torch.cat(column) for column in zip(*(each[:2] for each in seen), strict=True))
    return Features(tokens, summaries, seen[0].rows, seen[0].columns)
