"""RobustLoc (Wang et al., AAAI 2023): a clip's cells, then its frames, exchange what they hold by diffusion on graphs.

A diffusion is a differential equation, integrated by one Euler step of length 1: what came in, plus what the graph
makes of it. Graphs are complete. Every frame of a clip gets a pose, and two auxiliary outputs read one earlier; all
of these enter the loss, and the middle frame's last is the answer.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import interpolate, relu, scaled_dot_product_attention

from tmapr.baselines.criterion import SPACE, Criterion, to_space, weigh
from tmapr.baselines.regressor import Clip, Inputs
from tmapr.baselines.resnet import CHANNELS, ResNet34
from tmapr.baselines.rotation import Rotation
from tmapr.perception.apr import Pose
from tmapr.perception.encoder import Features

_WIDTH, _HEADS, _FRAME_LAYERS = CHANNELS[-1], 8, 3
_HIDDEN, _OUTPUT_HIDDEN = 256, 128


class Pyramid(nn.Module):
    """The published trunk: the maps of ResNet-34 after layers 3 and 4, of pictures brought to `size` pixels a side."""

    lower = (CHANNELS[2],)

    def __init__(self, trunk: ResNet34, size: int) -> None:
        super().__init__()
        self.trunk, self._size = trunk, size

    def forward(self, images: Float[Tensor, "images 3 height width"]) -> tuple[Features, ...]:
        """Both maps, the last as wide as the graphs."""
        small = interpolate(images, size=(self._size, self._size), mode="bilinear", antialias=True)
        return self.trunk.levels(small)[2:]


class TokenProjection(nn.Module):
    """In place of the trunk, for the tokens of a frozen encoder: one map, brought to the width of the graphs."""

    lower: tuple[int, ...] = ()

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.projection = nn.Linear(channels, _WIDTH)

    def forward(self, features: Features) -> tuple[Features, ...]:
        """The map alone."""
        tokens = self.projection(features.tokens)
        return (features._replace(tokens=tokens, summary=tokens.mean(dim=1)),)


class RobustLoc(nn.Module):
    """Cells of all frames of a clip are one graph, its frames another."""

    def __init__(
        self, trunk: Pyramid | TokenProjection, *, rotation: Rotation, clip: Clip, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.clip = clip
        self.trunk = trunk
        self.cells = CellDiffusion()
        self.frames = nn.Sequential(*(FrameDiffusion() for _ in range(_FRAME_LAYERS)), nn.Dropout(dropout))
        self.position = _build_output(SPACE)
        self.rotation = _build_output(rotation.numbers)
        self.criterion = Criterion(rotation)
        self.s_rx = nn.Parameter(torch.tensor(0.0))
        # The released network has two more, on layers 1 and 2, which enter no loss.
        self.auxiliary = nn.ModuleList(
            nn.Linear(channels, self.criterion.numbers) for channels in (*trunk.lower, _WIDTH)
        )

    def forward(self, inputs: Inputs) -> Pose:
        """The poses of the middle frames."""
        *_, vectors = self._pool(inputs)
        return self.criterion.pose(self._by_clip(self._regress(vectors))[:, self.clip.frames // 2])

    def loss(
        self, inputs: Inputs, positions: Float[Tensor, "images 2"], headings: Float[Tensor, " images"]
    ) -> Float[Tensor, ""]:
        """The sum over the outputs, auxiliary or not, of their mean over all frames and over all steps of clips."""
        pooled = self._pool(inputs)
        outputs = [output(vectors) for output, vectors in zip(self.auxiliary, pooled, strict=True)]
        outputs.append(self._regress(pooled[-1]))
        terms = [self.criterion(each, positions, headings) + self._relative(each, positions) for each in outputs]
        return torch.stack(terms).sum()

    def _pool(self, inputs: Inputs) -> tuple[Float[Tensor, "images _"], ...]:
        """One vector per frame of each level; the last level's after its cells' diffusion."""
        levels: tuple[Features, ...] = self.trunk(inputs)
        *lower, last = levels
        images, cells, width = last.tokens.shape
        if images % self.clip.frames:
            raise ValueError(f"clips have {self.clip.frames} frames, got {images} images")
        nodes = self.cells(last.tokens.reshape(-1, self.clip.frames * cells, width))
        vectors = relu(nodes).reshape(images, cells, width).mean(dim=1)
        return (*(level.summary for level in lower), vectors)

    def _regress(self, vectors: Float[Tensor, "images width"]) -> Float[Tensor, "images numbers"]:
        frames = self.frames(self._by_clip(vectors)).flatten(0, 1)
        return torch.cat([self.position(frames), self.rotation(frames)], dim=1)

    def _relative(
        self, outputs: Float[Tensor, "images numbers"], positions: Float[Tensor, "images 2"]
    ) -> Float[Tensor, ""]:
        """How well the steps from frame to frame of a clip are found.

        Released code takes differences along the whole batch, so also from one clip's last frame to the next one's
        first, which may lie anywhere; then the loss of a batch would not be the mean of its parts'.
        """
        found, wanted = (self._by_clip(each).diff(dim=1) for each in (outputs[:, :SPACE], to_space(positions)))
        return weigh((found - wanted).abs().mean(), self.s_rx)

    def _by_clip(self, rows: Float[Tensor, "images c"]) -> Float[Tensor, "clips {self.clip.frames} c"]:
        return rows.reshape(-1, self.clip.frames, rows.shape[1])


class CellDiffusion(nn.Module):
    """The feature graph: attention among nodes, then each node for itself, each after a norm and as an Euler step."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.attention = SelfSimilarity()
        self.transform = nn.Sequential(nn.Linear(_WIDTH, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _WIDTH), nn.ReLU())

    def forward(self, nodes: Float[Tensor, "graphs nodes width"]) -> Float[Tensor, "graphs nodes width"]:
        """The step starts from the normalised nodes, which a Transformer would leave as they are beside it."""
        nodes = self.norm1(nodes)
        nodes = self.norm2(nodes + relu(self.attention(nodes)))
        return nodes + self.transform(nodes)


class FrameDiffusion(nn.Module):
    """A layer of the vector graph: as for cells, but what is added is normalised too."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(_WIDTH)
        self.attention = nn.Sequential(SelfSimilarity(), nn.LayerNorm(_WIDTH), nn.ReLU())
        self.transform = nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.LayerNorm(_WIDTH), nn.ReLU())

    def forward(self, nodes: Float[Tensor, "graphs nodes width"]) -> Float[Tensor, "graphs nodes width"]:
        """Two Euler steps from the normalised nodes."""
        nodes = self.norm(nodes)
        nodes = nodes + self.attention(nodes)
        return nodes + self.transform(nodes)


class SelfSimilarity(nn.Module):
    """Heads side by side, each softmax(h hᵀ) h: one projection h is query, key and value, and nothing is scaled."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(_WIDTH, _WIDTH)
        for head in self.project.weight.chunk(_HEADS):
            nn.init.xavier_uniform_(head, gain=nn.init.calculate_gain("leaky_relu"))

    def forward(self, nodes: Float[Tensor, "graphs nodes width"]) -> Float[Tensor, "graphs nodes width"]:
        """Each node becomes a mean of all, the more of another's the more alike they are."""
        h = self.project(nodes).unflatten(2, (_HEADS, -1)).transpose(1, 2)
        return scaled_dot_product_attention(h, h, h, scale=1.0).transpose(1, 2).flatten(2)


def _build_output(numbers: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(_WIDTH, _OUTPUT_HIDDEN), nn.ReLU(), nn.Linear(_OUTPUT_HIDDEN, numbers))
