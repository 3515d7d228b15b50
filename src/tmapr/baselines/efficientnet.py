"""The trunk of EfficientNet-B0 (Tan and Le, 2019) with torchvision's parameter names, to be trained.

Not the frozen Lite0 of `perception`: this one has squeeze-and-excitation, SiLU, symmetric padding and norms that learn.
Stochastic depth, with which it was trained for ImageNet, is left out.
"""

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import silu

from tmapr.baselines.trunk import initialise, to_features
from tmapr.perception.encoder import Features

_STEM, _HEAD = 32, 1280
# Expansion, channels, blocks, stride and kernel of each stage.
_STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


class EfficientNetB0(nn.Module):
    """Pictures become a map that is ⌈side / 32⌉ cells high and wide."""

    channels = _HEAD

    def __init__(self) -> None:
        super().__init__()
        stages = (nn.Sequential(*blocks) for blocks in _build_stages())
        self.features = nn.Sequential(
            _build_conv(3, _STEM, kernel=3, stride=2), *stages, _build_conv(_STAGES[-1][1], _HEAD)
        )
        initialise(self)

    def forward(self, images: Float[Tensor, "images 3 height width"]) -> Features:
        """The map of the last convolution."""
        return to_features(self.features(images))


class _MBConv(nn.Module):
    """An inverted residual: widen, filter every channel alone, weigh the channels, narrow without an activation."""

    def __init__(self, inputs: int, outputs: int, *, expansion: int, stride: int, kernel: int) -> None:
        super().__init__()
        wide = expansion * inputs
        self._residual = stride == 1 and inputs == outputs
        self.block = nn.Sequential(
            *([_build_conv(inputs, wide)] if expansion > 1 else []),
            _build_conv(wide, wide, kernel=kernel, stride=stride, groups=wide),
            _Excitation(wide, inputs // 4),
            _build_conv(wide, outputs)[:2],
        )

    def forward(self, maps: Float[Tensor, "images inputs _ _"]) -> Float[Tensor, "images outputs _ _"]:
        narrow = self.block(maps)
        return maps + narrow if self._residual else narrow


class _Excitation(nn.Module):
    """Each channel times a number in (0, 1) that follows from the means of all."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)

    def forward(self, maps: Float[Tensor, "images c h w"]) -> Float[Tensor, "images c h w"]:
        means = maps.mean(dim=(2, 3), keepdim=True)
        return maps * self.fc2(silu(self.fc1(means))).sigmoid()


def _build_stages() -> Iterator[list[_MBConv]]:
    inputs = _STEM
    for expansion, outputs, blocks, stride, kernel in _STAGES:
        first = _MBConv(inputs, outputs, expansion=expansion, stride=stride, kernel=kernel)
        more = (_MBConv(outputs, outputs, expansion=expansion, stride=1, kernel=kernel) for _ in range(blocks - 1))
        yield [first, *more]
        inputs = outputs


def _build_conv(inputs: int, outputs: int, *, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution, its norm and its activation."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.SiLU())
