"""A Transformer's layers for one image: each verb here is one launch of a kernel of `vit_kernels`.

Weights are those of the torch modules, read where they lie. A branch of a layer ends in shares of a product that are
not added up yet: the next norm does that.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor, nn
from triton.tools.tensor_descriptor import TensorDescriptor

from tmapr.device import vit_kernels as kernels
from tmapr.device.network_parts import Block

Activation = Literal["none", "gelu", "relu"]
Tokens = Float[Tensor, "tokens width"]

_LOG2E = 1.4426950408889634
_LEAST_BLOCK = 16
"""The shortest side of a product on a tensor core."""


class Cut(NamedTuple):
    """How a product is cut into programs: the tile of one, what it reads at a time, and the shares of the depth."""

    tall: int = 64
    wide: int = 128
    deep: int = 128
    stages: int = 3
    warps: int = 4
    splits: int = 1


class Reach(NamedTuple):
    """How attention is cut into programs: the queries of one, and the keys that it reads at a time."""

    queries: int = 64
    keys: int = 64
    stages: int = 3
    warps: int = 4


class Branch(NamedTuple):
    """What a branch adds to each token: shares whose sum it is, less its bias."""

    shares: Float32[Tensor, "splits tokens width"]
    bias: Float[Tensor, " width"]


class Stream(NamedTuple):
    """Tokens on their way through the layers, and normalised for the next branch."""

    tokens: Tokens
    normal: Tokens


_REACH = Reach()
# Measured at 257 tokens of width 768. Each row of tiles reads all weights once more, and that, some 7 TB/s from the
# second cache, is what a product's time goes to; square tiles that fill the GPU once read the least.
_QKV, _EXPAND = Cut(), Cut(wide=64)
_MIX, _CONTRACT = Cut(wide=64, splits=2), Cut(splits=4)


def multiply(
    given: Float[Tensor, "tokens depth"],
    weight: Float[Tensor, "width depth"],
    bias: Float[Tensor, " width"],
    activation: Activation = "none",
    *,
    dtype: torch.dtype | None = None,
    cut: Cut = _EXPAND,
    chained: bool = True,
) -> Float[Tensor, "tokens width"]:
    """A layer of each token, in the precision of what is given unless told."""
    found = torch.empty(len(given), len(weight), dtype=dtype or given.dtype, device=given.device)
    _launch_product(given, weight, bias, activation, found, cut, chained)
    return found


def share(given: Float[Tensor, "tokens depth"], layer: nn.Linear, cut: Cut) -> Branch:
    """A layer of each token whose shares are yet to be added up."""
    shares = torch.empty(cut.splits, len(given), layer.out_features, device=given.device)
    _launch_product(given, layer.weight, None, "none", shares, cut, True)
    return Branch(shares, layer.bias)


def _launch_product(
    given: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: Activation,
    found: Tensor,
    cut: Cut,
    chained: bool,
) -> None:
    (rows, depth), width = given.shape, len(weight)
    chained &= given.is_cuda
    kernels.multiply[(-(-rows // cut.tall), -(-width // cut.wide), cut.splits)](
        TensorDescriptor.from_tensor(given, [cut.tall, cut.deep]),
        TensorDescriptor.from_tensor(weight, [cut.wide, cut.deep]),
        weight,
        bias,
        found,
        rows,
        WIDTH=width,
        DEPTH=depth,
        SHARE=-(-depth // (cut.splits * cut.deep)) * cut.deep,
        ACTIVATION=activation,
        TALL=cut.tall,
        WIDE=cut.wide,
        DEEP=cut.deep,
        STAGES=cut.stages,
        CHAINED=chained,
        num_warps=cut.warps,
        launch_pdl=chained,
    )


def embed(
    picture: UInt8[Tensor, "1 height width"],
    weight: Float[Tensor, "width pixels"],
    base: Float32[Tensor, "tokens width"],
    side: int,
) -> Float32[Tensor, "tokens width"]:
    """Tokens of a picture whose patches are `side` pixels wide; a base is what does not depend on the picture."""
    (tokens, width), (_, height, across) = base.shape, picture.shape
    found = torch.empty_like(base)
    kernels.embed[(-(-tokens // 64), -(-width // 64))](
        picture,
        weight,
        base,
        found,
        tokens,
        across // side,
        LEAD=tokens - (height // side) * (across // side),
        SIDE=side,
        WIDTH=width,
        TALL=64,
        WIDE=64,
        DEEP=256,
        CHAINED=picture.is_cuda,
        num_warps=8,
        launch_pdl=picture.is_cuda,
    )
    return found


def add_normalise(tokens: Tokens, branch: Branch | None, norm: nn.LayerNorm) -> Stream:
    """The tokens with a branch's result, in place if they are float32, and their norm in its weights' precision."""
    rows, width = tokens.shape
    shares, bias = branch or (None, None)
    stays = shares is None or tokens.dtype is torch.float32
    summed = tokens if stays else torch.empty_like(tokens, dtype=torch.float32)
    normal = torch.empty_like(tokens, dtype=norm.weight.dtype)
    kernels.add_normalise[(rows,)](
        tokens,
        shares,
        bias,
        summed,
        norm.weight,
        norm.bias,
        normal,
        rows,
        norm.eps,
        WIDTH=width,
        WIDTH_UP=round_up(width),
        SPLITS=0 if shares is None else len(shares),
        CHAINED=tokens.is_cuda,
        num_warps=8,
        launch_pdl=tokens.is_cuda,
    )
    return Stream(summed, normal)


def attend(packed: Float[Tensor, "tokens 3*width"], heads: int, reach: Reach = _REACH) -> Tokens:
    """Attention among all tokens, of queries, keys and values side by side."""
    tokens, width = len(packed), packed.shape[1] // 3
    found, head = packed.new_empty(tokens, width), width // heads
    rest = tokens % reach.keys
    kernels.attend[(-(-tokens // reach.queries), heads)](
        packed,
        found,
        tokens,
        _LOG2E / head**0.5,
        WIDTH=width,
        HEAD=head,
        HEAD_UP=round_up(head),
        QUERIES=reach.queries,
        KEYS=reach.keys,
        FULL=tokens // reach.keys,
        REST=round_up(rest) if rest > 1 else 0,
        LONE=rest == 1,
        STAGES=reach.stages,
        CHAINED=packed.is_cuda,
        num_warps=reach.warps,
        launch_pdl=packed.is_cuda,
    )
    return found


def expand(stream: Stream, block: Block) -> tuple[Stream, Tokens]:
    """A layer up to its hidden numbers: attention is added, and its feed-forward part half done."""
    packed = multiply(stream.normal, block.qkv.weight, block.qkv.bias, cut=_QKV)
    mixed = share(attend(packed, block.heads), block.mix, _MIX)
    stream = add_normalise(stream.tokens, mixed, block.norm2)
    return stream, multiply(stream.normal, block.expand.weight, block.expand.bias, "gelu")


def run_block(stream: Stream, block: Block, after: nn.LayerNorm) -> Stream:
    """A layer; what comes out is normalised for what comes after."""
    stream, hidden = expand(stream, block)
    return add_normalise(stream.tokens, share(hidden, block.contract, _CONTRACT), after)


def round_up(size: int) -> int:
    """To a power of two that a product can have as a side."""
    return max(_LEAST_BLOCK, 1 << (size - 1).bit_length())
