"""The motion of `tmapr.device.motion` in two Triton kernels: what moves is noted, and dealt out.

Whole numbers are added by atomics: whoever comes first, the sum is the same. What holds nothing is not noted at all, so
that a camera that is followed costs no more than looking. A stretch that opens and closes in one block of cells leaves
the block's sum as it was: only those that go beyond are added to sums of blocks, which tell what lies over a block's
first cell. What was noted is taken back where it is read, and the next frame begins with zeros.
"""

import triton
import triton.language as tl

from tmapr.device.off_map_kernels import note_frame, note_step, receive, send_back
from tmapr.device.route_sums import (
    FAR_VIEW,
    LINES,
    ROWS,
    SPEEDS,
    begins_anew,
    compare_views,
    is_possible,
    weigh_ways,
)
from tmapr.tracking import speeds

FEW, _MANY = tl.constexpr(32), tl.constexpr(64)
"""References that a program moves, at all speeds; and blocks that are summed up at once."""
_WHOLE = tl.constexpr(2.0**62)
_HALTED, _STUCK = tl.constexpr(speeds.HALTED), tl.constexpr(speeds.STUCK)
_SLACK = tl.constexpr(speeds.ODOMETRY_ERROR)


@triton.jit
def note_moves(ground, work, state, frame, sizes):
    """Note where the ends of what moves come to lie, and what returns to the map; and the numbers of the step."""
    program, moving = tl.program_id(0), 4 * tl.cdiv(sizes.references, FEW)
    if program < moving:
        _note(ground, work, state, frame, sizes, program)
    elif program == moving:
        note_step(ground, work, state, frame, sizes)
    elif program == moving + 1:
        note_frame(work, frame, sizes)
    else:
        send_back(ground, work, state, frame, sizes, program - moving - 2)


@triton.jit
def _note(ground, work, state, frame, sizes, program):
    """What of one kind, driving or standing, is at some references: see `motion._lay_stretches` and `_deal_out`."""
    count, part, block = sizes.references, program % 4, program // 4
    kind, stood = part % 2, part >= 2
    speed, row = tl.arange(0, LINES)[:, None], block * FEW + tl.arange(0, FEW)[None, :]
    plane = kind * SPEEDS + speed
    mass = tl.load(work.mixed + plane * count + row, mask=(speed < SPEEDS) & (row < count), other=0.0)
    lost = tl.zeros([FEW], tl.float64)
    if tl.max(tl.max(mass, axis=1), axis=0) > 0.0:
        step = compare_views(ground, work, state, frame, sizes)
        begun, change, seconds, metres = step
        if begun & (change >= 1.0) & (begins_anew(ground, change, seconds, metres) == 0):
            lengths = tl.load(ground.references.log_lengths + row, mask=row < count, other=0.0)
            fits = weigh_ways(ground, speed, lengths, change, seconds, metres)
            halt = tl.where(metres == metres, 0.0, tl.where(change >= FAR_VIEW, 0.25, 1.0).to(tl.float64) * _HALTED)
            halt = tl.where(kind == 0, halt, _STUCK + tl.zeros_like(halt))
            mass *= tl.where(stood, halt, tl.where(kind == 0, fits, 1.0) * (1.0 - halt))
            stretch = _lay_stretches(ground, sizes, speed, row, step, stood)
            lost += tl.sum(mass * stretch[5], axis=0)
            _note_ends(ground, work, sizes, plane, row, mass, stretch)
    to = block * FEW + tl.arange(0, FEW)
    tl.store(work.lost + part * count + to, lost, mask=to < count)


@triton.jit
def _lay_stretches(ground, sizes, speed, row, step, stood):
    """Where everything moves to: at its speed, or up to a view's length back or ahead of where it stood."""
    inside, cells, driven = row < sizes.references, ground.cells, speed < SPEEDS
    begin = tl.load(cells.here + row, mask=inside, other=0.0)
    end = tl.load(cells.there + row, mask=inside, other=1.0)
    low = tl.load(cells.start + row, mask=inside, other=0.0)
    high = tl.load(cells.stop + row, mask=inside, other=1.0)
    loops = tl.load(cells.closed + row, mask=inside, other=0) != 0
    _, change, seconds, metres = step
    span = 2.0 * tl.minimum(change, FAR_VIEW) * tl.load(cells.lengths + row, mask=inside, other=0.0)
    backwards = tl.load(ground.speeds.backwards + speed, mask=driven, other=0.0) > 0.0
    told, slack = is_possible(ground, speed, metres) * metres, _SLACK * tl.abs(metres)
    near = tl.load(ground.speeds.near + speed, mask=driven, other=0.0) * seconds
    far = tl.load(ground.speeds.far + speed, mask=driven, other=0.0) * seconds
    near, far = tl.where(metres == metres, told - slack, near), tl.where(metres == metres, told + slack, far)
    begin += tl.where(stood, tl.where(backwards, -span, 0.0), near)
    end += tl.where(stood, tl.where(backwards, 0.0, span), far)

    loop, length = high - low, end - begin
    everywhere = loops & (length >= loop)
    along = begin - low
    along -= tl.floor(along / loop) * loop
    along = tl.where(along < 0.0, along + loop, along)
    begin = tl.where(loops, low + along, begin)
    begin = tl.where(everywhere | (loops & (begin >= high)), low, begin)
    length = tl.where(everywhere, loop, length)
    end = tl.where(everywhere, high, begin + length)
    around = loops & (end > high)
    end = tl.where(around, end - loop, end)
    begin = tl.minimum(tl.maximum(begin, low), high)
    end = tl.minimum(tl.maximum(end, low), high)
    into, until = _find_cell(ground, sizes, begin, row), _find_cell(ground, sizes, end, row)
    apart = (into != until) | around
    head = (tl.where(apart, tl.load(cells.there + into), end) - begin) / length
    tail = (end - tl.load(cells.here + until)) / length
    gone = tl.where(loops, 0.0, 1.0 - (end - begin) / length)
    return into, until, head, tail, tl.load(ground.fixed.least) / length, gone, apart, around


@triton.jit
def _find_cell(ground, sizes, at, row):
    """The reference on the same traverse whose cell a point lies in: one of few in its stretch of the way."""
    inside, cells = row < sizes.references, ground.cells
    at += tl.load(cells.shift + row, mask=inside, other=0.0)
    stretch = ((at - tl.load(ground.fixed.begin)) * tl.load(ground.fixed.stretches)).to(tl.int32)
    stretch = tl.minimum(tl.maximum(stretch, 0), sizes.stretches - 1)
    first = tl.load(cells.first + row, mask=inside, other=0)
    last = tl.load(cells.last + row, mask=inside, other=0)
    low = tl.minimum(tl.maximum(tl.load(cells.lowest + stretch), first), last).to(tl.int32)
    high = tl.minimum(tl.load(cells.highest + stretch), last + 1).to(tl.int32)
    for _ in range(sizes.steps):
        middle = (low + high) // 2
        wide = high - low > 1
        below = tl.load(cells.bounds + middle, mask=wide, other=0.0) <= at
        low = tl.where(wide & below, middle, low)
        high = tl.where(wide & (below == 0), middle, high)
    return low


@triton.jit
def _count(mass):
    """In whole parts."""
    return tl.floor(mass * _WHOLE + 0.5).to(tl.int64)


@triton.jit
def _note_ends(ground, work, sizes, plane, row, mass, stretch):
    """The parts of cells that ends lie in, and what is opened after the first and closed at the last."""
    into, until, head, tail, dense, _, apart, around = stretch
    count = sizes.references
    some = mass > 0.0
    far_apart, around = some & apart, some & around
    tl.atomic_add(work.ends + plane * count + into, _count(mass * head), mask=some, sem="relaxed")
    tl.atomic_add(work.ends + plane * count + until, _count(mass * tail), mask=far_apart, sem="relaxed")
    parts = _count(mass * dense)
    # What is opened where it is closed need not be noted.
    _note_between(work, sizes, plane, into + 1, until, parts, far_apart & (into + 1 != until))
    first = tl.load(ground.cells.first + row, mask=row < count, other=0).to(tl.int32) + tl.zeros_like(into)
    last = tl.load(ground.cells.last + row, mask=row < count, other=0).to(tl.int32) + tl.zeros_like(into)
    _note_between(work, sizes, plane, first, last + 1, parts, around)


@triton.jit
def _note_between(work, sizes, plane, opened, closed, parts, where):
    line = work.opened + plane * sizes.references
    tl.atomic_add(line + opened, parts, mask=where & (opened < sizes.references), sem="relaxed")
    tl.atomic_add(line + closed, -parts, mask=where & (closed < sizes.references), sem="relaxed")
    one, other = opened // ROWS, closed // ROWS
    beyond, line = where & (one != other), work.chunks + plane * sizes.blocks
    tl.atomic_add(line + one, parts, mask=beyond & (one < sizes.blocks), sem="relaxed")
    tl.atomic_add(line + other, -parts, mask=beyond & (other < sizes.blocks), sem="relaxed")


@triton.jit
def deal_out(ground, work, sizes):
    """The mass of every cell: its width of all that lies over it, and the ends in it; and what returns to places."""
    program = tl.program_id(0)
    if program < 2 * sizes.blocks:
        _deal_out(ground, work, sizes, program // sizes.blocks, program % sizes.blocks)
    else:
        receive(ground, work, sizes, program - 2 * sizes.blocks)


@triton.jit
def _deal_out(ground, work, sizes, kind, block):
    count, blocks = sizes.references, sizes.blocks
    speed, row = tl.arange(0, LINES), block * ROWS + tl.arange(0, ROWS)
    plane, inside = kind * SPEEDS + speed, row < count
    both = (speed < SPEEDS)[:, None] & inside[None, :]
    at = plane[:, None] * count + row[None, :]
    base = _add_chunks(work, plane, speed < SPEEDS, block, blocks)
    parts = tl.load(work.opened + at, mask=both, other=0)
    tl.store(work.opened + at, tl.zeros_like(parts), mask=both & (parts != 0))
    width = tl.load(ground.cells.widths + row, mask=inside, other=0.0)
    mass = (tl.cumsum(parts, axis=1) + base[:, None]).to(tl.float64) * width[None, :]
    ends = tl.load(work.ends + at, mask=both, other=0)
    tl.store(work.ends + at, tl.zeros_like(ends), mask=both & (ends != 0))
    mass += ends.to(tl.float64) / _WHOLE
    tl.store(work.moved + at, mass, mask=both)
    column = tl.sum(tl.where(both, mass, 0.0), axis=0)
    tl.store(work.columns + kind * count + row, column, mask=inside)
    if kind == 0:
        longer = tl.load(ground.references.longer + row, mask=inside, other=0.0)
        hopped = tl.load(ground.references.hopped + row, mask=inside, other=0.0)
        tl.store(work.parts.moved_on + block, tl.sum(column, axis=0))
        tl.store(work.parts.moved_longer + block, tl.sum(column * longer, axis=0))
        tl.store(work.parts.moved_hopped + block, tl.sum(column * hopped, axis=0))
    else:
        strayed = tl.load(work.lost + count + row, mask=inside, other=0.0)
        strayed += tl.load(work.lost + 3 * count + row, mask=inside, other=0.0)
        tl.store(work.parts.moved_mimics + block, tl.sum(column, axis=0))
        tl.store(work.parts.strayed + block, tl.sum(strayed, axis=0))


@triton.jit
def _add_chunks(work, plane, inside, block, blocks):
    """What lies over the first cell of a block, in each plane."""
    over = tl.zeros([LINES, _MANY], tl.int64)
    for start in range(0, block, _MANY):
        before = start + tl.arange(0, _MANY)
        at = work.chunks + plane[:, None] * blocks + before[None, :]
        over += tl.load(at, mask=inside[:, None] & (before < block)[None, :], other=0)
    return tl.sum(over, axis=1)
