"""The references with the most probability, and what lies around each, in two kernels: see `find_peak`.

Each block ranks its own references: by probability, and where it is the same, by number. The best of each block are
then ranked among those of all, by counting how many are ahead, so that every program finds the rank of its own without
the others. Of each peak not only the probability around it is summed up, but the best matches here and elsewhere as
well, which are asked for of one of them: which one is known only when all sums are.
"""

import triton
import triton.language as tl

from tmapr.device.route_sums import ROWS, WIDTH, add_up
from tmapr.tracking import speeds

TOPS = tl.constexpr(speeds.PEAKS)


@triton.jit
def rank_block(work, chances, block):
    """Keep the best of a block, in their order; what is no reference is below 0."""
    at = tl.arange(0, ROWS)
    ahead = (chances[None, :] > chances[:, None]) | (
        (chances[None, :] == chances[:, None]) & (at[None, :] < at[:, None])
    )
    rank = tl.sum(ahead.to(tl.int32), axis=1)
    kept = rank < TOPS
    tl.store(work.tops + block * TOPS + rank, chances, mask=kept)
    tl.store(work.top_rows + block * TOPS + rank, (block * ROWS + at).to(tl.int64), mask=kept)


@triton.jit
def read_total(work, sizes):
    """What probabilities are divided by to be 1 in the whole."""
    return add_up(work.parts.chance, sizes.blocks) + add_up(work.off, sizes.places)


@triton.jit
def rank_all(ground, work, sizes):
    """The highest references of all, in their order."""
    block, total = tl.program_id(0), read_total(work, sizes)
    slot = block * TOPS + tl.arange(0, TOPS)
    top, row = tl.load(work.tops + slot), tl.load(work.top_rows + slot)
    if block == 0:
        tl.store(work.step.total, total)
    # While a camera is followed, few blocks hold anything that is not forgotten.
    if tl.max(top, axis=0) / total > tl.load(ground.fixed.pruned):
        rank = tl.zeros([TOPS], tl.int32)
        for start in range(0, sizes.blocks * TOPS, WIDTH):
            at = start + tl.arange(0, WIDTH)
            inside = at < sizes.blocks * TOPS
            other = tl.load(work.tops + at, mask=inside, other=-1.0)
            number = tl.load(work.top_rows + at, mask=inside, other=sizes.count)
            ahead = (other[None, :] > top[:, None]) | (
                (other[None, :] == top[:, None]) & (number[None, :] < row[:, None])
            )
            rank += tl.sum(ahead.to(tl.int32), axis=1)
        found = (rank < TOPS) & (top / total > tl.load(ground.fixed.pruned))
        tl.store(work.heights + rank, top / total, mask=found)
        tl.store(work.peaks + rank, row, mask=found)


@triton.jit
def look_around(ground, work, sizes):
    """Of each peak, in a block: probability and best matches near it, and the best ones elsewhere."""
    block, count, blocks = tl.program_id(0), sizes.count, sizes.blocks
    references = ground.references
    row = block * ROWS + tl.arange(0, ROWS)
    inside = row < count
    total, pruned = tl.load(work.step.total), tl.load(ground.fixed.pruned)
    on = tl.load(work.chances + row, mask=inside, other=0.0) / total
    mimics = tl.load(work.chances + count + row, mask=inside, other=0.0) / total
    on, mimics = tl.where(on > pruned, on, 0.0), tl.where(mimics > pruned, mimics, 0.0)
    longer = tl.load(references.longer + row, mask=inside, other=0.0)
    tl.store(work.parts.kept_on + block, tl.sum(on, axis=0))
    tl.store(work.parts.kept_longer + block, tl.sum(on * longer, axis=0))
    tl.store(work.parts.kept_mimics + block, tl.sum(mimics, axis=0))

    slot = tl.arange(0, TOPS)
    peak = tl.load(work.peaks + slot)
    east = tl.load(references.east + row, mask=inside, other=0.0)
    north = tl.load(references.north + row, mask=inside, other=0.0)
    east = east[None, :] - tl.load(references.east + peak)[:, None]
    north = north[None, :] - tl.load(references.north + peak)[:, None]
    squared = east * east + north * north
    near = inside[None, :] & (squared <= tl.load(ground.fixed.near))
    away = inside[None, :] & (squared > tl.load(ground.fixed.elsewhere))
    tl.store(work.around + block * TOPS + slot, tl.sum(tl.where(near, on[None, :], 0.0), axis=1))
    for measure in range(2):
        match = tl.load(work.measures + measure * count + row, mask=inside, other=0.0)[None, :]
        to = (measure * blocks + block) * TOPS + slot
        tl.store(work.here + to, tl.max(tl.where(near, match, float("-inf")), axis=1))
        tl.store(work.wrong + to, tl.max(tl.where(away, match, float("-inf")), axis=1))
