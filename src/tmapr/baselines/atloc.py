"""AtLoc (Wang et al., AAAI 2020): one frame's channels attend to each other before the pose is read off them."""

from jaxtyping import Float
from torch import Tensor, cat, nn
from torch.nn.functional import relu

from tmapr.baselines.criterion import SPACE
from tmapr.baselines.regressor import Inputs, SingleFrame
from tmapr.baselines.rotation import Rotation
from tmapr.perception.encoder import Features

_NARROWER = 8


class AtLoc(SingleFrame):
    """The trunk gives features with so many channels; of a frozen encoder it gives back what it gets."""

    def __init__(
        self, trunk: nn.Module, channels: int, *, rotation: Rotation, width: int = 2048, dropout: float = 0.5
    ) -> None:
        super().__init__(rotation)
        self.trunk = trunk
        self.expand = nn.Linear(channels, width)
        self.attention = ChannelAttention(width, width // _NARROWER)
        # Published code leaves it on even when it does not train; here `eval` switches it off.
        self.dropout = nn.Dropout(dropout)
        self.position = nn.Linear(width, SPACE)
        self.rotation = nn.Linear(width, rotation.numbers)
        for layer in (self.expand, *self.attention.children(), self.position, self.rotation):
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_normal_(layer.weight)
                nn.init.zeros_(layer.bias)

    def _regress(self, inputs: Inputs) -> Float[Tensor, "images numbers"]:
        features: Features = self.trunk(inputs)
        # The mean of the tokens, not the summary: a ViT's is another vector, and the published trunk's is the mean.
        channels = relu(self.expand(features.tokens.mean(dim=1)))
        attended = self.dropout(self.attention(channels))
        return cat([self.position(attended), self.rotation(attended)], dim=1)


class ChannelAttention(nn.Module):
    """x + W softmax(φ θᵀ) g, where g, θ and φ are narrower images of one vector x and φ θᵀ is their outer product."""

    def __init__(self, width: int, narrow: int) -> None:
        super().__init__()
        self.g, self.theta, self.phi = (nn.Linear(width, narrow) for _ in range(3))
        self.widen = nn.Linear(narrow, width)

    def forward(self, vectors: Float[Tensor, "images width"]) -> Float[Tensor, "images width"]:
        """Add to each vector what its channels attend to."""
        weights = (self.phi(vectors)[:, :, None] * self.theta(vectors)[:, None, :]).softmax(dim=2)
        return vectors + self.widen((weights @ self.g(vectors)[:, :, None])[:, :, 0])
