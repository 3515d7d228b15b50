"""Triton kernels that score a view: reduced block by block, weighed by each place's Gaussians, and concluded.

`variation`, `mixtures` and `places` say what is computed, `lesson_kernels` how a view is learned, which begins with the
same survey of it.
"""

import triton
import triton.language as tl

from tmapr.device.block_sums import leave_square

DIRECTION, ALONG, DEVIATION = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
"""Which sum: |direction|², deviation · direction, |deviation|²."""


@triton.jit
def survey(
    view,
    axes,
    shares,
    place,
    means,
    counts,
    samples,
    direction,
    sums,
    aside,
    width,
    blocks,
    DIM: tl.constexpr,
    DIM_UP: tl.constexpr,
    FOLLOWS: tl.constexpr,
    BLOCK: tl.constexpr,
    PART: tl.constexpr,
):
    """One block's share of the reduced view, and of how it deviates from what is known of its place."""
    block = tl.program_id(0)
    if DIM > 0:
        column = tl.arange(0, DIM_UP)
        share = tl.zeros([DIM_UP], tl.float64)
        for start in tl.static_range(0, BLOCK, PART):
            line = block * BLOCK + start + tl.arange(0, PART)
            inside = (line < width)[:, None] & (column < DIM)[None, :]
            part = tl.load(axes + line[:, None] * DIM + column[None, :], mask=inside, other=0.0)
            share += tl.sum(tl.load(view + line, mask=line < width, other=0.0)[:, None] * part, axis=0)
        tl.store(shares + block * DIM_UP + column, share)
    if FOLLOWS:
        at = block * BLOCK + tl.arange(0, BLOCK)
        inside = at < width
        here = tl.load(place)
        known = tl.load(means + here * width + at, mask=inside, other=0.0)
        off = tl.load(view + at, mask=inside, other=0.0) - known
        way = tl.load(direction + at, mask=inside, other=0.0)
        leave_square(way, sums, DIRECTION, blocks)
        tl.store(sums + ALONG * blocks + block, tl.sum(off * way, axis=0))
        leave_square(off, sums, DEVIATION, blocks)
        if block == 0:
            tl.store(aside, tl.load(counts + here))
            tl.store(aside + 1, tl.load(samples))


@triton.jit
def reduce_shares(shares, offset, blocks, DIM: tl.constexpr, DIM_UP: tl.constexpr, BLOCKS_UP: tl.constexpr):
    """The reduced view; zeros beyond its length."""
    block, column = tl.arange(0, BLOCKS_UP), tl.arange(0, DIM_UP)
    every = tl.load(shares + block[:, None] * DIM_UP + column[None, :], mask=(block < blocks)[:, None], other=0.0)
    return tl.sum(every, axis=0) - tl.load(offset + column, mask=column < DIM, other=0.0)


@triton.jit
def weigh_places(
    shares,
    offset,
    terms,
    constants,
    totals,
    blocks,
    M: tl.constexpr,
    M_UP: tl.constexpr,
    DIM: tl.constexpr,
    DIM_UP: tl.constexpr,
    PLACES: tl.constexpr,
    BLOCKS_UP: tl.constexpr,
):
    """The log-likelihood of a view per dimension under each of a few places: nothing where none was learned."""
    row = reduce_shares(shares, offset, blocks, DIM, DIM_UP, BLOCKS_UP)[None, None, :]
    place = tl.program_id(0) * PLACES + tl.arange(0, PLACES)
    which, column = tl.arange(0, M_UP), tl.arange(0, DIM_UP)
    gaussian = place[:, None] * M + tl.broadcast_to(which[None, :], [PLACES, M_UP])
    there = tl.broadcast_to((which < M)[None, :], [PLACES, M_UP])
    inside = there[:, :, None] & (column < DIM)[None, None, :]
    at = terms + gaussian[:, :, None] * (2 * DIM) + column[None, None, :]
    squares = tl.load(at, mask=inside, other=0.0)
    pulls = tl.load(at + DIM, mask=inside, other=0.0)
    logs = tl.sum(row * (squares * row + pulls), axis=2)
    logs += tl.load(constants + gaussian, mask=there, other=-float("inf"))
    top = tl.max(logs, axis=1)
    top = tl.where(top > -float("inf"), top, 0.0)
    total = tl.sum(tl.exp(logs - top[:, None]), axis=1)
    some = total > 0.0
    tl.store(totals + place, tl.where(some, (top + tl.log(tl.where(some, total, 1.0))) / DIM, -float("inf")))


@triton.jit
def conclude_places(
    logits, weights, totals, learned, scores, likelihoods, columns, stride, WEIGHS: tl.constexpr, CAPACITY: tl.constexpr
):
    """The score of every place, and how likely it is: where nothing was learned, as the least likely one."""
    place = tl.arange(0, CAPACITY)
    score = tl.zeros([CAPACITY], tl.float64)
    for which in tl.static_range(3):
        score += tl.load(weights + which) * tl.load(logits + which * stride + place, mask=place < columns, other=0.0)
    tl.store(scores + place, score)
    if WEIGHS:
        known = tl.load(learned + place) != 0
        total = tl.load(totals + place)
        least = tl.min(tl.where(known, total, float("inf")), axis=0)
        tl.store(likelihoods + place, tl.where(known, total, tl.where(least < float("inf"), least, 0.0)))
