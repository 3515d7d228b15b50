"""The frozen encoder as training uses it: pictures become tokens, averaged to the head's grid, without a gradient."""

from functools import cached_property

import torch
from jaxtyping import UInt8
from torch import Tensor

from tmapr.config import changed
from tmapr.perception.card import EncoderShape, Size
from tmapr.perception.encoder import Features
from tmapr.perception.network import Network, assemble, move_network
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.pooling import average_tokens
from tmapr.perception.recipes import Training
from tmapr.perception.settings import Perception

_AT_ONCE = 4
_ANYWHERE = Normaliser((0.0, 0.0), 1.0)


class FrozenEncoder:
    """An encoder on a device, and its card; without a training that says how to average, it gives all its tokens."""

    def __init__(self, perception: Perception, training: Training | None, device: str = "cpu") -> None:
        # A pose head would be one of an earlier training; only the encoder is asked.
        self.perception = changed(perception, {"apr": None})
        self.device = torch.device(device)
        network, self.card = assemble(self.perception)
        self._network = move_network(network, self.device)
        self.pooled = training.head_for(self.shape, _ANYWHERE).pooled if training else None

    @property
    def shape(self) -> EncoderShape:
        """Architecture and widths."""
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
        """Tokens of prepared pictures, averaged where the training says so, and their summaries."""
        # Few at a time on a CPU: the maps of many leave its cache, and each then costs three times as much.
        size = _AT_ONCE if self.device.type == "cpu" else len(pictures)
        # Whatever the precision of what is trained, tokens on the way are those that a cache would hold.
        with torch.autocast(self.device.type, enabled=False):
            seen = encode_in_batches(self._network, pictures, size, self.device)
        return average_tokens(seen, *self.pooled) if self.pooled else seen


def encode_in_batches(
    network: Network, pictures: UInt8[Tensor, "images height width"], size: int, device: torch.device
) -> Features:
    """What a network's frozen encoder makes of pictures, so many at a time."""
    seen = [network.features(batch.to(device)) for batch in torch.split(pictures, size)]
    tokens, summaries = (torch.cat(column) for column in zip(*(each[:2] for each in seen), strict=True))
    return Features(tokens, summaries, seen[0].rows, seen[0].columns)
