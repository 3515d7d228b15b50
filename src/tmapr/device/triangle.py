"""The triangle of K on a device, in the layout of `tmapr.places.triangle`, and the two passes over it.

The matrix is always `tiles − pendingᵀ diag(signs) pending`, where up to sixteen updates of three rows wait. `multiply`
reads the tiles once and writes none; `flush` brings them up to date in one read and write. With sixteen updates a
flush, an update costs one read and an eighth of one: at d = 8448 that is 287 MB and 36 MB. On an H200 rewriting takes
0.16 ms for eight and 0.20 ms for sixteen; reading and writing alone 0.14.

Neither waits for the host, and neither's shapes depend on data: both can be captured in a CUDA graph. On the CPU, and
as the kernels' oracle, the same is done by torch in a few lines.
"""

import os
from dataclasses import dataclass
from itertools import accumulate

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.places.triangle import RANK, TILE, identity_tiles, round_up

UPDATES = 16
"""How many updates wait before the tiles are rewritten."""

SLOTS = UPDATES * RANK
WAITING = 1
"""Of the counters, the one that says how many updates wait."""

SUMS = 4
"""Of a row of X K: its products with the three rows of X, and that row's square."""

_BLOCK = 64
"""Classes whose responses a program adds up."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the passes are cut; every choice gives the same results up to rounding."""

    chunk: int = 12
    """Tiles, one below the other, that a program reads."""

    span: int = 16
    """Columns that lie side by side in a warp, two for each lane."""

    strip: int = 16
    """Lines that lie side by side in a program."""

    times: int = 2
    """Strips that are loaded together."""

    stages: int = 4
    """Loads under way at once."""

    warps: int = 4
    registers: int = 168
    """Of a thread, at most: three programs then share a processor, and 144 KiB are on their way to it."""

    run: int = 8
    """Tiles side by side that a program of the flush rewrites one after the other."""

    flush_stages: int = 2
    flush_warps: int = 4
    flush_registers: int = 240


@dataclass(frozen=True, slots=True)
class Response:
    """W, and where that goes which W and X K say of the rows X."""

    W: Float[Tensor, "width capacity"]
    shares: Float[Tensor, "panels 3 capacity"]
    """Of X W, panel by panel."""
    scores: Float[Tensor, "3 capacity"]
    ridge: Float[Tensor, "1"]
    products: Float[Tensor, "3 4"]
    """X K times each row of X; the last column holds the rows' squares."""
    leverage: Float[Tensor, "1"]
    counters: Int[Tensor, "3"]

    @property
    def addresses(self) -> tuple[Tensor, ...]:
        """As the kernels take them."""
        return self.W, self.shares, self.scores, self.ridge, self.products, self.leverage, self.counters


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
            self._scratch = _Scratch(panels, device, self._tuning)

    def multiply(
        self,
        tiles: Float[Tensor, " size"],
        pending: Float[Tensor, "slots width"],
        signs: Float[Tensor, " slots"],
        rows: Float[Tensor, "3 width"],
        product: Float[Tensor, "3 width"],
        response: Response | None = None,
    ) -> None:
        """The product ← rows · (tiles − pendingᵀ diag(signs) pending), in one read of the tiles; and the response."""
        if self.compiled:
            self._launch(tiles, pending, signs, rows, product, response)
            return
        product.copy_(self._multiply_tiles(tiles, rows) - (rows @ pending.T * signs) @ pending)
        if response:
            _respond(rows, product, response)

    def _launch(
        self,
        tiles: Float[Tensor, " size"],
        pending: Float[Tensor, "slots width"],
        signs: Float[Tensor, " slots"],
        rows: Float[Tensor, "3 width"],
        product: Float[Tensor, "3 width"],
        response: Response | None,
    ) -> None:
        from tmapr.device import kernels

        tuning, scratch, panels = self._tuning, self._scratch, self.width // TILE
        classes = response.W.shape[1] if response else 0
        # Where nothing is asked of W, nothing is read or written there either.
        W, shares, *to = response.addresses if response else (product,) * 7
        kernels.multiply_tiles[(SLOTS + panels * (classes // _BLOCK) + len(scratch.chunks),)](
            *(tiles, pending, signs, rows, scratch.chunks, scratch.along, scratch.down, scratch.dots),
            *(W, shares, self.width),
            SLOTS=SLOTS,
            CLASSES=classes,
            BLOCK=_BLOCK,
            TILE=TILE,
            SPAN=tuning.span,
            STRIP=tuning.strip,
            TIMES=tuning.times,
            STAGES=tuning.stages,
            num_warps=tuning.warps,
            maxnreg=tuning.registers,
        )
        kernels.gather_product[(panels * RANK + RANK * classes // _BLOCK,)](
            *(scratch.along, scratch.down, scratch.starts, scratch.dots, pending, rows, product, scratch.sums),
            *(scratch.tally, shares, *to, self.width),
            SLOTS=SLOTS,
            SLOTS_UP=power_of_two(SLOTS),
            CLASSES=classes,
            BLOCK=_BLOCK,
            PANELS_UP=power_of_two(panels),
            TILE=TILE,
            PART=64,
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
        from tmapr.device import updates

        runs = self._scratch.runs
        updates.flush_tiles[(len(runs),)](
            *(tiles, pending, signs, counters, runs, self._scratch.tally, self.width),
            LEAST=least,
            SLOTS=SLOTS,
            SLOTS_UP=power_of_two(SLOTS),
            TILE=TILE,
            STAGES=self._tuning.flush_stages,
            num_warps=self._tuning.flush_warps,
            maxnreg=self._tuning.flush_registers,
        )

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


def _respond(rows: Float[Tensor, "3 width"], product: Float[Tensor, "3 width"], to: Response) -> None:
    torch.matmul(rows, to.W, out=to.scores)
    to.products[:, :RANK] = product @ rows.T
    to.products[:, RANK] = rows.square().sum(dim=1)
    share, energy = to.products[0, 0], to.products[0, RANK]
    to.leverage.copy_(torch.where(energy == 0, 1.0, (to.ridge * share / energy).clamp(max=1.0)))
    to.counters[0] = to.counters[WAITING]


class _Scratch:
    """How the tiles are dealt to programs, and where these leave their shares of a product.

    Their traffic: a share of 64 numbers for three rows of each tile, and one for each chunk. With the default tuning
    that is thirteen such shares for twelve tiles, 5 % of their bytes.
    """

    def __init__(self, panels: int, device: torch.device, tuning: Tuning) -> None:
        groups = -(-panels // tuning.chunk)
        starts = [0, *accumulate(groups - panel // tuning.chunk for panel in range(panels))]
        chunks = [
            (starts[panel] + group - panel // tuning.chunk, panel, max(panel, first), last - max(panel, first))
            for group in range(groups)
            for first, last in [(group * tuning.chunk, min((group + 1) * tuning.chunk, panels))]
            for panel in range(last)
        ]
        # The short ones last: they are what processors do that would wait for the others.
        chunks.sort(key=lambda chunk: -chunk[-1])
        runs = [
            (panel, first, min(tuning.run, panel + 1 - first))
            for panel in range(panels)
            for first in range(0, panel + 1, tuning.run)
        ]
        self.chunks, self.starts, self.runs = (
            torch.tensor(table, dtype=torch.int32, device=device) for table in (chunks, starts, runs)
        )
        self.tally = torch.zeros(1, dtype=torch.int32, device=device)
        self.along, self.down, self.dots, self.sums = (
            torch.empty(size, dtype=torch.float64, device=device)
            for size in (
                panels * (panels + 1) // 2 * RANK * TILE,
                len(chunks) * RANK * TILE,
                SLOTS * RANK,
                panels * RANK * SUMS,
            )
        )


def power_of_two(size: int) -> int:
    """The next power of two: what Triton's blocks are made of."""
    return 1 << (size - 1).bit_length()
