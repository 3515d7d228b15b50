"""Triton kernels of a drive's condition: a view counted, and a view seen under the map's condition instead.

`condition` says what is computed, and `prepared` what of it a frame needs. State and constants come through memory, as
float64: [views, weight, length, known] and [few, most, remembered, shortest].
"""

import triton
import triton.language as tl

from tmapr.device.block_sums import add_up, leave_square

MOVED, OWN, SHARING, LIKE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2), tl.constexpr(3)
"""Which sum: |moved|², |own|², own · the map's mean, and view · the drive's mean."""


@triton.jit
def _count_view(state, constants, share):
    """How many views there are with one more."""
    views = tl.load(state + 3) * tl.load(state) + share
    most = tl.load(constants + 2)
    return tl.where(views > most, most, views)


@triton.jit
def note_view(descriptor, share, state, constants, mean, sums, width, blocks, BLOCK: tl.constexpr):
    """The mean with one more view, and its squares; how many views there are is written by the next kernel."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    new = tl.load(share)
    views = _count_view(state, constants, new)
    rate = tl.where(new > 0.0, new / tl.where(new > 0.0, views, 1.0), 0.0)
    before = tl.load(state + 3) * tl.load(mean + at, mask=inside, other=0.0)
    after = before + rate * (tl.load(descriptor + at, mask=inside, other=0.0) - before)
    tl.store(mean + at, after, mask=inside)
    leave_square(after, sums, 0, blocks)


@triton.jit
def measure_mean(share, state, constants, sums, blocks, COUNTS: tl.constexpr, BLOCKS_UP: tl.constexpr):
    """What a frame needs of the mean: its weight and its length."""
    views = _count_view(state, constants, tl.load(share)) if COUNTS else tl.load(state)
    length = tl.sqrt(add_up(sums, 0, blocks, BLOCKS_UP))
    shortest = tl.load(constants + 3)
    tl.store(state, views)
    tl.store(state + 1, tl.load(constants + 1) * views / (views + tl.load(constants)))
    tl.store(state + 2, tl.where(length > shortest, length, shortest))


@triton.jit
def measure_view(descriptor, mean, mapped, state, sums, width, blocks, BLOCK: tl.constexpr):
    """One block's share of the lengths of the view under the map's condition and of what it has of its own."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    weight = tl.load(state + 3) * tl.load(state + 1)
    seen = tl.load(descriptor + at, mask=inside, other=0.0)
    here = tl.load(mean + at, mask=inside, other=0.0)
    there = tl.load(mapped + at, mask=inside, other=0.0)
    own = seen - weight * here
    leave_square(seen - weight * (here - there), sums, MOVED, blocks)
    leave_square(own, sums, OWN, blocks)
    tl.store(sums + SHARING * blocks + block, tl.sum(own * there, axis=0))
    tl.store(sums + LIKE * blocks + block, tl.sum(seen * here, axis=0))


@triton.jit
def move_view(
    descriptor,
    mean,
    mapped,
    state,
    constants,
    sums,
    view,
    queries,
    facts,
    step,
    coefficients,
    points,
    width,
    blocks,
    SPREADS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS_UP: tl.constexpr,
):
    """The view, what the memory is multiplied with, and the squares of the points around the view."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    known = tl.load(state + 3)
    weight = known * tl.load(state + 1)
    seen = tl.load(descriptor + at, mask=inside, other=0.0)
    here = tl.load(mean + at, mask=inside, other=0.0)
    there = tl.load(mapped + at, mask=inside, other=0.0)
    length = tl.sqrt(add_up(sums, MOVED, blocks, BLOCKS_UP))
    # One division for all of a block: they take longer here than all else.
    moved = (seen - weight * (here - there)) * (1.0 / tl.where(length > 0.0, length, 1.0))
    placed = tl.where(known * length > tl.load(constants + 3), moved, seen)
    tl.store(view + at, placed, mask=inside)
    tl.store(queries + at, (seen - weight * here).to(tl.float32), mask=inside)
    tl.store(queries + width + at, seen.to(tl.float32), mask=inside)
    if SPREADS:
        _square_points(placed, tl.load(step + at, mask=inside, other=0.0), coefficients, points, blocks)
    if block == 0:
        tl.store(facts, weight)
        tl.store(facts + 1, known)
        tl.store(facts + 2, tl.sqrt(add_up(sums, OWN, blocks, BLOCKS_UP)))
        tl.store(facts + 3, add_up(sums, SHARING, blocks, BLOCKS_UP))
        tl.store(facts + 4, add_up(sums, LIKE, blocks, BLOCKS_UP) / tl.load(state + 2))


@triton.jit
def _square_points(view, step, coefficients, points, blocks):
    for which in tl.static_range(3):
        leave_square(_lay_point(view, step, coefficients, which), points, which, blocks)


@triton.jit
def _lay_point(view, step, coefficients, which):
    return tl.load(coefficients + which) * view + tl.load(coefficients + 3 + which) * step


@triton.jit
def measure_points(view, step, coefficients, points, width, blocks, BLOCK: tl.constexpr):
    """The squares of the points around a view that is there already."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    seen = tl.load(view + at, mask=inside, other=0.0)
    _square_points(seen, tl.load(step + at, mask=inside, other=0.0), coefficients, points, blocks)


@triton.jit
def lay_points(
    view,
    step,
    coefficients,
    points,
    rows,
    width,
    blocks,
    ON_SPHERE: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS_UP: tl.constexpr,
):
    """The points around a view, at length 1 where they go back to the sphere."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    seen = tl.load(view + at, mask=inside, other=0.0)
    along = tl.load(step + at, mask=inside, other=0.0)
    for which in tl.static_range(3):
        point = _lay_point(seen, along, coefficients, which)
        if ON_SPHERE:
            length = tl.sqrt(add_up(points, which, blocks, BLOCKS_UP))
            point = tl.where(length > 0.0, point * (1.0 / tl.where(length > 0.0, length, 1.0)), seen)
        tl.store(rows + which * width + at, point, mask=inside)
