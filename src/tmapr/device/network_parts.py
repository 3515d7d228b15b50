"""A lowered network's parts by name, as the kernels for one image take them; none where a part is of another kind."""

from typing import NamedTuple

import torch
from jaxtyping import Float32
from torch import Tensor, nn

from tmapr.perception.apr import AprHead, Layer
from tmapr.perception.pooling import Joined
from tmapr.perception.salad import Salad
from tmapr.perception.vit import VisionTransformer

_ALIGNED = 8
"""Numbers of half precision in 16 bytes: the tensor descriptors' rows begin at multiples."""
_MOST_CLUSTERS, _MOST_CHANNELS = 64, 512
"""One program holds all shares of patches to clusters in its registers, another all sums."""

Pair = tuple[nn.Linear, nn.Linear]


class Block(NamedTuple):
    """A pre-norm Transformer layer."""

    norm1: nn.LayerNorm
    qkv: nn.Linear
    mix: nn.Linear
    norm2: nn.LayerNorm
    expand: nn.Linear
    contract: nn.Linear
    heads: int


class EncoderParts(NamedTuple):
    """A ViT; its first layer is the matrix that a patch of one channel is multiplied with."""

    patches: nn.Module
    blocks: tuple[Block, ...]
    norm: nn.LayerNorm


class SaladParts(NamedTuple):
    """Three networks of two layers, and the transport."""

    cluster: Pair
    score: Pair
    token: Pair
    iterations: int


class PoseParts(NamedTuple):
    """The paper's pose head."""

    blocks: tuple[Block, ...]
    shared: nn.Linear
    position: nn.Linear
    heading: nn.Linear


def read_encoder(vit: VisionTransformer) -> EncoderParts:
    """Of a ViT whose branches have no scale after them any more, and whose first layer is a matrix."""
    blocks = tuple(_read_block(block, vit.heads) for block in vit.blocks)
    return EncoderParts(vit.patch_embed, blocks, vit.norm)


def read_base(vit: VisionTransformer) -> Float32[Tensor, "tokens width"]:
    """What of the first tokens does not depend on the picture: positions, the class token, registers and a bias."""
    places = vit.pos_embed[0].float()
    patches = places[1:] + vit.patch_embed.get_parameter("bias").float()
    lead = [vit.cls_token[0].float() + places[:1]]
    if vit.register_tokens is not None:
        lead.append(vit.register_tokens[0].float())
    return torch.cat([*lead, patches]).detach()


def read_salad(descriptor: nn.Module) -> SaladParts | None:
    """Of a descriptor that is SALAD's alone."""
    salads = list(descriptor.parts) if isinstance(descriptor, Joined) else []
    if len(salads) != 1 or not isinstance(salad := salads[0], Salad):
        return None
    cluster, score = (_read_pair(salad, name, "first", "last") for name in ("cluster_features", "score"))
    parts = SaladParts(cluster, score, _read_pair(salad, "token_features.inner", "0", "2"), salad.iterations)
    fits = salad.clusters <= _MOST_CLUSTERS and cluster[1].out_features <= _MOST_CHANNELS
    return parts if fits and cluster[1].in_features % _ALIGNED == score[1].in_features % _ALIGNED == 0 else None


def read_pose(head: AprHead) -> PoseParts | None:
    """Of a head that takes the encoder's tokens as they are."""
    bare = isinstance(head.projection.get_submodule("inner"), nn.Identity) and head.pooled is None
    if not bare or head.positional or head.standardised:
        return None
    layers = [layer for layer in head.layers.modules() if isinstance(layer, Layer)]
    blocks = tuple(Block(a.norm1, a.qkv, a.mix, a.norm2, a.expand, a.contract, a.heads) for a in layers)
    return PoseParts(blocks, _read_linear(head.shared, "0"), head.position, head.heading)


def _read_block(block: nn.Module, heads: int) -> Block:
    return Block(
        _read_norm(block, "norm1"),
        _read_linear(block, "attn.qkv"),
        _read_linear(block, "attn.proj"),
        _read_norm(block, "norm2"),
        _read_linear(block, "mlp.fc1"),
        _read_linear(block, "mlp.fc2"),
        heads,
    )


def _read_pair(module: nn.Module, name: str, first: str, last: str) -> Pair:
    return _read_linear(module, f"{name}.{first}"), _read_linear(module, f"{name}.{last}")


def _read_linear(module: nn.Module, name: str) -> nn.Linear:
    found = module.get_submodule(name)
    if not isinstance(found, nn.Linear):
        raise TypeError(f"{name} must be a linear layer, got {found}")
    return found


def _read_norm(module: nn.Module, name: str) -> nn.LayerNorm:
    found = module.get_submodule(name)
    if not isinstance(found, nn.LayerNorm):
        raise TypeError(f"{name} must be a layer norm, got {found}")
    return found
