"""The motion of `tmapr.device.motion` in three Triton kernels: what moves is noted, summed up by chunks, and dealt out.

Whole numbers are added by atomics: whoever comes first, the sum is the same. What holds nothing is not noted at all, so
that a camera that is followed costs no more than looking. Python floats reach a kernel as float32, therefore every
number that is not a power of two comes through memory.
"""

import triton
import triton.language as tl

WHOLE = tl.constexpr(2.0**62)
STOOD = tl.constexpr(2)
"""Ways besides those of speeds: back and ahead, of what stood."""


@triton.jit
def _count(mass):
    """In whole parts."""
    return tl.floor(mass * WHOLE + 0.5).to(tl.int64)


@triton.jit
def _find_cell(bounds, at, first, last, STEPS: tl.constexpr):
    """The reference from `first` to `last` whose cell a point lies in."""
    low, high = first, last + 1
    for _ in range(STEPS):
        middle = (low + high) // 2
        wide = high - low > 1
        below = tl.load(bounds + middle, mask=wide, other=0.0) <= at
        low = tl.where(wide & below, middle, low)
        high = tl.where(wide & ~below, middle, high)
    return low


@triton.jit
def note_moves(
    mixed,
    weights,
    halt,
    near,
    far,
    reach,
    here,
    there,
    start,
    stop,
    closed,
    lengths,
    first,
    last,
    shift,
    bounds,
    least,
    opened,
    ends,
    lost,
    count,
    SPEEDS: tl.constexpr,
    BACKWARDS: tl.constexpr,
    STEPS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Note where the ends of what moves along one way come to lie: see `motion._lay_stretches` and `_deal_out`."""
    way = tl.program_id(1)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = row < count
    begin = tl.load(here + row, mask=inside, other=0.0)
    end = tl.load(there + row, mask=inside, other=1.0)
    low = tl.load(start + row, mask=inside, other=0.0)
    high = tl.load(stop + row, mask=inside, other=1.0)
    loops = tl.load(closed + row, mask=inside, other=0) != 0
    head_of = tl.load(first + row, mask=inside, other=0)
    tail_of = tl.load(last + row, mask=inside, other=0)
    span = tl.load(reach) * tl.load(lengths + row, mask=inside, other=0.0)
    drives = way < SPEEDS
    speed = tl.minimum(way, SPEEDS - 1)
    begin += tl.where(drives, tl.load(near + speed), tl.where(way == SPEEDS, -span, 0.0))
    end += tl.where(drives, tl.load(far + speed), tl.where(way == SPEEDS, 0.0, span))

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
    moved_by = tl.load(shift + row, mask=inside, other=0.0)
    into = _find_cell(bounds, begin + moved_by, head_of, tail_of, STEPS)
    until = _find_cell(bounds, end + moved_by, head_of, tail_of, STEPS)
    apart = (into != until) | around
    head = (tl.where(apart, tl.load(there + into), end) - begin) / length
    tail = (end - tl.load(here + until)) / length
    dense = tl.load(least) / length
    gone = tl.where(loops, 0.0, 1.0 - (end - begin) / length)

    slowest = tl.where(drives, way, tl.where(way == SPEEDS, 0, BACKWARDS))
    fastest = tl.where(drives, way + 1, tl.where(way == SPEEDS, BACKWARDS, SPEEDS))
    for kind in tl.static_range(2):
        stands = tl.load(halt + kind)
        over = gone * 0.0
        for k in range(slowest, fastest):
            plane = kind * SPEEDS + k
            mass = tl.load(mixed + plane * count + row, mask=inside, other=0.0)
            fits = tl.load(weights + plane * count + row, mask=inside, other=0.0)
            mass *= tl.where(drives, fits * (1.0 - stands), stands)
            over += mass * gone
            some = inside & (mass > 0.0)
            far_apart = some & apart
            tl.atomic_add(ends + plane * count + into, _count(mass * head), mask=some, sem="relaxed")
            tl.atomic_add(ends + plane * count + until, _count(mass * tail), mask=far_apart, sem="relaxed")
            parts = _count(mass * dense)
            line = opened + plane * (count + 1)
            tl.atomic_add(line + into + 1, parts, mask=far_apart, sem="relaxed")
            tl.atomic_add(line + until, -parts, mask=far_apart, sem="relaxed")
            tl.atomic_add(line + head_of, parts, mask=some & around, sem="relaxed")
            tl.atomic_add(line + tail_of + 1, -parts, mask=some & around, sem="relaxed")
        tl.store(lost + (kind * (SPEEDS + STOOD) + way) * count + row, over, mask=inside)


@triton.jit
def sum_chunks(opened, sums, count, CHUNK: tl.constexpr):
    """What is opened less what is closed in each chunk of cells."""
    chunk, plane = tl.program_id(0), tl.program_id(1)
    row = chunk * CHUNK + tl.arange(0, CHUNK)
    parts = tl.load(opened + plane * (count + 1) + row, mask=row < count, other=0)
    tl.store(sums + plane * tl.num_programs(0) + chunk, tl.sum(parts, axis=0))


@triton.jit
def deal_out(opened, ends, sums, widths, moved, count, CHUNKS: tl.constexpr, CHUNK: tl.constexpr):
    """The mass of every cell: its width of all that lies over it, and the ends in it."""
    chunk, plane = tl.program_id(0), tl.program_id(1)
    before = tl.arange(0, CHUNKS)
    base = tl.sum(tl.load(sums + plane * tl.num_programs(0) + before, mask=before < chunk, other=0), axis=0)
    row = chunk * CHUNK + tl.arange(0, CHUNK)
    inside, line = row < count, plane * count
    parts = tl.load(opened + line + plane + row, mask=inside, other=0)
    over = (tl.cumsum(parts, axis=0) + base).to(tl.float64)
    width = tl.load(widths + row, mask=inside, other=0.0)
    end = tl.load(ends + line + row, mask=inside, other=0).to(tl.float64)
    tl.store(moved + line + row, over * width + end / WHOLE, mask=inside)
