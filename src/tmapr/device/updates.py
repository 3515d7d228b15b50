"""Triton kernels of one rank-3 update beside the passes over K: scores and leverage, then W and the next downdate.

The arithmetic is that of `tmapr.places.recursion`, with the weights' roots put on the 3×3 products instead of the rows,
so that the product which leverage needs serves any weights chosen after it was seen. Every program of `absorb` factors
the 3×3 matrix itself: that is cheaper than another kernel.

counters: [slot to fill next, updates that wait, updates refused].
"""

import triton
import triton.language as tl

RANK = tl.constexpr(3)
SUMS = tl.constexpr(8)


@triton.jit
def respond(rows, gain, W, shares, sums, width, CLASSES: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr):
    """One panel's share of X W, of the lower triangle of X Gᵀ, and of |x₀|²."""
    panel, block = tl.program_id(0), tl.program_id(1)
    line = panel * TILE + tl.arange(0, TILE)
    column = block * BLOCK + tl.arange(0, BLOCK)
    x0, x1, x2 = tl.load(rows + line), tl.load(rows + width + line), tl.load(rows + 2 * width + line)
    weights = tl.load(W + line[:, None] * CLASSES + column[None, :])
    out = shares + panel * (RANK * CLASSES) + column
    tl.store(out, tl.sum(x0[:, None] * weights, axis=0))
    tl.store(out + CLASSES, tl.sum(x1[:, None] * weights, axis=0))
    tl.store(out + 2 * CLASSES, tl.sum(x2[:, None] * weights, axis=0))
    if block == 0:
        g0, g1, g2 = tl.load(gain + line), tl.load(gain + width + line), tl.load(gain + 2 * width + line)
        at = sums + panel * SUMS
        tl.store(at, tl.sum(x0 * g0, axis=0))
        tl.store(at + 1, tl.sum(x1 * g0, axis=0))
        tl.store(at + 2, tl.sum(x1 * g1, axis=0))
        tl.store(at + 3, tl.sum(x2 * g0, axis=0))
        tl.store(at + 4, tl.sum(x2 * g1, axis=0))
        tl.store(at + 5, tl.sum(x2 * g2, axis=0))
        tl.store(at + 6, tl.sum(x0 * x0, axis=0))


@triton.jit
def conclude(
    shares,
    sums,
    ridge,
    scores,
    products,
    leverage,
    counters,
    panels,
    PANELS_UP: tl.constexpr,
    CLASSES: tl.constexpr,
    BLOCK: tl.constexpr,
    PART: tl.constexpr,
):
    """The panels' shares added up in their order; the slot that the last update filled is left behind."""
    program = tl.program_id(0)
    if program == 0:
        panel, which = tl.arange(0, PANELS_UP), tl.arange(0, SUMS)
        inside = (panel < panels)[:, None] & (which < SUMS - 1)[None, :]
        total = tl.sum(tl.load(sums + panel[:, None] * SUMS + which[None, :], mask=inside, other=0.0), axis=0)
        tl.store(products + which, total)
        share = tl.sum(tl.where(which == 0, total, 0.0), axis=0)
        energy = tl.sum(tl.where(which == 6, total, 0.0), axis=0)
        found = tl.load(ridge) * share / tl.where(energy == 0.0, 1.0, energy)
        tl.store(leverage, tl.where(energy == 0.0, 1.0, tl.where(found > 1.0, 1.0, found)))
        tl.store(counters, tl.load(counters + 1))
    else:
        part = tl.arange(0, PART)
        column = (program - 1) * BLOCK + tl.arange(0, BLOCK)
        answer = tl.zeros([PART, BLOCK], tl.float64)
        for start in range(0, panels, PART):
            at = shares + (start + part)[:, None] * (RANK * CLASSES) + column[None, :]
            answer += tl.load(at, mask=(start + part < panels)[:, None], other=0.0)
        tl.store(scores + column, tl.sum(answer, axis=0))


@triton.jit
def _factor(products, r0, r1, r2, scale):
    """Lower Cholesky factor of I + scale · diag(r) · products · diag(r), its entries, and whether there is one."""
    p00 = 1.0 + scale * r0 * r0 * tl.load(products)
    p10 = scale * r1 * r0 * tl.load(products + 1)
    p11 = 1.0 + scale * r1 * r1 * tl.load(products + 2)
    p20 = scale * r2 * r0 * tl.load(products + 3)
    p21 = scale * r2 * r1 * tl.load(products + 4)
    p22 = 1.0 + scale * r2 * r2 * tl.load(products + 5)
    sound = (p00 > 0.0) & (p00 < float("inf"))
    l00 = tl.sqrt(tl.where(sound, p00, 1.0))
    l10 = p10 / l00
    l20 = p20 / l00
    p11 -= l10 * l10
    sound = sound & (p11 > 0.0) & (p11 < float("inf"))
    l11 = tl.sqrt(tl.where(sound, p11, 1.0))
    l21 = (p21 - l20 * l10) / l11
    p22 -= l20 * l20 + l21 * l21
    sound = sound & (p22 > 0.0) & (p22 < float("inf"))
    l22 = tl.sqrt(tl.where(sound, p22, 1.0))
    return l00, l10, l11, l20, l21, l22, sound


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
    TILE: tl.constexpr,
):
    """W += Gᵀ S⁻¹ (Y − X W) for one panel and block of classes, and the downdate of K into the next slot.

    Where the innovation is not positive, a number is not finite or no slot is free, nothing changes but a counter.
    """
    panel, block = tl.program_id(0), tl.program_id(1)
    sign, information = tl.load(terms), tl.load(terms + 1)
    r0, r1, r2 = tl.sqrt(tl.load(weights)), tl.sqrt(tl.load(weights + 1)), tl.sqrt(tl.load(weights + 2))
    l00, l10, l11, l20, l21, l22, sound = _factor(products, r0, r1, r2, sign)
    n00, n10, n11, n20, n21, n22, narrow = _factor(products, r0, r1, r2, sign * information)
    total = 0.0 * sign
    for start in range(0, CLASSES, BLOCK):
        every = start + tl.arange(0, BLOCK)
        for rank in tl.static_range(RANK):
            missing = tl.load(targets + rank * CLASSES + every) - tl.load(scores + rank * CLASSES + every)
            total += tl.sum(tl.load(weights + rank) * missing, axis=0)
    slot = tl.load(counters)
    sound = sound & narrow & (tl.abs(total) < float("inf")) & (slot < PLACES)

    column = block * BLOCK + tl.arange(0, BLOCK)
    a0 = r0 * (tl.load(targets + column) - tl.load(scores + column)) / l00
    a1 = r1 * (tl.load(targets + CLASSES + column) - tl.load(scores + CLASSES + column))
    a2 = r2 * (tl.load(targets + 2 * CLASSES + column) - tl.load(scores + 2 * CLASSES + column))
    a1 = (a1 - l10 * a0) / l11
    a2 = (a2 - l20 * a0 - l21 * a1) / l22
    c2 = a2 / l22
    c1 = (a1 - l21 * c2) / l11
    c0 = (a0 - l10 * c1 - l20 * c2) / l00
    line = panel * TILE + tl.arange(0, TILE)
    g0, g1, g2 = r0 * tl.load(gain + line), r1 * tl.load(gain + width + line), r2 * tl.load(gain + 2 * width + line)
    at = W + line[:, None] * CLASSES + column[None, :]
    change = (
        g0[:, None] * (sign * c0)[None, :] + g1[:, None] * (sign * c1)[None, :] + g2[:, None] * (sign * c2)[None, :]
    )
    tl.store(at, tl.load(at) + change, mask=sound)

    if block == 0:
        v0 = g0 / n00
        v1 = (g1 - n10 * v0) / n11
        v2 = (g2 - n20 * v0 - n21 * v1) / n22
        root = tl.sqrt(information)
        out = pending + slot * RANK * width + line
        tl.store(out, root * v0, mask=sound)
        tl.store(out + width, root * v1, mask=sound)
        tl.store(out + 2 * width, root * v2, mask=sound)
        if panel == 0:
            for rank in tl.static_range(RANK):
                tl.store(signs + slot * RANK + rank, sign, mask=sound)
            tl.store(counters + 1, slot + 1, mask=sound)
            tl.store(counters + 2, tl.load(counters + 2) + 1, mask=sound == 0)
