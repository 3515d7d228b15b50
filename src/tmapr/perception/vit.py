"""The Vision Transformer of DINOv2 at patch 14, with the parameter names of the published files.

One module runs every DINOv2-trained file, with or without registers, on images of any size that is a multiple of 14.
There is no dropout, so training and evaluation mode are the same. Position and extra tokens start at zero.
"""

from collections import OrderedDict
from copy import deepcopy
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import interpolate, scaled_dot_product_attention

from tmapr.exceptions import InputError
from tmapr.perception.encoder import Features

PATCH = 14
"""Side of a patch, pixels."""

PositionRule = Literal["hub", "exact"]
"""How position embeddings reach another grid: as the published training code does it, or as `transformers` does."""

_EPSILON = 1e-6
_MLP_RATIO = 4
# The hub adds it to the grid against rounding. It shifts every sampling point, and the files were trained with that.
_HUB_OFFSET = 0.1


class VisionTransformer(nn.Module):
    """A ViT over a native grid of `rows` × `columns` patches; other grids interpolate its position embedding."""

    def __init__(
        self,
        width: int,
        depth: int,
        heads: int,
        *,
        registers: int = 0,
        rows: int = 37,
        columns: int = 37,
        position_rule: PositionRule = "hub",
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width must be a multiple of heads, got {width} and {heads}")
        self.channels, self.heads = width, heads
        self._position_rule = position_rule
        self.native = rows, columns
        self._fixed = False
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + rows * columns, width))
        self.register_tokens = nn.Parameter(torch.zeros(1, registers, width)) if registers else None
        self.patch_embed = nn.Sequential(OrderedDict(proj=nn.Conv2d(3, width, PATCH, stride=PATCH)))
        self.blocks = nn.Sequential(*(_TransformerBlock(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, eps=_EPSILON)

    def forward(self, images: Float[Tensor, "images 3 height width"]) -> Features:
        """Patch tokens and CLS, both after the final norm."""
        rows, columns = _count_patches(*images.shape[2:])
        patches = self.patch_embed(images).flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(images.shape[0], -1, -1)
        tokens = torch.cat([cls, patches], dim=1) + self._positions(rows, columns)
        if self.register_tokens is not None:
            # After the positions are added: a register is nowhere in the image.
            registers = self.register_tokens.expand(images.shape[0], -1, -1)
            tokens = torch.cat([tokens[:, :1], registers, tokens[:, 1:]], dim=1)
        tokens = self.norm(self.blocks(tokens))
        return Features(tokens[:, -rows * columns :], tokens[:, 0], rows, columns)

    def fix_size(self, height: int, width: int) -> "VisionTransformer":
        """A copy for images of this size only: the same results, without an interpolation per frame."""
        grid = _count_patches(height, width)
        fixed = deepcopy(self)
        fixed.pos_embed = nn.Parameter(self._positions(*grid).detach().clone(), self.pos_embed.requires_grad)
        fixed.native, fixed._fixed = grid, True
        return fixed

    def _positions(self, rows: int, columns: int) -> Float[Tensor, "1 1+{rows}*{columns} channels"]:
        """The position embedding of CLS, which is never interpolated, and of a grid of patches."""
        if (rows, columns) == self.native:
            return self.pos_embed
        if self._fixed:
            # Interpolating twice would give an embedding that no file was trained with.
            given, own = _format_pixels(rows, columns), _format_pixels(*self.native)
            raise InputError(f"images are {given} pixels, but this encoder is fixed to {own}; resize them")
        native = self.pos_embed[:, 1:].float().reshape(1, *self.native, -1).permute(0, 3, 1, 2)
        patches = self._interpolate(native, rows, columns).flatten(2).transpose(1, 2)
        return torch.cat([self.pos_embed[:, :1], patches.to(self.pos_embed.dtype)], dim=1)

    def _interpolate(
        self, native: Float[Tensor, "1 channels _ _"], rows: int, columns: int
    ) -> Float[Tensor, "1 channels {rows} {columns}"]:
        if self.register_tokens is not None:
            # The rules agree: files with registers were trained with antialiasing and without the offset.
            return interpolate(native, size=(rows, columns), mode="bicubic", antialias=True)
        if self._position_rule == "exact":
            return interpolate(native, size=(rows, columns), mode="bicubic")
        scale = (rows + _HUB_OFFSET) / self.native[0], (columns + _HUB_OFFSET) / self.native[1]
        return interpolate(native, scale_factor=scale, mode="bicubic")


class _TransformerBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=_EPSILON)
        self.attn = _Attention(width, heads)
        self.ls1 = _LayerScale(width)
        self.norm2 = nn.LayerNorm(width, eps=_EPSILON)
        widen, narrow = nn.Linear(width, _MLP_RATIO * width), nn.Linear(_MLP_RATIO * width, width)
        self.mlp = nn.Sequential(OrderedDict(fc1=widen, gelu=nn.GELU(), fc2=narrow))
        self.ls2 = _LayerScale(width)

    def forward(self, tokens: Float[Tensor, "images n channels"]) -> Float[Tensor, "images n channels"]:
        tokens = tokens + self.ls1(self.attn(self.norm1(tokens)))
        return tokens + self.ls2(self.mlp(self.norm2(tokens)))


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, tokens: Float[Tensor, "images n channels"]) -> Float[Tensor, "images n channels"]:
        query, key, value = self.qkv(tokens).unflatten(2, (3, self._heads, -1)).permute(2, 0, 3, 1, 4)
        return self.proj(scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


class _LayerScale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, tokens: Float[Tensor, "images n channels"]) -> Float[Tensor, "images n channels"]:
        return tokens * self.gamma


def _count_patches(height: int, width: int) -> tuple[int, int]:
    """Rows and columns of patches in an image of this size."""
    if height % PATCH or width % PATCH:
        nearest = _format_pixels(max(1, round(height / PATCH)), max(1, round(width / PATCH)))
        raise InputError(f"images are {height} × {width} pixels, but sides must be multiples of {PATCH}; try {nearest}")
    return height // PATCH, width // PATCH


def _format_pixels(rows: int, columns: int) -> str:
    return f"{rows * PATCH} × {columns * PATCH}"
