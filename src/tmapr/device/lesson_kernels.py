"""Triton kernels that teach U, G and H a view: it is surveyed, then absorbed, then what frames need is renewed.

`variation`, `mixtures` and `places` say what is computed. No program reads what another one of the same kernel writes:
what changes in the second kernel was put aside by the first, see `place_kernels.survey`.

constants: [prior count, floor, novelty, longest count, dim · log 2π, H's bound, gain and floor].
"""

import triton
import triton.language as tl

from tmapr.device.block_sums import add_up, leave_square
from tmapr.device.place_kernels import ALONG, DEVIATION, DIRECTION, reduce_shares

TURNED = tl.constexpr(3)
"""Beside the sums of the survey, which other programs may still be reading: |direction|² afterwards."""


@triton.jit
def _draw(counts, variances, shared, constants):
    """Variances drawn towards the shared one, above the floor."""
    prior, floor = tl.load(constants), tl.load(constants + 1)
    evidence = tl.where(counts > 1.0, counts - 1.0, 0.0)
    drawn = (evidence * variances + prior * shared) / (evidence + prior)
    return tl.where(drawn > floor, drawn, floor)


@triton.jit
def _log_shares(counts):
    """Of a place's samples, each component's; one never born has none."""
    total = tl.sum(counts, axis=0)
    share = counts / tl.where(total > 0.0, total, 1.0)
    return tl.where(share > 0.0, tl.log(tl.where(share > 0.0, share, 1.0)), -float("inf"))


@triton.jit
def _turn(
    view, place, means, counts, samples, direction, sums, aside, width, blocks, BLOCK: tl.constexpr, UP: tl.constexpr
):
    """U: one block of the place's mean and of the main direction, see `DeviceVariation.learn`."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    here = tl.load(place)
    seen, before = tl.load(aside), tl.load(aside + 1)
    again = tl.where(seen > 0.0, 1.0, 0.0).to(tl.float64)
    after = before + again
    scale = tl.sqrt(seen / (seen + 1.0))
    length = tl.sqrt(add_up(sums, DIRECTION, blocks, UP))
    beside = scale * tl.sqrt(add_up(sums, DEVIATION, blocks, UP))
    along = scale * add_up(sums, ALONG, blocks, UP) / tl.where(length > 0.0, length, 1.0)
    along = tl.where(length > 0.0, along, beside)
    mean = tl.load(means + here * width + at, mask=inside, other=0.0)
    off = tl.load(view + at, mask=inside, other=0.0) - mean
    way = tl.load(direction + at, mask=inside, other=0.0)
    # One division for all of a block: they take longer here than all else.
    rate = again / tl.where(after > 1.0, after, 1.0)
    way += rate * (scale * along * off - way)
    tl.store(means + here * width + at, mean + off * (1.0 / (seen + 1.0)), mask=inside)
    tl.store(direction + at, way, mask=inside)
    leave_square(way, sums, TURNED, blocks)
    if block == 0:
        tl.store(counts + here, seen + 1.0)
        tl.store(samples, after)


@triton.jit
def _attenuate(logits, place, update, weights, columns, constants, CAPACITY: tl.constexpr):
    """H: the weights of a sample's rows by how far the ridge misses its place."""
    column = tl.arange(0, CAPACITY)
    missed = tl.load(logits + column, mask=column < columns, other=0.0)
    missed -= tl.where(column == tl.load(place), 1.0, 0.0)
    bound, gain, floor = tl.load(constants + 5), tl.load(constants + 6), tl.load(constants + 7)
    weight = bound / (bound + gain * tl.sqrt(tl.sum(missed * missed, axis=0)))
    weight = tl.where(weight < floor, floor, tl.where(weight > 1.0, 1.0, weight))
    for which in tl.static_range(3):
        tl.store(weights + which, weight * tl.load(update + which))


@triton.jit
def _absorb_row(
    row,
    place,
    counts,
    means,
    variances,
    shared,
    shared_count,
    constants,
    M: tl.constexpr,
    M_UP: tl.constexpr,
    DIM: tl.constexpr,
    DIM_UP: tl.constexpr,
):
    """G: a component is born of a reduced view, or all of its place's move, see `DeviceMixtures.learn`."""
    which, column = tl.arange(0, M_UP), tl.arange(0, DIM_UP)
    here = tl.load(place) * M + which
    at = here[:, None] * DIM + column[None, :]
    there, inside = which < M, (which < M)[:, None] & (column < DIM)[None, :]
    count = tl.load(counts + here, mask=there, other=0.0)
    mean = tl.load(means + at, mask=inside, other=0.0)
    variance = tl.load(variances + at, mask=inside, other=0.0)
    common = tl.load(shared + column, mask=column < DIM, other=0.0)
    commonly = tl.load(shared_count)

    drawn = _draw(count[:, None], variance, common[None, :], constants)
    before = tl.where(inside, row[None, :] - mean, 0.0)
    distances = tl.sum(before * before / drawn, axis=1)
    free = there & (count <= 0.0)
    nearest = tl.min(tl.where(there & (count > 0.0), distances / DIM, float("inf")), axis=0)
    first = tl.min(tl.where(free, which, M_UP), axis=0)
    birth = (first < M_UP) & (nearest > tl.load(constants + 2))
    born = birth & (which == first)

    spread = tl.sum(tl.where(inside, tl.log(drawn), 0.0), axis=1)
    logs = _log_shares(count) - 0.5 * (distances + spread + tl.load(constants + 4))
    top = tl.max(logs, axis=0)
    likely = tl.exp(logs - tl.where(top > -float("inf"), top, 0.0))
    total = tl.sum(likely, axis=0)
    share = likely / tl.where(total > 0.0, total, 1.0)
    counted = count + share
    rate = tl.where(counted > 0.0, share / tl.where(counted > 0.0, counted, 1.0), 0.0)[:, None]
    moved = mean + rate * before
    off = before * (row[None, :] - moved)
    most = tl.load(constants + 3)
    scatter = tl.sum(share[:, None] * off, axis=0)
    commonly += tl.where(birth, 0.0, 1.0)
    # Every thread has read what the others are about to write.
    tl.debug_barrier()
    bounded = tl.where(counted > most, most, counted)
    tl.store(counts + here, tl.where(birth, tl.where(born, 1.0, count), bounded), mask=there)
    unmoved = tl.where(born[:, None], row[None, :], mean)
    tl.store(means + at, tl.where(birth, unmoved, moved), mask=inside)
    tl.store(variances + at, tl.where(birth, variance, variance + rate * (off - variance)), mask=inside)
    common += tl.where(birth, 0.0, (scatter - common) / tl.where(birth, 1.0, commonly))
    tl.store(shared + column, common, mask=column < DIM)
    tl.store(shared_count, commonly)


@triton.jit
def absorb_view(
    view,
    place,
    means,
    counts,
    samples,
    direction,
    sums,
    aside,
    shares,
    offset,
    born,
    centers,
    variances,
    shared,
    shared_count,
    logits,
    update,
    weights,
    constants,
    width,
    blocks,
    columns,
    ATTENUATES: tl.constexpr,
    M: tl.constexpr,
    M_UP: tl.constexpr,
    DIM: tl.constexpr,
    DIM_UP: tl.constexpr,
    CAPACITY: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS_UP: tl.constexpr,
):
    """What a view changes: U block by block; G, and the weights that H gives, by the programs behind them."""
    program = tl.program_id(0)
    if program < blocks:
        _turn(view, place, means, counts, samples, direction, sums, aside, width, blocks, BLOCK, BLOCKS_UP)
    elif program == blocks:
        if DIM > 0:
            row = reduce_shares(shares, offset, blocks, DIM, DIM_UP, BLOCKS_UP)
            _absorb_row(row, place, born, centers, variances, shared, shared_count, constants, M, M_UP, DIM, DIM_UP)
    elif ATTENUATES:
        _attenuate(logits, place, update, weights, columns, constants, CAPACITY)


@triton.jit
def _renew_step(direction, sums, step, width, blocks, BLOCK: tl.constexpr, BLOCKS_UP: tl.constexpr):
    """One deviation along the direction."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    length = tl.sqrt(add_up(sums, TURNED, blocks, BLOCKS_UP))
    way = tl.load(direction + at, mask=at < width, other=0.0)
    tl.store(step + at, way * (1.0 / tl.sqrt(tl.where(length > 0.0, length, 1.0))), mask=at < width)


@triton.jit
def _renew_terms(
    place,
    counts,
    means,
    variances,
    shared,
    constants,
    terms,
    biases,
    learned,
    M: tl.constexpr,
    M_UP: tl.constexpr,
    DIM: tl.constexpr,
    DIM_UP: tl.constexpr,
):
    """What a row's log-likelihood needs of the Gaussians of one place, see `mixtures`."""
    which, column = tl.arange(0, M_UP), tl.arange(0, DIM_UP)
    here, there = place * M + which, which < M
    inside = there[:, None] & (column < DIM)[None, :]
    at = here[:, None] * DIM + column[None, :]
    count = tl.load(counts + here, mask=there, other=0.0)
    mean = tl.load(means + at, mask=inside, other=0.0)
    variance = tl.load(variances + at, mask=inside, other=0.0)
    common = tl.load(shared + column, mask=column < DIM, other=0.0)
    drawn = _draw(count[:, None], variance, common[None, :], constants)
    pulled = mean / drawn
    out = terms + here[:, None] * (2 * DIM) + column[None, :]
    tl.store(out, -0.5 / drawn, mask=inside)
    tl.store(out + DIM, pulled, mask=inside)
    spread = tl.sum(tl.where(inside, mean * pulled + tl.log(drawn), 0.0), axis=1) + tl.load(constants + 4)
    tl.store(biases + here, _log_shares(count) - 0.5 * spread, mask=there)
    tl.store(learned + place, tl.sum(count, axis=0) > 0.0)


@triton.jit
def renew(
    direction,
    sums,
    step,
    counts,
    means,
    variances,
    shared,
    constants,
    terms,
    biases,
    learned,
    width,
    blocks,
    M: tl.constexpr,
    M_UP: tl.constexpr,
    DIM: tl.constexpr,
    DIM_UP: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS_UP: tl.constexpr,
):
    """What frames need of what was learned: U's step block by block, then the terms of every place."""
    program = tl.program_id(0)
    if program < blocks:
        _renew_step(direction, sums, step, width, blocks, BLOCK, BLOCKS_UP)
    elif DIM > 0:
        place = program - blocks
        _renew_terms(place, counts, means, variances, shared, constants, terms, biases, learned, M, M_UP, DIM, DIM_UP)
