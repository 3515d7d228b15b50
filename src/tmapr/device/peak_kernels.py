"""The reference with the most probability around it, in three kernels: see `find_peak`.

Each block ranks its own references: by probability, and where it is the same, by number. The best of each block are
then ranked among those of all, by counting how many are ahead, so that every program finds the rank of its own without
the others. While a camera is followed, most blocks hold nothing, and have nothing to look for.
"""

import triton
import triton.language as tl

from tmapr.device.route_sums import ROWS, add_up
from tmapr.tracking import filter as host
from tmapr.tracking import speeds

TOPS, _ALIKE = tl.constexpr(speeds.PEAKS), tl.constexpr(host.ALIKE)


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
    if tl.max(top, axis=0) / total > tl.load(ground.fixed.pruned):
        ahead = tl.zeros([TOPS, ROWS], tl.int32)
        for start in range(0, sizes.blocks * TOPS, ROWS):
            at = start + tl.arange(0, ROWS)
            inside = at < sizes.blocks * TOPS
            other = tl.load(work.tops + at, mask=inside, other=-1.0)[None, :]
            number = tl.load(work.top_rows + at, mask=inside, other=sizes.references)[None, :]
            ahead += ((other > top[:, None]) | ((other == top[:, None]) & (number < row[:, None]))).to(tl.int32)
        rank = tl.sum(ahead, axis=1)
        found = (rank < TOPS) & (top / total > tl.load(ground.fixed.pruned))
        tl.store(work.heights + rank, top / total, mask=found)
        tl.store(work.peaks + rank, row, mask=found)


@triton.jit
def look_around(ground, work, sizes):
    """The probability near each peak, in a block; and what the block holds."""
    block, count, references = tl.program_id(0), sizes.references, ground.references
    row = block * ROWS + tl.arange(0, ROWS)
    inside = row < count
    total, pruned = tl.load(work.step.total), tl.load(ground.fixed.pruned)
    on = tl.load(work.chances + row, mask=inside, other=0.0) / total
    mimics = tl.load(work.chances + count + row, mask=inside, other=0.0) / total
    on, mimics = tl.where(on > pruned, on, 0.0), tl.where(mimics > pruned, mimics, 0.0)
    longer = tl.load(references.longer + row, mask=inside, other=0.0)
    whole, slot = tl.sum(on, axis=0), tl.arange(0, TOPS)
    tl.store(work.parts.kept_on + block, whole)
    tl.store(work.parts.kept_longer + block, tl.sum(on * longer, axis=0))
    tl.store(work.parts.kept_mimics + block, tl.sum(mimics, axis=0))
    around = tl.zeros([TOPS], tl.float64)
    if whole > 0.0:
        squared = _measure_squares(references, tl.load(work.peaks + slot)[:, None], row[None, :], inside[None, :])
        near = inside[None, :] & (squared <= tl.load(ground.fixed.near))
        around += tl.sum(tl.where(near, on[None, :], 0.0), axis=1)
    tl.store(work.around + block * TOPS + slot, around)


@triton.jit
def _measure_squares(references, peak, row, inside):
    """Square metres between references."""
    east = tl.load(references.east + row, mask=inside, other=0.0) - tl.load(references.east + peak)
    north = tl.load(references.north + row, mask=inside, other=0.0) - tl.load(references.north + peak)
    return east * east + north * north


@triton.jit
def match(ground, work, sizes):
    """The best matches in a block: around the peak, which every program finds for itself, and elsewhere."""
    block, count, blocks = tl.program_id(0), sizes.references, sizes.blocks
    peak, around = _find_peak(work, sizes)
    if block == 0:
        tl.store(work.peak, peak)
        tl.store(work.p_place, around)
    row = block * ROWS + tl.arange(0, ROWS)
    inside = row < count
    squared = _measure_squares(ground.references, peak, row, inside)
    near = inside & (squared <= tl.load(ground.fixed.near))
    away = inside & (squared > tl.load(ground.fixed.elsewhere))
    for measure in tl.static_range(2):
        found = tl.load(work.measures + measure * count + row, mask=inside, other=0.0)
        tl.store(work.here + measure * blocks + block, tl.max(tl.where(near, found, float("-inf")), axis=0))
        tl.store(work.wrong + measure * blocks + block, tl.max(tl.where(away, found, float("-inf")), axis=0))


@triton.jit
def _find_peak(work, sizes):
    """The reference with the most probability around it, and that probability."""
    slot = tl.arange(0, TOPS)
    sums = tl.zeros([ROWS, TOPS], tl.float64)
    for start in range(0, sizes.blocks, ROWS):
        block = start + tl.arange(0, ROWS)
        at = work.around + block[:, None] * TOPS + slot[None, :]
        sums += tl.load(at, mask=(block < sizes.blocks)[:, None] & (slot >= 0)[None, :], other=0.0)
    masses, heights = tl.sum(sums, axis=0), tl.load(work.heights + slot)
    # What holds nothing is no peak, unless nothing holds anything.
    masses = tl.where(heights > 0.0, masses, tl.where(tl.max(heights, axis=0) > 0.0, -1.0, masses))
    alike = masses >= _ALIKE * tl.max(masses, axis=0)
    best = tl.min(tl.where(alike, slot, TOPS - 1), axis=0)
    return tl.load(work.peaks + best), tl.sum(tl.where(slot == best, masses, 0.0), axis=0)
