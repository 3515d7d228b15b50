"""ThermalLoc (IROS 2025) as we read it; neither its text nor its code is public, so this is a re-interpretation.

What is known of it: an EfficientNet's local features, a Transformer's global ones, two MLPs for position and rotation,
and AtLoc's loss. The layers are those of our own pose head; all widths are ours.
"""

from jaxtyping import Float
from torch import Tensor, cat, nn

from tmapr.baselines.criterion import SPACE
from tmapr.baselines.regressor import Inputs, SingleFrame
from tmapr.baselines.rotation import Rotation
from tmapr.perception.apr import Layer, position_codes
from tmapr.perception.encoder import Features

_EXPANSION = 4


class ThermalLoc(SingleFrame):
    """The trunk gives features with so many channels; of a frozen encoder it gives back what it gets."""

    def __init__(
        self,
        trunk: nn.Module,
        channels: int,
        *,
        rotation: Rotation,
        width: int = 256,
        layers: int = 4,
        heads: int = 8,
        dropout: float = 0.1,
    ) -> None:
        super().__init__(rotation)
        self.trunk = trunk
        self.projection = nn.Linear(channels, width)
        self.layers = nn.ModuleList(Layer(width, heads, _EXPANSION * width, dropout) for _ in range(layers))
        self.position = _build_mlp(width, SPACE, dropout)
        self.rotation = _build_mlp(width, rotation.numbers, dropout)

    def _regress(self, inputs: Inputs) -> Float[Tensor, "images numbers"]:
        features: Features = self.trunk(inputs)
        tokens = self.projection(features.tokens)
        tokens = tokens + position_codes(tokens, features.rows, features.columns)
        for layer in self.layers:
            tokens = layer(tokens)
        seen = tokens.mean(dim=1)
        return cat([self.position(seen), self.rotation(seen)], dim=1)


def _build_mlp(width: int, outputs: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, outputs))
