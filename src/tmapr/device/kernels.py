"""Triton kernels that read K and W once for three rows: X K, X W, X K Xᵀ and the leverage.

The layout is that of `tmapr.places.triangle`: 64×64 tiles, row panel by row panel, diagonal tiles whole. Sums that
cross programs go through scratch and are added in a fixed order by a second kernel, and by that one of its programs
which is done last: no number is added atomically, so equal inputs give equal bits.

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
SUMS = tl.constexpr(4)
"""Of a row of X K: its products with the three rows of X, and that row's square."""


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
    sign = tl.load(signs + slot)
    for start in range(0, tl.where(sign == 0.0, 0, width), BLOCK):
        inside = start + at < width
        waiting = tl.load(pending + slot * width + start + at, mask=inside, other=0.0)
        total0 += waiting * tl.load(rows + start + at, mask=inside, other=0.0)
        total1 += waiting * tl.load(rows + width + start + at, mask=inside, other=0.0)
        total2 += waiting * tl.load(rows + 2 * width + start + at, mask=inside, other=0.0)
    tl.store(dots + slot * RANK, sign * tl.sum(total0, axis=0))
    tl.store(dots + slot * RANK + 1, sign * tl.sum(total1, axis=0))
    tl.store(dots + slot * RANK + 2, sign * tl.sum(total2, axis=0))


@triton.jit
def _respond(program, rows, W, shares, width, CLASSES: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr):
    """One panel's share of X W for a block of classes."""
    LINES: tl.constexpr = 16
    panel = program // (CLASSES // BLOCK)
    column = program % (CLASSES // BLOCK) * BLOCK + tl.arange(0, BLOCK)
    sum0 = tl.zeros([LINES, BLOCK], tl.float64)
    sum1 = tl.zeros([LINES, BLOCK], tl.float64)
    sum2 = tl.zeros([LINES, BLOCK], tl.float64)
    for top in tl.static_range(0, TILE, LINES):
        line = panel * TILE + top + tl.arange(0, LINES)
        # W is small and needed again, by the lesson; K streams through the cache.
        weights = tl.load(W + line[:, None] * CLASSES + column[None, :], eviction_policy="evict_last")
        x0, x1, x2 = _load_rows(rows, line, width)
        sum0 += x0[:, None] * weights
        sum1 += x1[:, None] * weights
        sum2 += x2[:, None] * weights
    out = shares + panel * (RANK * CLASSES) + column
    tl.store(out, tl.sum(sum0, axis=0))
    tl.store(out + CLASSES, tl.sum(sum1, axis=0))
    tl.store(out + 2 * CLASSES, tl.sum(sum2, axis=0))


@triton.jit
def _multiply_chunk(
    program,
    tiles,
    rows,
    chunks,
    along,
    down,
    width,
    TILE: tl.constexpr,
    SPAN: tl.constexpr,
    STRIP: tl.constexpr,
    TIMES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """A few tiles, one below the other: each tile's two shares of the product."""
    GROUPS: tl.constexpr = TILE // SPAN
    STEPS: tl.constexpr = TILE // (STRIP * TIMES)
    chunk = tl.load(chunks + 4 * program)
    panel = tl.load(chunks + 4 * program + 1)
    first = tl.load(chunks + 4 * program + 2)
    count = tl.load(chunks + 4 * program + 3)

    line = tl.arange(0, STRIP)[:, None] * TIMES + tl.arange(0, TIMES)[None, :]
    column = tl.arange(0, GROUPS)[:, None] * SPAN + tl.arange(0, SPAN)[None, :]
    in_tile = column[None, None, :, :] + line[:, :, None, None] * TILE
    # Rows as wide as the sums, so that Triton gives all of them the layout of the tiles.
    here = tl.broadcast_to((panel * TILE + column)[None, :, :], [STRIP, GROUPS, SPAN])
    near0, near1, near2 = _load_rows(rows, here, width)
    down0 = tl.zeros([STRIP, GROUPS, SPAN], tl.float64)
    down1 = tl.zeros([STRIP, GROUPS, SPAN], tl.float64)
    down2 = tl.zeros([STRIP, GROUPS, SPAN], tl.float64)
    for step in tl.range(0, count * STEPS, num_stages=STAGES):
        row_panel = first + step // STEPS
        top = step % STEPS * (STRIP * TIMES)
        number = (row_panel * (row_panel + 1) // 2 + panel).to(tl.int64)
        tile = tl.load(tiles + number * (TILE * TILE) + top * TILE + in_tile, eviction_policy="evict_first")
        far0, far1, far2 = _load_rows(rows, row_panel * TILE + top + line, width)
        # A diagonal tile is whole, so its mirrored share must not be added again.
        mirrored = panel < row_panel
        down0 += tl.sum(tile * tl.where(mirrored, far0, 0.0)[:, :, None, None], axis=1)
        down1 += tl.sum(tile * tl.where(mirrored, far1, 0.0)[:, :, None, None], axis=1)
        down2 += tl.sum(tile * tl.where(mirrored, far2, 0.0)[:, :, None, None], axis=1)
        out = along + number * (RANK * TILE) + top + line
        tl.store(out, tl.sum(tl.sum(tile * near0[:, None, :, :], axis=2), axis=2))
        tl.store(out + TILE, tl.sum(tl.sum(tile * near1[:, None, :, :], axis=2), axis=2))
        tl.store(out + 2 * TILE, tl.sum(tl.sum(tile * near2[:, None, :, :], axis=2), axis=2))
    out = down + chunk * (RANK * TILE) + column
    tl.store(out, tl.sum(down0, axis=0))
    tl.store(out + TILE, tl.sum(down1, axis=0))
    tl.store(out + 2 * TILE, tl.sum(down2, axis=0))


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
    W,
    shares,
    width,
    SLOTS: tl.constexpr,
    CLASSES: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
    SPAN: tl.constexpr,
    STRIP: tl.constexpr,
    TIMES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Shares of rows · tiles, chunk by chunk; the first programs see to the pending downdates and to X W meanwhile."""
    program = tl.program_id(0)
    first = SLOTS + width // TILE * (CLASSES // BLOCK)
    if program < SLOTS:
        _dot_slot(program, pending, signs, rows, dots, width, 1024)
    elif program < first:
        _respond(program - SLOTS, rows, W, shares, width, CLASSES, BLOCK, TILE)
    else:
        _multiply_chunk(program - first, tiles, rows, chunks, along, down, width, TILE, SPAN, STRIP, TIMES, STAGES)


@triton.jit
def _gather_panel(
    panel,
    rank,
    along,
    down,
    starts,
    dots,
    pending,
    rows,
    product,
    sums,
    width,
    SLOTS: tl.constexpr,
    SLOTS_UP: tl.constexpr,
    TILE: tl.constexpr,
    PART: tl.constexpr,
):
    """One panel of one row of the product: its shares in their order, less what the pending downdates take."""
    part, column = tl.arange(0, PART), tl.arange(0, TILE)
    slot, here = tl.arange(0, SLOTS_UP), panel * TILE + column
    used = slot < SLOTS
    # Asked for first and needed last.
    dot = tl.load(dots + slot * RANK + rank, mask=used, other=0.0)
    waiting = tl.load(pending + slot[:, None] * width + here[None, :], mask=used[:, None], other=0.0)
    total = tl.zeros([PART, TILE], tl.float64)
    number = panel * (panel + 1) // 2
    for start in range(0, panel + 1, PART):
        share = along + ((number + start + part) * RANK + rank)[:, None] * TILE + column[None, :]
        total += tl.load(share, mask=(start + part <= panel)[:, None], other=0.0)
    last = tl.load(starts + panel + 1)
    for start in range(tl.load(starts + panel), last, PART):
        share = down + ((start + part) * RANK + rank)[:, None] * TILE + column[None, :]
        total += tl.load(share, mask=(start + part < last)[:, None], other=0.0)
    found = tl.sum(total, axis=0) - tl.sum(dot[:, None] * waiting, axis=0)
    tl.store(product + rank * width + here, found)
    out = sums + (panel * RANK + rank) * SUMS
    own = tl.load(rows + rank * width + here)
    x0, x1, x2 = _load_rows(rows, here, width)
    tl.store(out, tl.sum(x0 * found, axis=0))
    tl.store(out + 1, tl.sum(x1 * found, axis=0))
    tl.store(out + 2, tl.sum(x2 * found, axis=0))
    tl.store(out + 3, tl.sum(own * own, axis=0))


@triton.jit
def _conclude(sums, ridge, products, leverage, counters, panels, PANELS_UP: tl.constexpr):
    """X K Xᵀ of the panels' sums, and the leverage of the first row; the slot last filled is left behind."""
    FOUND: tl.constexpr = RANK * SUMS
    panel, which = tl.arange(0, PANELS_UP), tl.arange(0, 16)
    inside = (panel < panels)[:, None] & (which < FOUND)[None, :]
    found = tl.load(sums + panel[:, None] * FOUND + which[None, :], mask=inside, other=0.0, cache_modifier=".cg")
    total = tl.sum(found, axis=0)
    tl.store(products + which, total, mask=which < FOUND)
    share = tl.sum(tl.where(which == 0, total, 0.0), axis=0)
    energy = tl.sum(tl.where(which == 3, total, 0.0), axis=0)
    known = tl.load(ridge) * share / tl.where(energy == 0.0, 1.0, energy)
    tl.store(leverage, tl.where(energy == 0.0, 1.0, tl.where(known > 1.0, 1.0, known)))
    tl.store(counters, tl.load(counters + 1))


@triton.jit
def gather_product(
    along,
    down,
    starts,
    dots,
    pending,
    rows,
    product,
    sums,
    tally,
    shares,
    scores,
    ridge,
    products,
    leverage,
    counters,
    width,
    SLOTS: tl.constexpr,
    SLOTS_UP: tl.constexpr,
    CLASSES: tl.constexpr,
    BLOCK: tl.constexpr,
    PANELS_UP: tl.constexpr,
    TILE: tl.constexpr,
    PART: tl.constexpr,
):
    """The product, panel by panel, then what follows from it; the last programs add up X W.

    Without classes there is the product alone.
    """
    program, panels = tl.program_id(0), width // TILE
    if program < panels * RANK:
        # The last panels have the most shares.
        panel, rank = panels - 1 - program // RANK, program % RANK
        _gather_panel(
            panel,
            rank,
            along,
            down,
            starts,
            dots,
            pending,
            rows,
            product,
            sums,
            width,
            SLOTS,
            SLOTS_UP,
            TILE,
            PART,
        )
        if CLASSES > 0:
            # All of this program's sums are there before it is counted; who is counted last finds those of all.
            tl.debug_barrier()
            if tl.atomic_add(tally, 1, sem="acq_rel") == panels * RANK - 1:
                _conclude(sums, ridge, products, leverage, counters, panels, PANELS_UP)
                tl.store(tally, 0)
    else:
        part = tl.arange(0, PART)
        column = (program - panels * RANK) * BLOCK + tl.arange(0, BLOCK)
        answer = tl.zeros([PART, BLOCK], tl.float64)
        for start in range(0, panels, PART):
            at = shares + (start + part)[:, None] * (RANK * CLASSES) + column[None, :]
            answer += tl.load(at, mask=(start + part < panels)[:, None], other=0.0)
        tl.store(scores + column, tl.sum(answer, axis=0))
