"""What is off the map, in the route filter's kernels: see `DeviceRouteFilter._exchange` and `_arrive`.

What returns is dealt out in two steps, a kernel apart: from each place to those in its reach, and to each place from
all. What was left comes last: only when everything has moved it is known.
"""

import triton
import triton.language as tl

from tmapr.device.route_sums import (
    FAR_VIEW,
    LINES,
    SPEEDS,
    WIDTH,
    add_four,
    add_scaled,
    add_up,
    begins_anew,
    chance_within,
    compare_views,
    take_most,
    weigh_ways,
)
from tmapr.tracking import speeds

PLACES, _OTHERS = tl.constexpr(16), tl.constexpr(32)
"""That a program looks at, and of those in their reach at a time."""
_RATES = tl.constexpr(5)
_LEAVING, _HOPPING, _RETURNING, _MASKING, _UNMASKED = (tl.constexpr(each) for each in range(5))
"""Chances on the way to a new view, in the order of their rates: see `DeviceRouteFilter`."""
_REACH, _ANYWHERE = tl.constexpr(speeds.REACH), tl.constexpr(speeds.ANYWHERE)
MOVED, STAYED, ANEW = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
"""Where a belief comes from: what moved, what was there before the first view, or the beginning of a drive."""
_SMALLEST = tl.constexpr(1e-300)


@triton.jit
def _measure_way(ground, work, state, sizes, change, seconds, metres):
    """How far it is to the new view, in the mean; metres of a view, before it; and what is off the map."""
    speed = tl.arange(0, LINES)
    _, longer, driven, mimics = add_four(work.parts.on, sizes.blocks)
    view = longer + tl.load(ground.fixed.usual)
    seen = view * tl.minimum(change, FAR_VIEW)
    outside = add_up(state.belief.off, sizes.places)
    off = outside + mimics + tl.load(state.belief.begun)
    pace = tl.load(state.belief.pace + speed, mask=speed < SPEEDS, other=0.0)
    paces = tl.load(ground.speeds.paces + speed, mask=speed < SPEEDS, other=0.0)
    driven = (driven + off * tl.sum(pace * paces, axis=0)) * seconds
    far = tl.where(change >= FAR_VIEW, tl.maximum(seen, driven), seen)
    return tl.where(metres == metres, tl.abs(metres), far), view, outside


@triton.jit
def _change_pace(ground, state, change, seconds, metres):
    """How fast it is driven off the map, weighed by the view, and what that leaves of it."""
    speed, before = tl.arange(0, LINES)[:, None], tl.arange(0, LINES)[None, :]
    turns = tl.load(ground.speeds.turns + speed * SPEEDS + before, mask=(speed < SPEEDS) & (before < SPEEDS), other=0.0)
    pace = tl.sum(turns * tl.load(state.belief.pace + before, mask=before < SPEEDS, other=0.0), axis=1)
    fits = weigh_ways(ground, tl.arange(0, LINES), tl.load(ground.fixed.log_usual), change, seconds, metres)
    pace *= fits
    return pace, tl.sum(pace, axis=0)


@triton.jit
def _chance_all(ground, way):
    """Of leaving the map, hopping, returning, being fooled and undeceived: one by one, the code is five times that."""
    at = tl.arange(0, 8)
    return chance_within(-tl.load(ground.speeds.rates + at, mask=at < _RATES, other=0.0), way)


@triton.jit
def _take(chances, which: tl.constexpr):
    return tl.sum(tl.where(tl.arange(0, 8) == which, chances, 0.0), axis=0)


@triton.jit
def send_back(ground, work, state, frame, sizes, program):
    """What returns from some places, as a share of each that they reach; or of all."""
    _, change, seconds, metres = compare_views(ground, work, state, frame, sizes)
    way, _, _ = _measure_way(ground, work, state, sizes, change, seconds, metres)
    _, fit = _change_pace(ground, state, change, seconds, metres)
    place = program * PLACES + tl.arange(0, PLACES)
    inside = place < sizes.places
    returning = _take(_chance_all(ground, way), _RETURNING)
    mass = returning * fit * tl.load(state.belief.off + place, mask=inside, other=0.0)
    reach = tl.load(state.belief.reach + place, mask=inside, other=0.0) + _REACH * way
    far = (mass < tl.load(ground.fixed.pruned)) | (reach >= tl.load(ground.fixed.extent))
    reached = tl.zeros([PLACES, _OTHERS], tl.float64)
    for start in range(0, sizes.places, _OTHERS):
        other = start + tl.arange(0, _OTHERS)
        share = tl.load(ground.places.share + other, mask=other < sizes.places, other=0.0)
        within = _is_within(ground, sizes, place[:, None], reach[:, None], other[None, :])
        reached += tl.where(within, share[None, :], 0.0)
    dealt = tl.where(far, 0.0, mass) / tl.where(inside, tl.sum(reached, axis=1), 1.0)
    tl.store(work.dealt + place, dealt, mask=inside)
    tl.store(work.everywhere + place, tl.where(far, mass, 0.0), mask=inside)
    tl.store(work.grown + place, reach, mask=inside)


@triton.jit
def _is_within(ground, sizes, place, reach, other):
    """Whether what left a place may be back at another one."""
    here, there = place < sizes.places, other < sizes.places
    east = tl.load(ground.places.east + place, mask=here, other=0.0)
    east -= tl.load(ground.places.east + other, mask=there, other=0.0)
    north = tl.load(ground.places.north + place, mask=here, other=0.0)
    north -= tl.load(ground.places.north + other, mask=there, other=0.0)
    return (east * east + north * north <= reach * reach) | (place == other)


@triton.jit
def receive(ground, work, sizes, program):
    """What returns to some places, for a share of the way."""
    place = program * PLACES + tl.arange(0, PLACES)
    back = tl.zeros([_OTHERS, PLACES], tl.float64)
    for start in range(0, sizes.places, _OTHERS):
        other = start + tl.arange(0, _OTHERS)
        inside = other < sizes.places
        dealt = tl.load(work.dealt + other, mask=inside, other=0.0)
        reach = tl.load(work.grown + other, mask=inside, other=0.0)
        within = _is_within(ground, sizes, other[:, None], reach[:, None], place[None, :])
        back += tl.where(within, dealt[:, None], 0.0)
    whole = tl.sum(back, axis=0) + add_up(work.everywhere, sizes.places)
    tl.store(work.back + place, whole, mask=place < sizes.places)


@triton.jit
def note_step(ground, work, state, frame, sizes):
    """Numbers of the step, for all kernels after the one that this program belongs to."""
    begun, change, seconds, metres = compare_views(ground, work, state, frame, sizes)
    way, view, off = _measure_way(ground, work, state, sizes, change, seconds, metres)
    pace, fit = _change_pace(ground, state, change, seconds, metres)
    anew = begins_anew(ground, change, seconds, metres)
    moved = begun & (anew == 0)
    chances = _chance_all(ground, way)
    leaving, unmasked = _take(chances, _LEAVING), _take(chances, _UNMASKED)
    returning, masking = _take(chances, _RETURNING), _take(chances, _MASKING)
    off *= fit
    step = work.step
    tl.store(step.change, change)
    tl.store(step.new, tl.where(change >= 1.0, 1, 0))
    tl.store(step.seconds, seconds)
    tl.store(step.metres, metres)
    tl.store(step.view, view)
    tl.store(step.source, tl.where(moved, MOVED, tl.where(begun, ANEW, STAYED)))
    tl.store(step.leaving, leaving)
    tl.store(step.hopping, tl.where(moved, _take(chances, _HOPPING), 0.0))
    tl.store(step.ended, fit * unmasked)
    tl.store(step.fit, fit)
    tl.store(step.staying, tl.where(moved, 1.0 - leaving, 1.0))
    tl.store(step.fooled, tl.where(moved, fit * (1.0 - unmasked), 1.0))
    tl.store(step.outside, fit * ((1.0 - returning) * (1.0 - masking)))
    begins = tl.where(moved, off * (1.0 - returning) * masking, tl.where(begun, 0.0, tl.load(state.belief.begun)))
    tl.store(step.begins, begins)
    _note_pace(ground, work, state, begun, moved, pace / fit)


@triton.jit
def note_frame(work, frame, sizes):
    """What the evidence of a frame is relative to."""
    step = work.step
    best = take_most(work.parts.best, sizes.blocks)
    tl.store(step.best, best)
    tl.store(step.likely, add_scaled(work.parts.best, work.parts.likely, best, 1.0, sizes.blocks))
    closest = take_most(work.parts.closest, sizes.blocks)
    tl.store(step.closest, closest)
    sharp = 0.5 / tl.load(frame.numbers + 5)
    tl.store(step.around, add_scaled(work.parts.closest, work.parts.around, closest, sharp, sizes.blocks))


@triton.jit
def _note_pace(ground, work, state, begun, moved, pace):
    speed = tl.arange(0, LINES)
    inside = speed < SPEEDS
    prior = tl.load(ground.speeds.prior + speed, mask=inside, other=0.0)
    before = tl.load(state.belief.pace + speed, mask=inside, other=0.0)
    tl.store(work.pace + speed, tl.where(moved, pace, tl.where(begun, prior, before)), mask=inside)


@triton.jit
def leave(ground, work, state, sizes, place):
    """What is off the map after the motion, left from a place, and its reach."""
    step = work.step
    first, after = tl.load(ground.places.begins + place), tl.load(ground.places.begins + place + 1)
    there, over = tl.zeros([WIDTH], tl.float64), tl.zeros([WIDTH], tl.float64)
    for start in range(first, after, WIDTH):
        at = start + tl.arange(0, WIDTH)
        row = tl.load(ground.places.members + at, mask=at < after, other=0)
        there += tl.load(work.columns + row, mask=at < after, other=0.0)
        over += tl.load(work.lost + row, mask=at < after, other=0.0)
        over += tl.load(work.lost + 2 * sizes.references + row, mask=at < after, other=0.0)
    first, after = tl.load(ground.places.hops_begin + place), tl.load(ground.places.hops_begin + place + 1)
    hopped = tl.zeros([WIDTH], tl.float64)
    for start in range(first, after, WIDTH):
        at = start + tl.arange(0, WIDTH)
        row = tl.load(ground.places.hops_from + at, mask=at < after, other=0)
        given = tl.load(ground.places.hops_given + at, mask=at < after, other=0.0)
        hopped += given * tl.load(work.columns + row, mask=at < after, other=0.0)
    on = tl.sum(there, axis=0) + tl.load(step.hopping) * tl.sum(hopped, axis=0)
    came = tl.load(step.leaving) * on + tl.sum(over, axis=0)
    ended = tl.load(step.ended) * add_up(work.parts.moved_mimics, sizes.blocks)
    ended += tl.load(step.fit) * add_up(work.parts.strayed, sizes.blocks)
    outside, total = tl.load(step.outside), add_up(state.belief.off, sizes.places)
    before, total = tl.load(state.belief.off + place) * outside, total * outside
    share = tl.load(ground.places.share + place)
    off = before + ended * tl.where(total > 0.0, before / total, share)
    whole, reach = off + came, tl.load(work.grown + place)
    fresh = tl.load(ground.fixed.fresh)
    mean = (off * reach + came * fresh) / tl.maximum(whole, _SMALLEST)
    reach = tl.where(whole > 0.0, mean, reach)
    source = tl.load(step.source)
    stayed, begun = tl.load(state.belief.off + place), tl.load(ground.places.off + place)
    tl.store(work.off + place, tl.where(source == MOVED, whole, tl.where(source == STAYED, stayed, begun)))
    stayed = tl.load(state.belief.reach + place)
    tl.store(work.reach + place, tl.where(source == MOVED, reach, tl.where(source == STAYED, stayed, _ANYWHERE)))
