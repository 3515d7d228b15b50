"""Absolute pose regression: the head f_φ that turns the frozen encoder's tokens into a position and a heading.

As in the paper: Transformer layers that normalise before each branch, the mean over the patches without the class
token, a shared layer, and one linear output each. The paper does not name the activation, which is GELU here, and no
norm after the last layer, so there is none.
"""

from math import log
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, normalize, scaled_dot_product_attention

from tmapr.perception.encoder import Features
from tmapr.perception.pooling import average_tokens

_LEAST_DEVIATION = 1e-3


class Pose(NamedTuple):
    """Positions in normalised coordinates (see `Normaliser`), headings as unit vectors (cos ψ, sin ψ)."""

    position: Float[Tensor, "images 2"]
    heading: Float[Tensor, "images 2"]


class AprHead(nn.Module):
    """The paper's head by default; a small encoder wants an input projection, a coarser grid and position codes."""

    def __init__(  # noqa: PLR0913 (each a number of the network)
        self,
        channels: int,
        *,
        width: int | None = None,
        layers: int = 2,
        heads: int = 8,
        expansion: int = 4,
        hidden: int = 512,
        pooled: tuple[int, int] | None = None,
        positional: bool = False,
        standardised: bool = False,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.projection = nn.Identity() if width is None else nn.Linear(channels, width)
        width = channels if width is None else width
        if positional and width % 4:
            raise ValueError(f"width must be a multiple of 4 for position codes, got {width}")
        self.pooled, self.positional, self.standardised = pooled, positional, standardised
        self.layers = nn.ModuleList(Layer(width, heads, expansion * width, dropout) for _ in range(layers))
        self.shared = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout))
        self.position = nn.Linear(hidden, 2)
        self.heading = nn.Linear(hidden, 2)

    def forward(self, features: Features) -> Pose:
        """Poses of the images of one encoder pass."""
        if self.pooled is not None:
            features = average_tokens(features, *self.pooled)
        # What all patches of an image share is its weather rather than its place.
        tokens = self.projection(_standardise(features.tokens) if self.standardised else features.tokens)
        # A ViT's tokens know where they are. Those of a convolution do not, and without codes attention and mean
        # see a set: the same patches anywhere in the image would give the same pose.
        if self.positional:
            tokens = tokens + position_codes(tokens, features.rows, features.columns)
        for layer in self.layers:
            tokens = layer(tokens)
        shared = self.shared(tokens.mean(dim=1))
        return Pose(self.position(shared), normalize(self.heading(shared), dim=1))


def _standardise(tokens: Float[Tensor, "images patches channels"]) -> Float[Tensor, "images patches channels"]:
    """Each channel without its mean over the image, in units of its deviation there."""
    centered = tokens - tokens.mean(dim=1, keepdim=True)
    return centered / (centered.square().mean(dim=1, keepdim=True).sqrt() + _LEAST_DEVIATION)


class Layer(nn.Module):
    """A pre-norm Transformer layer: attention, then the feed-forward part, each added to what came in.

    Not torch's own, which in evaluation takes another path than in training.
    """

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width must be a multiple of the number of heads, got {width} and {heads}")
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.expand = nn.Linear(width, hidden)
        self.contract = nn.Linear(hidden, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Float[Tensor, "images patches width"]) -> Float[Tensor, "images patches width"]:
        """Attend between the patches, then transform each."""
        tokens = tokens + self.dropout(self._attend(self.norm1(tokens)))
        inner = self.dropout(gelu(self.expand(self.norm2(tokens))))
        return tokens + self.dropout(self.contract(inner))

    def _attend(self, tokens: Float[Tensor, "images patches width"]) -> Float[Tensor, "images patches width"]:
        query, key, value = self.qkv(tokens).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.mix(scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


def position_codes(
    tokens: Float[Tensor, "images patches width"], rows: int, columns: int
) -> Float[Tensor, "patches width"]:
    """Sines and cosines of the row in the first half of the width, of the column in the second.

    Fixed rather than learned: a head trained at one grid can then be run at another.
    """
    quarter = tokens.shape[2] // 4
    steps = torch.arange(quarter, dtype=tokens.dtype, device=tokens.device)
    frequencies = torch.exp(-log(10_000) * steps / quarter)

    def code_axis(size: int) -> Float[Tensor, "size half"]:
        angles = torch.arange(size, dtype=tokens.dtype, device=tokens.device)[:, None] * frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    return torch.cat([code_axis(rows).repeat_interleave(columns, dim=0), code_axis(columns).repeat(rows, 1)], dim=1)
