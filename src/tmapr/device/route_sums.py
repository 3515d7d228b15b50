"""What programs of the route filter's kernels share: sums over what blocks of the one before left, and small formulas.

No program waits for another. What one kernel's blocks summed up, each program of the next sums up again, in the same
order: some hundred numbers, sooner read than another kernel is begun.
"""

import triton
import triton.language as tl

from tmapr.tracking import speeds

ROWS = tl.constexpr(128)
"""References of a block."""
SPEEDS, LINES = tl.constexpr(len(speeds.SPEEDS)), tl.constexpr(16)
"""How many there are, and the power of two that holds them."""
WIDTH, _PIECES = tl.constexpr(256), tl.constexpr(16)
FAR_VIEW = tl.constexpr(speeds.FAR_VIEW)
_LEAST = tl.constexpr(speeds.LEAST)
_STEEP = tl.constexpr(0.5 / speeds.VIEW_SPREAD**2)
_SHORTEST = tl.constexpr(1e-9)
_NANOSECONDS = tl.constexpr(1e9)


@triton.jit
def add_up(parts, count):
    """The sum of so many numbers."""
    at = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float64)
    for start in range(0, count, WIDTH):
        total += tl.load(parts + start + at, mask=start + at < count, other=0.0)
    return tl.sum(total, axis=0)


@triton.jit
def add_four(parts, count):
    """The sums of four times so many numbers, which lie one after the other: sooner there than one by one."""
    which, at = tl.arange(0, 4), tl.arange(0, WIDTH)
    total = tl.zeros([4, WIDTH], tl.float64)
    for start in range(0, count, WIDTH):
        inside = (which >= 0)[:, None] & (start + at < count)[None, :]
        total += tl.load(parts + which[:, None] * count + start + at[None, :], mask=inside, other=0.0)
    sums = tl.sum(total, axis=1)
    return _pick(sums, 0), _pick(sums, 1), _pick(sums, 2), _pick(sums, 3)


@triton.jit
def _pick(four, which: tl.constexpr):
    return tl.sum(tl.where(tl.arange(0, 4) == which, four, 0.0), axis=0)


@triton.jit
def take_most(parts, count):
    """The largest of so many numbers."""
    at = tl.arange(0, WIDTH)
    most = tl.full([WIDTH], float("-inf"), tl.float64)
    for start in range(0, count, WIDTH):
        most = tl.maximum(most, tl.load(parts + start + at, mask=start + at < count, other=float("-inf")))
    return tl.max(most, axis=0)


@triton.jit
def add_scaled(tops, sums, most, scale, count):
    """Sums of exponentials, each relative to its own block's top, relative to the top of all."""
    at = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float64)
    for start in range(0, count, WIDTH):
        inside = start + at < count
        top = tl.load(tops + start + at, mask=inside, other=float("-inf"))
        total += tl.load(sums + start + at, mask=inside, other=0.0) * tl.exp(scale * (top - most))
    return tl.sum(total, axis=0)


@triton.jit
def compare_views(ground, work, state, frame, sizes):
    """Whether there was a view before, and change, seconds and metres since: see `ViewFilter.look`."""
    begun, at = tl.load(state.begun) != 0, tl.arange(0, _PIECES)
    alike = tl.zeros([_PIECES], tl.float64)
    for start in range(0, sizes.pieces, _PIECES):
        alike += tl.load(work.parts.alike + start + at, mask=start + at < sizes.pieces, other=0.0)
    change = (1.0 - tl.sum(alike, axis=0)) / tl.load(ground.fixed.view)
    change = tl.where(begun, change, float("inf"))
    nanoseconds = (tl.load(frame.stamp) - tl.load(state.stamp)).to(tl.float64)
    seconds = tl.where(begun, nanoseconds / _NANOSECONDS, 0.0)
    return begun, change, seconds, tl.load(state.metres) + tl.load(frame.numbers + 2)


@triton.jit
def begins_anew(ground, change, seconds, metres):
    """Whether it took as long as the whole route takes: nothing is left of what was known."""
    long = seconds * tl.load(ground.fixed.speed) > tl.load(ground.fixed.length)
    return long & (change >= FAR_VIEW) & (metres != metres)


@triton.jit
def is_possible(ground, speed, metres):
    """Whether metres that somebody told are driven at such speeds."""
    backwards = tl.load(ground.speeds.backwards + speed, mask=speed < SPEEDS, other=0.0)
    return tl.where((metres < 0.0) == (backwards > 0.0), 1.0, 0.0).to(tl.float64)


@triton.jit
def weigh_ways(ground, speed, log_lengths, change, seconds, metres):
    """How well the change of view fits each way where views are so long: see `DeviceRouteFilter.predict`."""
    pace = tl.load(ground.speeds.paces + speed, mask=speed < SPEEDS, other=1.0)
    shortest = tl.full((), _SHORTEST, tl.float64)
    off = tl.log(tl.maximum(pace * seconds, shortest)) - (log_lengths + tl.log(tl.minimum(change, FAR_VIEW)))
    off = tl.where(change >= FAR_VIEW, tl.minimum(off, 0.0), off)
    fits = tl.exp(tl.maximum(0.5 - _STEEP * off * off, _LEAST))
    return tl.where(metres == metres, is_possible(ground, speed, metres), fits)


@triton.jit
def chance_within(rate, metres):
    """1 − exp(−rate · metres) to the last digits, however short the way is."""
    less = tl.exp(-rate * metres)
    near = tl.where(less == 1.0, rate * metres, (1.0 - less) * (-rate * metres) / tl.log(tl.maximum(less, 0.25)))
    return tl.where(less < 0.5, 1.0 - less, near)
