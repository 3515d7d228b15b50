"""A network whose wide layers are computed with half the bits, and everything else in float32 as it was.

What is cast: the encoder, SALAD's three small networks, the pose head's layers. What is not, since it costs nothing and
its digits are seen: the optimal transport, every mean and norm of a descriptor, and the last layers of the pose head,
whose result is metres over the whole map.
"""

from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, relu

from tmapr.device.fused_network import FusedNetwork, fuse
from tmapr.perception.encoder import Features
from tmapr.perception.network import Network
from tmapr.perception.salad import Salad
from tmapr.perception.vit import PATCH, VisionTransformer

_WHITE, _MIDDLE = 255.0, 128.0


def lower_precision(network: Network, dtype: torch.dtype) -> Network | FusedNetwork:
    """A copy with weights of `dtype` where most of the time goes; float32 gives the network as it is.

    Of a ViT, one image is seen by kernels of its own where there is a GPU.
    """
    if dtype == torch.float32:
        return network
    lowered = deepcopy(network).eval().requires_grad_(False)
    encoder = lowered.encoder
    if isinstance(encoder, VisionTransformer):
        fold_scales(encoder)
        fold_input(lowered)
    lowered.encoder = _LoweredEncoder(encoder, dtype)
    for salad in [part for part in lowered.descriptor.modules() if isinstance(part, Salad)]:
        salad.set_submodule("token_features", _Lowered(salad.token_features, dtype))
        salad.set_submodule("cluster_features", _LoweredPatches(salad.cluster_features, dtype))
        salad.set_submodule("score", _LoweredPatches(salad.score, dtype))
    if lowered.apr is not None:
        lowered.apr.set_submodule("projection", _Lowered(lowered.apr.projection, dtype))
        lowered.apr.layers = nn.ModuleList(_Lowered(layer, dtype) for layer in lowered.apr.layers)
    return fuse(lowered, encoder) if isinstance(encoder, VisionTransformer) else lowered


def fold_scales(vit: VisionTransformer) -> None:
    """Put the scale after a branch into the branch's last layer: a pass over all tokens less, twice a block."""
    for block in vit.blocks:
        for branch, scale in (("attn.proj", "ls1"), ("mlp.fc2", "ls2")):
            last, gamma = block.get_submodule(branch), block.get_submodule(scale).get_parameter("gamma")
            with torch.no_grad():
                last.get_parameter("weight").mul_(gamma[:, None])
                last.get_parameter("bias").mul_(gamma)
            block.set_submodule(scale, nn.Identity())


def fold_input(network: Network) -> None:
    """Put the statistics of the input and its three equal channels into a ViT's first layer.

    Its input is then gray − 128, which half the bits hold exactly, and its convolution a matrix product, since patches
    do not overlap.
    """
    layer = network.encoder.get_submodule("patch_embed.proj")
    with torch.no_grad():
        weight = layer.get_parameter("weight") / (_WHITE * network.std)
        bias = layer.get_parameter("bias") + (weight * (_MIDDLE - _WHITE * network.mean)).sum(dim=(1, 2, 3))
    network.encoder.set_submodule("patch_embed", _Patches(weight.sum(dim=1).flatten(1), bias))
    network.mean, network.std = (network.mean.new_full((1, 1, 1), of / _WHITE) for of in (_MIDDLE, 1.0))


class _Patches(nn.Module):
    """A ViT's first layer for one channel: each patch times one matrix."""

    def __init__(self, weight: Float[Tensor, "channels pixels"], bias: Float[Tensor, " channels"]) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(part, requires_grad=False) for part in (weight, bias))

    def forward(self, images: Float[Tensor, "images 3 height width"]) -> Float[Tensor, "images channels rows columns"]:
        count, _, height, width = images.shape
        split = images[:, 0].reshape(count, height // PATCH, PATCH, width // PATCH, PATCH)
        return linear(split.transpose(2, 3).flatten(3), self.weight, self.bias).permute(0, 3, 1, 2)


class _Lowered(nn.Module):
    """A layer computed in another precision, float32 before and after."""

    def __init__(self, inner: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = inner.to(dtype)
        self._dtype = dtype

    def forward(self, given: Float[Tensor, "*given"]) -> Float[Tensor, "*found"]:
        return self.inner(given.to(self._dtype)).float()


class _LoweredEncoder(nn.Module):
    """An encoder computed in another precision; its features are float32."""

    def __init__(self, inner: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = inner.to(dtype)
        self._dtype = dtype

    def forward(self, images: Float[Tensor, "images _ height width"]) -> Features:
        # One channel where all are the same and the first layer knows; the others are only looked at.
        found: Features = self.inner(images.to(self._dtype).expand(-1, 3, -1, -1))
        return found._replace(tokens=found.tokens.float(), summary=found.summary.float())


class _LoweredPatches(nn.Module):
    """SALAD's network of two 1×1 convolutions, as the matrix products that they are: less to launch than by cuDNN."""

    def __init__(self, inner: nn.Sequential, dtype: torch.dtype) -> None:
        super().__init__()
        self.first, self.last = (_read_matrix(layer, dtype) for layer in (inner[0], inner[-1]))

    def forward(self, columns: Float[Tensor, "images channels patches 1"]) -> Float[Tensor, "images _ patches 1"]:
        tokens = columns.flatten(2).transpose(1, 2).to(self.first.weight.dtype)
        return self.last(relu(self.first(tokens))).float().transpose(1, 2).unsqueeze(3)


def _read_matrix(convolution: nn.Module, dtype: torch.dtype) -> nn.Linear:
    """A 1×1 convolution as the layer that it is for every patch alone."""
    if not isinstance(convolution, nn.Conv2d) or convolution.kernel_size != (1, 1) or convolution.bias is None:
        raise ValueError(f"SALAD's networks are 1×1 convolutions with a bias, got {convolution}")
    layer = nn.Linear(convolution.in_channels, convolution.out_channels, dtype=dtype)
    with torch.no_grad():
        layer.weight.copy_(convolution.weight.flatten(1))
        layer.bias.copy_(convolution.bias)
    return layer.requires_grad_(False)
