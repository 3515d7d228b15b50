"""Triton kernels over the triangle of K: one reading pass, and one that reads and rewrites.

The layout is that of `tmapr.places.triangle`: 64×64 tiles, row panel by row panel, diagonal tiles whole. Sums that
cross programs go through scratch and are added in a fixed order by a second kernel: no atomics, so equal inputs give
equal bits.

Why the reading pass looks as it does. An off-diagonal tile is used twice: its columns against the rows there (a sum
along each of its lines, which crosses the lanes of a warp) and its lines against the rows there (a sum down its
columns). Summing each 64-wide line over a warp's 32 lanes takes more shuffles than the memory leaves time for. So a
few lines are loaded as [strip, times, groups, span], in this order, from which Triton lets a thread hold two columns of
every group: it adds those in registers, and only span / 2 lanes have to be summed. The other sum stays in registers
until the chunk ends.

Python floats reach a kernel as float32, therefore every number of the arithmetic comes through memory.
"""

import triton
import triton.language as tl

RANK = tl.constexpr(3)


@triton.jit
def _load_rows(rows, at, width):
    """The three rows at the same places."""
    return tl.load(rows + at), tl.load(rows + width + at), tl.load(rows + 2 * width + at)


@triton.jit
def _dot_slot(slot, pending, signs, rows, dots, width, BLOCK: tl.constexpr):
    """One slot's sign · pending · rowsᵀ: what a waiting downdate takes from the product, before it is spread."""
    at = tl.arange(0, BLOCK)
    total0 = tl.zeros([BLOCK], tl.float64)
    total1 = tl.zeros([BLOCK], tl.float64)
    total2 = tl.zeros([BLOCK], tl.float64)
    for start in range(0, width, BLOCK):
        inside = start + at < width
        waiting = tl.load(pending + slot * width + start + at, mask=inside, other=0.0)
        total0 += waiting * tl.load(rows + start + at, mask=inside, other=0.0)
        total1 += waiting * tl.load(rows + width + start + at, mask=inside, other=0.0)
        total2 += waiting * tl.load(rows + 2 * width + start + at, mask=inside, other=0.0)
    sign = tl.load(signs + slot)
    tl.store(dots + slot * RANK, sign * tl.sum(total0, axis=0))
    tl.store(dots + slot * RANK + 1, sign * tl.sum(total1, axis=0))
    tl.store(dots + slot * RANK + 2, sign * tl.sum(total2, axis=0))


@triton.jit
def _multiply_chunk(
    chunk,
    tiles,
    rows,
    chunks,
    along,
    down,
    width,
    TILE: tl.constexpr,
    WIDE: tl.constexpr,
    SPAN: tl.constexpr,
    STRIP: tl.constexpr,
    TIMES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """A few row panels of one block of `WIDE` column panels: each tile's two shares of the product."""
    GROUPS: tl.constexpr = WIDE * TILE // SPAN
    STEPS: tl.constexpr = TILE // (STRIP * TIMES)
    block = tl.load(chunks + 3 * chunk)
    first = tl.load(chunks + 3 * chunk + 1)
    count = tl.load(chunks + 3 * chunk + 2)
    panels = width // TILE
    blocks = (panels + WIDE - 1) // WIDE

    line = tl.arange(0, STRIP)[:, None] * TIMES + tl.arange(0, TIMES)[None, :]
    group = tl.arange(0, GROUPS)
    panel = block * WIDE + group * SPAN // TILE
    column = group[:, None] * SPAN + tl.arange(0, SPAN)[None, :]
    in_tiles = (column // TILE * TILE * TILE + column % TILE)[None, None, :, :] + line[:, :, None, None] * TILE
    # Rows as wide as the sums, so that Triton gives all of them the layout of the tiles.
    here = tl.broadcast_to((block * WIDE * TILE + column)[None, :, :], [STRIP, GROUPS, SPAN])
    known = (panel < panels)[None, :, None]
    near0 = tl.load(rows + here, mask=known, other=0.0)
    near1 = tl.load(rows + width + here, mask=known, other=0.0)
    near2 = tl.load(rows + 2 * width + here, mask=known, other=0.0)
    down0 = tl.zeros([STRIP, GROUPS, SPAN], tl.float64)
    down1 = tl.zeros([STRIP, GROUPS, SPAN], tl.float64)
    down2 = tl.zeros([STRIP, GROUPS, SPAN], tl.float64)
    for step in tl.range(0, count * STEPS, num_stages=STAGES):
        row_panel = first + step // STEPS
        top = step % STEPS * (STRIP * TIMES)
        start = (row_panel * (row_panel + 1) // 2 + block * WIDE).to(tl.int64) * (TILE * TILE) + top * TILE
        below = (panel <= row_panel)[None, None, :, None]
        tile = tl.load(tiles + start + in_tiles, mask=below, other=0.0, eviction_policy="evict_first")
        far0, far1, far2 = _load_rows(rows, row_panel * TILE + top + line, width)
        # A diagonal tile is whole, so its mirrored share must not be added again.
        mirrored = (panel < row_panel)[None, None, :, None]
        down0 += tl.sum(tile * tl.where(mirrored, far0[:, :, None, None], 0.0), axis=1)
        down1 += tl.sum(tile * tl.where(mirrored, far1[:, :, None, None], 0.0), axis=1)
        down2 += tl.sum(tile * tl.where(mirrored, far2[:, :, None, None], 0.0), axis=1)
        out = along + (row_panel * blocks + block) * (RANK * TILE) + top + line
        tl.store(out, tl.sum(tl.sum(tile * near0[:, None, :, :], axis=2), axis=2))
        tl.store(out + TILE, tl.sum(tl.sum(tile * near1[:, None, :, :], axis=2), axis=2))
        tl.store(out + 2 * TILE, tl.sum(tl.sum(tile * near2[:, None, :, :], axis=2), axis=2))
    out = down + chunk * (RANK * WIDE * TILE) + column
    tl.store(out, tl.sum(down0, axis=0))
    tl.store(out + WIDE * TILE, tl.sum(down1, axis=0))
    tl.store(out + 2 * WIDE * TILE, tl.sum(down2, axis=0))


@triton.jit
def multiply_tiles(
    tiles,
    pending,
    signs,
    rows,
    chunks,
    along,
    down,
    dots,
    width,
    SLOTS: tl.constexpr,
    TILE: tl.constexpr,
    WIDE: tl.constexpr,
    SPAN: tl.constexpr,
    STRIP: tl.constexpr,
    TIMES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Shares of rows · tiles, chunk by chunk; the first programs see to the pending downdates meanwhile."""
    program = tl.program_id(0)
    if program < SLOTS:
        _dot_slot(program, pending, signs, rows, dots, width, 1024)
    else:
        _multiply_chunk(
            program - SLOTS, tiles, rows, chunks, along, down, width, TILE, WIDE, SPAN, STRIP, TIMES, STAGES
        )


@triton.jit
def gather_product(
    along,
    down,
    starts,
    dots,
    pending,
    product,
    width,
    SLOTS: tl.constexpr,
    SLOTS_UP: tl.constexpr,
    TILE: tl.constexpr,
    WIDE: tl.constexpr,
    PART: tl.constexpr,
):
    """One panel of one row of the product: its shares in their order, less what the pending downdates take."""
    panel, rank = tl.program_id(0), tl.program_id(1)
    block = panel // WIDE
    blocks = (width // TILE + WIDE - 1) // WIDE
    part, column = tl.arange(0, PART), tl.arange(0, TILE)
    total = tl.zeros([PART, TILE], tl.float64)
    for start in range(0, block + 1, PART):
        share = along + ((panel * blocks + start + part) * RANK + rank)[:, None] * TILE + column[None, :]
        total += tl.load(share, mask=(start + part <= block)[:, None], other=0.0)
    last = tl.load(starts + block + 1)
    for start in range(tl.load(starts + block), last, PART):
        share = down + ((start + part) * RANK + rank)[:, None] * (WIDE * TILE) + panel % WIDE * TILE + column[None, :]
        total += tl.load(share, mask=(start + part < last)[:, None], other=0.0)
    slot = tl.arange(0, SLOTS_UP)
    used = slot < SLOTS
    dot = tl.load(dots + slot * RANK + rank, mask=used, other=0.0)
    waiting = tl.load(pending + slot[:, None] * width + panel * TILE + column[None, :], mask=used[:, None], other=0.0)
    taken = tl.sum(dot[:, None] * waiting, axis=0)
    tl.store(product + rank * width + panel * TILE + column, tl.sum(total, axis=0) - taken)


@triton.jit
def flush_tiles(
    tiles,
    pending,
    signs,
    counters,
    panels_of,
    count,
    width,
    LEAST: tl.constexpr,
    SLOTS: tl.constexpr,
    TILE: tl.constexpr,
    RUN: tl.constexpr,
):
    """A run of tiles −= pendingᵀ diag(signs) pending, if at least `LEAST` updates wait.

    A run mostly stays in its row panel, whose share of `pending` is then found in the nearest cache.
    """
    if tl.load(counters + 1) >= LEAST:
        line, column = tl.arange(0, TILE), tl.arange(0, TILE)
        first = tl.program_id(0) * RUN
        here = tiles + first.to(tl.int64) * (TILE * TILE) + line[:, None] * TILE + column[None, :]
        for tile in range(first, tl.minimum(first + RUN, count)):
            top = pending + tl.load(panels_of + 2 * tile) * TILE + line
            left = pending + tl.load(panels_of + 2 * tile + 1) * TILE + column
            at = here + (tile - first) * (TILE * TILE)
            settled = tl.load(at)
            for slot in range(SLOTS):
                # The sign goes to one factor exactly, so that diagonal tiles stay symmetric to the last bit.
                signed = tl.load(signs + slot) * tl.load(left + slot * width)
                settled -= tl.load(top + slot * width)[:, None] * signed[None, :]
            tl.store(at, settled)


@triton.jit
def clear_slots(signs, counters, LEAST: tl.constexpr, SLOTS: tl.constexpr, SLOTS_UP: tl.constexpr):
    """What was flushed no longer waits; a kernel of its own, since every program of the flush reads the signs."""
    if tl.load(counters + 1) >= LEAST:
        slot = tl.arange(0, SLOTS_UP)
        tl.store(signs + slot, tl.zeros([SLOTS_UP], tl.float64), mask=slot < SLOTS)
        tl.store(counters, 0)
        tl.store(counters + 1, 0)
