"""Triton kernels of a drive's condition, in which a view is counted, and of the points around a view.

`condition` says what is computed. State and constants come through memory, as float64: [views, weight, length, known]
and [few, most, remembered, shortest].
"""

import triton
import triton.language as tl

from tmapr.device.block_sums import add_up, leave_square


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
