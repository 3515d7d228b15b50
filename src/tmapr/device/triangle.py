"""The triangle of K on a device, in the layout of `tmapr.places.triangle`, and the two passes over it.

The matrix is always `tiles − pendingᵀ diag(signs) pending`, where up to eight updates of three rows wait. `multiply`
reads the tiles once and writes none; `flush` brings them up to date in one read and write. With eight updates a
flush, an update costs one read and a quarter of one: at d = 8448 that is 287 MB and 72 MB.

Neither waits for the host, and neither's shapes depend on data: both can be captured in a CUDA graph. On the CPU, and
as the kernels' oracle, the same is done by torch in a few lines.
"""

import os
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.places.triangle import RANK, TILE, identity_tiles, round_up

UPDATES = 8
"""How many updates wait before the tiles are rewritten."""

SLOTS = UPDATES * RANK
WAITING = 1
"""Of the counters, the one that says how many updates wait."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the passes are cut; every choice gives the same results up to rounding."""

    wide: int = 2
    """Column panels that a program reads side by side: their sums along a line are one share of the product."""

    chunk: int = 4
    """Row panels that a program reads one after the other."""

    span: int = 32
    """Columns that lie side by side in a warp, two for each lane."""

    strip: int = 8
    """Lines that lie side by side in a program."""

    times: int = 2
    """Strips that are loaded together."""

    stages: int = 3
    """Loads under way at once."""

    warps: int = 4
    registers: int = 168
    """Of a thread, at most: three programs then share a processor, and 96 KiB are on their way to it."""

    run: int = 4
    """Tiles that a program of the flush rewrites one after the other."""

    flush_warps: int = 8


def runs_kernels(device: torch.device) -> bool:
    """Whether Triton does the work: on a GPU, and on a CPU that interprets its kernels to test them."""
    return device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"


def load_tiles(dim: int, scale: float, device: torch.device) -> Float[Tensor, " size"]:
    """The tiles of scale · I on a device."""
    return torch.from_numpy(identity_tiles(dim, scale)).to(device)


class Triangle:
    """The passes over a triangle of one size on one device; their tables and scratch are made once."""

    def __init__(self, dim: int, device: torch.device, tuning: Tuning | None = None) -> None:
        self.width = round_up(dim)
        self.compiled = runs_kernels(device)
        self._tuning = tuning or Tuning()
        panels = self.width // TILE
        self._rows, self._columns = torch.tril_indices(panels, panels, device=device)
        if self.compiled:
            self._scratch = _Scratch(self.width, device, self._tuning)
            self._panels_of = torch.stack((self._rows, self._columns), dim=1).to(torch.int32).contiguous()

    def multiply(
        self,
        tiles: Float[Tensor, " size"],
        pending: Float[Tensor, "slots width"],
        signs: Float[Tensor, " slots"],
        rows: Float[Tensor, "3 width"],
        product: Float[Tensor, "3 width"],
    ) -> None:
        """The product ← rows · (tiles − pendingᵀ diag(signs) pending), in one read of the tiles."""
        if not self.compiled:
            shares = self._multiply_tiles(tiles, rows)
            product.copy_(shares - (rows @ pending.T * signs) @ pending)
            return
        from tmapr.device import kernels

        tuning, scratch, panels = self._tuning, self._scratch, self.width // TILE
        kernels.multiply_tiles[(SLOTS + len(scratch.chunks),)](
            *(tiles, pending, signs, rows, scratch.chunks, scratch.along, scratch.down, scratch.dots, self.width),
            SLOTS=SLOTS,
            TILE=TILE,
            WIDE=tuning.wide,
            SPAN=tuning.span,
            STRIP=tuning.strip,
            TIMES=tuning.times,
            STAGES=tuning.stages,
            num_warps=tuning.warps,
            maxnreg=tuning.registers,
        )
        kernels.gather_product[(panels, RANK)](
            *(scratch.along, scratch.down, scratch.starts, scratch.dots, pending, product, self.width),
            SLOTS=SLOTS,
            SLOTS_UP=power_of_two(SLOTS),
            TILE=TILE,
            WIDE=tuning.wide,
            PART=32,
        )

    def flush(
        self,
        tiles: Float[Tensor, " size"],
        pending: Float[Tensor, "slots width"],
        signs: Float[Tensor, " slots"],
        counters: Int[Tensor, "3"],
        least: int = 1,
    ) -> None:
        """Bring the tiles up to date if at least so many updates wait; then none does."""
        if not self.compiled:
            if int(counters[WAITING]) >= least:
                self._flush_tiles(tiles, pending, signs)
                signs.zero_()
                counters[: WAITING + 1] = 0
            return
        from tmapr.device import kernels

        count, run = len(self._panels_of), self._tuning.run
        kernels.flush_tiles[(-(-count // run),)](
            *(tiles, pending, signs, counters, self._panels_of, count, self.width),
            LEAST=least,
            SLOTS=SLOTS,
            TILE=TILE,
            RUN=run,
            num_warps=self._tuning.flush_warps,
        )
        kernels.clear_slots[(1,)](signs, counters, LEAST=least, SLOTS=SLOTS, SLOTS_UP=power_of_two(SLOTS), num_warps=1)

    def _multiply_tiles(
        self, tiles: Float[Tensor, " size"], rows: Float[Tensor, "3 width"]
    ) -> Float[Tensor, "3 width"]:
        blocks, cut = tiles.view(-1, TILE, TILE), rows.view(RANK, -1, TILE).permute(1, 2, 0)
        # A diagonal tile is whole, so its mirrored share must not be added again.
        mirrored = cut[self._rows] * (self._rows != self._columns)[:, None, None]
        product = torch.zeros_like(cut)
        product.index_add_(0, self._rows, torch.bmm(blocks, cut[self._columns]))
        product.index_add_(0, self._columns, torch.bmm(blocks.transpose(1, 2), mirrored))
        return product.permute(2, 0, 1).reshape(RANK, -1)

    def _flush_tiles(
        self, tiles: Float[Tensor, " size"], pending: Float[Tensor, "slots width"], signs: Float[Tensor, " slots"]
    ) -> None:
        blocks, cut = tiles.view(-1, TILE, TILE), pending.view(len(pending), -1, TILE)
        # One after the other, so that diagonal tiles stay symmetric to the last bit.
        for slot in signs.nonzero()[:, 0]:
            blocks -= (signs[slot] * cut[slot, self._rows])[:, :, None] * cut[slot, self._columns][:, None, :]


class _Scratch:
    """How the tiles are dealt to programs, and where these leave their shares of a product.

    Their traffic: a share of 64 numbers for three rows of each row panel and block of column panels, and one for each
    column panel of a chunk. With the default tuning that is six such shares for eight tiles, 3.5 % of their bytes.
    """

    def __init__(self, width: int, device: torch.device, tuning: Tuning) -> None:
        panels = width // TILE
        blocks = -(-panels // tuning.wide)
        chunks: list[tuple[int, int, int]] = []
        starts = [0]
        for block in range(blocks):
            for first in range(block * tuning.wide, panels, tuning.chunk):
                chunks.append((block, first, min(tuning.chunk, panels - first)))
            starts.append(len(chunks))
        self.chunks = torch.tensor(chunks, dtype=torch.int32, device=device)
        self.starts = torch.tensor(starts, dtype=torch.int32, device=device)
        self.along = torch.empty(panels * blocks * RANK * TILE, dtype=torch.float64, device=device)
        self.down = torch.empty(len(chunks) * RANK * tuning.wide * TILE, dtype=torch.float64, device=device)
        self.dots = torch.empty(SLOTS * RANK, dtype=torch.float64, device=device)


def power_of_two(size: int) -> int:
    """The next power of two: what Triton's blocks are made of."""
    return 1 << (size - 1).bit_length()
