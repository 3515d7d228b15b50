"""Triton kernels that change K and W: a lesson, which leaves its downdate of K waiting, and the tiles' rewriting.

The arithmetic is that of `tmapr.places.recursion`, with the weights' roots put on the 3×3 products instead of the rows,
so that the product which leverage needs serves any weights chosen after it was seen. Every program of `absorb` factors
the 3×3 matrix itself: that is cheaper than another kernel.

Rewriting multiplies by the tensor cores, which have float64: by single fused multiply-adds the same takes twice as
long, because every number of a tile needs two others from a cache for each waiting row.

counters: [slot to fill next, updates that wait, updates refused].
products: row b of X K times row a of X at 4 b + a.
"""

import triton
import triton.language as tl

RANK = tl.constexpr(3)
SUMS = tl.constexpr(4)
STEP = tl.constexpr(16)
"""Waiting rows that a tensor core takes at once."""


@triton.jit
def _factor(products, r0, r1, r2, scale):
    """Lower Cholesky factor of I + scale · diag(r) · products · diag(r), and whether there is one.

    Of the diagonal the inverse is given, because a division costs as much as some twenty multiplications.
    """
    p00 = 1.0 + scale * r0 * r0 * tl.load(products)
    p10 = scale * r1 * r0 * tl.load(products + 1)
    p20 = scale * r2 * r0 * tl.load(products + 2)
    p11 = 1.0 + scale * r1 * r1 * tl.load(products + SUMS + 1)
    p21 = scale * r2 * r1 * tl.load(products + SUMS + 2)
    p22 = 1.0 + scale * r2 * r2 * tl.load(products + 2 * SUMS + 2)
    sound = (p00 > 0.0) & (p00 < float("inf"))
    i00 = 1.0 / tl.sqrt(tl.where(sound, p00, 1.0))
    l10 = p10 * i00
    l20 = p20 * i00
    p11 -= l10 * l10
    sound = sound & (p11 > 0.0) & (p11 < float("inf"))
    i11 = 1.0 / tl.sqrt(tl.where(sound, p11, 1.0))
    l21 = (p21 - l20 * l10) * i11
    p22 -= l20 * l20 + l21 * l21
    sound = sound & (p22 > 0.0) & (p22 < float("inf"))
    i22 = 1.0 / tl.sqrt(tl.where(sound, p22, 1.0))
    return i00, l10, i11, l20, l21, i22, sound


@triton.jit
def _miss(targets, scores, rank, column, CLASSES: tl.constexpr, PLACE: tl.constexpr):
    """Y − X W of one row: Y is written out, or shows one place."""
    found = tl.load(scores + rank * CLASSES + column)
    if PLACE:
        return tl.where(column == tl.load(targets), 1.0, 0.0) - found
    return tl.load(targets + rank * CLASSES + column) - found


@triton.jit
def absorb(
    gain,
    products,
    scores,
    targets,
    weights,
    terms,
    W,
    pending,
    signs,
    counters,
    width,
    PLACES: tl.constexpr,
    CLASSES: tl.constexpr,
    BLOCK: tl.constexpr,
    LINES: tl.constexpr,
    PLACE: tl.constexpr,
):
    """W += Gᵀ S⁻¹ (Y − X W) for some lines and classes, and the downdate of K into the next slot.

    Where the innovation is not positive, a number is not finite or no slot is free, nothing changes but a counter.
    """
    part, block = tl.program_id(0), tl.program_id(1)
    column = block * BLOCK + tl.arange(0, BLOCK)
    line = part * LINES + tl.arange(0, LINES)
    at = W + line[:, None] * CLASSES + column[None, :]
    # Asked for before the long way through the roots, so that they are here after it.
    known = tl.load(at)
    gain0, gain1, gain2 = tl.load(gain + line), tl.load(gain + width + line), tl.load(gain + 2 * width + line)
    sign, information = tl.load(terms), tl.load(terms + 1)
    r0, r1, r2 = tl.sqrt(tl.load(weights)), tl.sqrt(tl.load(weights + 1)), tl.sqrt(tl.load(weights + 2))
    i00, l10, i11, l20, l21, i22, sound = _factor(products, r0, r1, r2, sign)
    n00, n10, n11, n20, n21, n22, narrow = _factor(products, r0, r1, r2, sign * information)
    total = tl.zeros([BLOCK], tl.float64)
    for start in range(0, CLASSES, BLOCK):
        every = start + tl.arange(0, BLOCK)
        for rank in tl.static_range(RANK):
            total += tl.load(weights + rank) * _miss(targets, scores, rank, every, CLASSES, PLACE)
    slot = tl.load(counters)
    sound = sound & narrow & (tl.abs(tl.sum(total, axis=0)) < float("inf")) & (slot < PLACES)

    a0 = r0 * _miss(targets, scores, 0, column, CLASSES, PLACE) * i00
    a1 = (r1 * _miss(targets, scores, 1, column, CLASSES, PLACE) - l10 * a0) * i11
    a2 = (r2 * _miss(targets, scores, 2, column, CLASSES, PLACE) - l20 * a0 - l21 * a1) * i22
    c2 = a2 * i22
    c1 = (a1 - l21 * c2) * i11
    c0 = (a0 - l10 * c1 - l20 * c2) * i00
    g0, g1, g2 = r0 * gain0, r1 * gain1, r2 * gain2
    change = (
        g0[:, None] * (sign * c0)[None, :] + g1[:, None] * (sign * c1)[None, :] + g2[:, None] * (sign * c2)[None, :]
    )
    tl.store(at, known + change, mask=sound)

    if block == 0:
        v0 = g0 * n00
        v1 = (g1 - n10 * v0) * n11
        v2 = (g2 - n20 * v0 - n21 * v1) * n22
        root = tl.sqrt(information)
        out = pending + slot * RANK * width + line
        tl.store(out, root * v0, mask=sound)
        tl.store(out + width, root * v1, mask=sound)
        tl.store(out + 2 * width, root * v2, mask=sound)
        if part == 0:
            for rank in tl.static_range(RANK):
                tl.store(signs + slot * RANK + rank, sign, mask=sound)
            tl.store(counters + 1, slot + 1, mask=sound)
            tl.store(counters + 2, tl.load(counters + 2) + 1, mask=sound == 0)


@triton.jit
def _load_lines(pending, signs, first, at, width):
    """Some waiting rows at a panel's lines, with their signs turned round: what is multiplied is to be subtracted."""
    slot = first + tl.arange(0, STEP)
    # Signs are ±1, so that diagonal tiles stay symmetric to the last bit.
    return tl.load(pending + slot[None, :] * width + at[:, None]) * -tl.load(signs + slot)[None, :]


@triton.jit
def _load_columns(pending, first, at, width):
    """The same rows at a panel's columns."""
    slot = first + tl.arange(0, STEP)
    return tl.load(pending + slot[:, None] * width + at[None, :])


@triton.jit
def flush_tiles(
    tiles,
    pending,
    signs,
    counters,
    chunks,
    tally,
    width,
    LEAST: tl.constexpr,
    SLOTS: tl.constexpr,
    SLOTS_UP: tl.constexpr,
    TILE: tl.constexpr,
    STAGES: tl.constexpr,
):
    """A few tiles side by side −= pendingᵀ diag(signs) pending, if at least `LEAST` updates wait; then none does."""
    tl.static_assert(SLOTS == 3 * STEP)
    if tl.load(counters + 1) >= LEAST:
        program = tl.program_id(0)
        panel = tl.load(chunks + 3 * program)
        first = tl.load(chunks + 3 * program + 1)
        count = tl.load(chunks + 3 * program + 2)
        at = tl.arange(0, TILE)
        top0 = _load_lines(pending, signs, 0, panel * TILE + at, width)
        top1 = _load_lines(pending, signs, STEP, panel * TILE + at, width)
        top2 = _load_lines(pending, signs, 2 * STEP, panel * TILE + at, width)
        start = tiles + (panel * (panel + 1) // 2).to(tl.int64) * (TILE * TILE)
        in_tile = at[:, None] * TILE + at[None, :]
        for column in tl.range(first, first + count, num_stages=STAGES):
            here = start + column * (TILE * TILE) + in_tile
            settled = tl.load(here)
            left = column * TILE + at
            settled = tl.dot(top0, _load_columns(pending, 0, left, width), acc=settled, out_dtype=tl.float64)
            settled = tl.dot(top1, _load_columns(pending, STEP, left, width), acc=settled, out_dtype=tl.float64)
            settled = tl.dot(top2, _load_columns(pending, 2 * STEP, left, width), acc=settled, out_dtype=tl.float64)
            tl.store(here, settled)
        # Every program reads the signs and the counters; the last one that is done with them clears them.
        tl.debug_barrier()
        if tl.atomic_add(tally, 1, sem="acq_rel") == tl.num_programs(0) - 1:
            slot = tl.arange(0, SLOTS_UP)
            tl.store(signs + slot, tl.zeros([SLOTS_UP], tl.float64), mask=slot < SLOTS)
            tl.store(counters, 0)
            tl.store(counters + 1, 0)
            tl.store(tally, 0)
