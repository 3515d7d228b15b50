"""A lowered network whose single images go through kernels of their own; batches go through torch's.

One image is 257 tokens: too few for a library's products to fill a GPU, and much of its time passes between launches.
So layers are fused where one waits for another, and the two heads run beside each other. The weights are those of the
lowered network, read where they lie; it is the oracle too.
"""

from importlib.util import find_spec

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from tmapr.device.graphs import Parts, finish
from tmapr.device.network_parts import read_base, read_encoder, read_pose, read_salad
from tmapr.device.triangle import runs_kernels
from tmapr.perception.apr import AprHead
from tmapr.perception.encoder import Features
from tmapr.perception.network import Network
from tmapr.perception.vit import PATCH, VisionTransformer

Outputs = tuple[Float[Tensor, "images _"], ...]

_ALIGNED = 8
"""A token's width is a multiple: rows of half precision then begin at multiples of 16 bytes."""
_CUTS = (2, 6)
"""Blocks of the encoder before which a part ends: each is at work for as long as it takes to hand over the next."""
_MOST_PATCHES = 512
"""More of them keep a GPU busy by a library's products too."""


def fuse(network: Network, vit: VisionTransformer) -> "Network | FusedNetwork":
    """The lowered network of this ViT with the kernels for one image, if it has a size for which they are made."""
    small = vit.native[0] * vit.native[1] <= _MOST_PATCHES
    return FusedNetwork(network, vit) if small and vit.channels % _ALIGNED == 0 else network


class FusedNetwork(nn.Module):
    """8-bit pictures → unit descriptor and, with a pose head, normalised position and unit heading."""

    base: Tensor

    def __init__(self, plain: Network, vit: VisionTransformer) -> None:
        super().__init__()
        self.plain = plain
        self._has_kernels = find_spec("triton") is not None
        self._size = vit.native[0] * PATCH, vit.native[1] * PATCH
        self._grid, self._patches = vit.native, vit.native[0] * vit.native[1]
        self._encoder, self._salad = read_encoder(vit), read_salad(plain.descriptor)
        self._pose = read_pose(plain.apr) if plain.apr else None
        self._aside: torch.cuda.Stream | None = None
        self.register_buffer("base", read_base(vit), persistent=False)

    @property
    def apr(self) -> AprHead | None:
        """The pose head, if there is one."""
        return self.plain.apr

    def forward(self, pictures: UInt8[Tensor, "images height width"]) -> Outputs:
        """Descriptor, then position and heading if there is a pose head."""
        return finish(self.see(pictures))

    def see(self, pictures: UInt8[Tensor, "images height width"]) -> Parts[Outputs]:
        """The same in parts: the first layers are at work while the others are handed over."""
        one = len(pictures) == 1 and pictures.shape[1:] == self._size
        by_kernels = one and self._has_kernels and runs_kernels(pictures.device)
        return (yield from self._see(pictures)) if by_kernels else self.plain(pictures)

    def _see(self, picture: UInt8[Tensor, "1 height width"]) -> Parts[Outputs]:
        tokens = yield from self._encode(picture)
        if self.apr is None or not tokens.is_cuda:
            return self._describe(tokens), *self._locate(tokens)
        # The descriptor's head is the shorter one: it has a stream of its own, and is done when the pose is.
        here = torch.cuda.current_stream()
        self._aside = self._aside or torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._aside.wait_stream(here)
        with torch.cuda.stream(self._aside):
            descriptor = self._describe(tokens)
        pose = self._locate(tokens)
        here.wait_stream(self._aside)
        return descriptor, *pose

    def _encode(self, picture: UInt8[Tensor, "1 height width"]) -> Parts[Float[Tensor, "tokens width"]]:
        """All tokens after the final norm, in half precision."""
        from tmapr.device.vit_layers import add_normalise, embed, run_block

        patches, blocks, norm = self._encoder
        norms = [*(block.norm1 for block in blocks), norm]
        tokens = embed(picture, patches.get_parameter("weight"), self.base, PATCH)
        stream = add_normalise(tokens, None, norms[0])
        for number, (block, after) in enumerate(zip(blocks, norms[1:], strict=True)):
            if number in _CUTS:
                yield
            stream = run_block(stream, block, after)
        return stream.normal

    def _describe(self, tokens: Float[Tensor, "tokens width"]) -> Float[Tensor, "1 dim"]:
        if self._salad is None:
            return self.plain.descriptor(self._read_features(tokens))
        from tmapr.device.head_layers import describe

        return describe(tokens[0], tokens[-self._patches :], self._salad)

    def _locate(self, tokens: Float[Tensor, "tokens width"]) -> Outputs:
        if self.apr is None:
            return ()
        if self._pose is None:
            return self.apr(self._read_features(tokens))
        from tmapr.device.head_layers import locate

        return locate(tokens[-self._patches :], self._pose)

    def _read_features(self, tokens: Float[Tensor, "tokens width"]) -> Features:
        wide = tokens.float()
        return Features(wide[None, -self._patches :], wide[:1], *self._grid)
