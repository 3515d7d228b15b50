"""The last of the route filter's kernels: levels of matches, and the state after the frame.

Every program weighs the levels for itself, then writes its part of the state: that before the frame,
should it show no new view. Everything that crosses to the host but similarity and place is written here.
"""

import triton
import triton.language as tl

from tmapr.device.off_map_kernels import MOVED, STAYED
from tmapr.device.route_sums import LINES, ROWS, SPEEDS, WIDTH, add_four, add_up
from tmapr.device.survey_kernels import NUMBERS, PIECE
from tmapr.device.weigh_kernels import CARRIED, read_arriving
from tmapr.tracking import level, place, placing

_FIRST, _MOST, _ENOUGH = (tl.constexpr(each) for each in (level.FIRST, level.MOST, level.ENOUGH))
_WORST, _BEST = tl.constexpr(level.WORST), tl.constexpr(level.BEST)
_LIKELY, _SURE = tl.constexpr(place.LIKELY), tl.constexpr(placing.SURE)
_NARROWEST, _SPREAD = tl.constexpr(1e-9), tl.constexpr(1e-6)


@triton.jit
def settle(ground, work, state, frame, into, told, sizes):
    """Write the state after the frame, and what is told of it."""
    program, new = tl.program_id(0), tl.load(work.step.new) != 0
    here, wrong = _take_best(work.here, sizes), _take_best(work.wrong, sizes)
    levels = _begin_levels(state, here, wrong)
    scales = _weigh_map(work, sizes, levels, here, wrong)
    if program < 2 * sizes.blocks:
        kind = program // sizes.blocks
        scale = tl.where(kind == 0, scales[0], scales[1])
        _settle_mass(ground, work, state, into, told, sizes, kind, program % sizes.blocks, new, scale)
    elif program < 2 * sizes.blocks + sizes.pieces:
        _settle_key(state, frame, into, sizes, program - 2 * sizes.blocks, new)
    else:
        p_place = tl.where(new, tl.load(work.p_place) * scales[0], tl.load(state.p_place))
        peak = tl.where(new, tl.load(work.peak), tl.load(state.peak))
        _learn_levels(state, into, levels, here, wrong, p_place, tl.load(work.step.fresh), new)
        _settle_places(work, state, into, told, sizes, new, scales[1] / tl.load(work.step.total))
        _settle_rest(work, state, frame, into, peak, p_place, new)
        _tell(ground, work, state, told, sizes, scales, peak, p_place, new)


@triton.jit
def _take_best(matches, sizes):
    """The best of each measure over all blocks."""
    measure = tl.arange(0, 2)[:, None]
    most = tl.full([2, WIDTH], float("-inf"), tl.float64)
    for start in range(0, sizes.blocks, WIDTH):
        block = start + tl.arange(0, WIDTH)[None, :]
        inside = (measure >= 0) & (block < sizes.blocks)
        most = tl.maximum(most, tl.load(matches + measure * sizes.blocks + block, mask=inside, other=float("-inf")))
    return tl.max(most, axis=1)


@triton.jit
def _begin_levels(state, here, wrong):
    """Means, variances and views of levels; what the first view says, where nothing was seen before."""
    measure = tl.arange(0, 2)
    views, wrong_views = tl.load(state.levels.views), tl.load(state.levels.views + 1)
    none = (views == 0.0) & (wrong_views == 0.0)
    apart = tl.abs(here - wrong) / 2.0
    spread = apart * apart + _SPREAD
    return (
        tl.where(none, tl.maximum(here, wrong), tl.load(state.levels.means + measure)),
        tl.where(none, wrong, tl.load(state.levels.means + 2 + measure)),
        tl.where(none, spread, tl.load(state.levels.variances + measure)),
        tl.where(none, spread, tl.load(state.levels.variances + 2 + measure)),
        tl.where(none, _FIRST, views),
        tl.where(none, _FIRST, wrong_views),
    )


@triton.jit
def _weigh_map(work, sizes, levels, here, wrong):
    """What being on the map and off it is scaled by, by log-odds of the match: see `_compare_levels`, `weigh_map`."""
    means, wrong_means, variances, wrong_variances, views, _ = levels
    right = tl.maximum(means, wrong_means)
    seen = tl.minimum(here, right)
    variance = tl.maximum(variances, wrong_variances) + _NARROWEST
    above, below = seen - wrong_means, seen - right
    odds = (above * above - below * below) / (2.0 * variance)
    odds = tl.sum(tl.minimum(tl.maximum(odds, _WORST), _BEST), axis=0) / 2.0
    better = tl.exp(tl.load(work.step.fresh) * tl.where(views < _ENOUGH, 0.0, odds))
    on, _, mimics, _ = add_four(work.parts.kept_on, sizes.blocks)
    total = better * on + (add_up(work.off, sizes.places) / tl.load(work.step.total) + mimics)
    told = tl.max(wrong, axis=0) > float("-inf")
    return tl.where(told, better / total, 1.0), tl.where(told, 1.0 / total, 1.0)


@triton.jit
def _settle_mass(ground, work, state, into, told, sizes, kind, block, new, scale):
    """Of one kind at some references, at every speed; and the probability of each reference."""
    speed, row = tl.arange(0, LINES), block * ROWS + tl.arange(0, ROWS)
    inside = row < sizes.references
    both = (speed < SPEEDS)[:, None] & inside[None, :]
    at = (kind * SPEEDS + speed)[:, None] * sizes.references + row[None, :]
    if new:
        chances = tl.load(work.chances + kind * sizes.references + row, mask=inside, other=0.0) / tl.load(
            work.step.total
        )
        kept = chances > tl.load(ground.fixed.pruned)
        if kind == 0:
            tl.store(told + NUMBERS + row, tl.where(kept, scale * chances, 0.0), mask=inside)
        mass = tl.zeros([LINES, ROWS], tl.float64)
        if tl.max(kept.to(tl.int32), axis=0) > 0:
            mass += _weigh_mass(ground, work, state, sizes, kind, row, both & kept[None, :])
            weights = tl.load(work.likely + row, mask=kept, other=0.0) / tl.load(work.step.total) * scale
            mass *= weights[None, :]
        tl.store(into.belief.mass + at, mass, mask=both)
    else:
        tl.store(into.belief.mass + at, tl.load(state.belief.mass + at, mask=both), mask=both)
        if kind == 0:
            tl.store(told + NUMBERS + row, tl.load(work.before + row, mask=inside), mask=inside)


@triton.jit
def _weigh_mass(ground, work, state, sizes, kind, row, both):
    """What stayed and what came, before it is weighed."""
    speed, inside, step = tl.arange(0, LINES), row < sizes.references, work.step
    mass = _read_mass(ground, work, state, sizes, kind, row, both)
    share = tl.load(ground.references.share + row, mask=inside, other=0.0)
    pace = tl.load(work.pace + speed, mask=speed < SPEEDS, other=0.0)
    if kind == 0:
        prior = tl.load(ground.speeds.prior + speed, mask=speed < SPEEDS, other=0.0)
        arriving, carried = read_arriving(ground, work, row, inside, share), tl.load(step.carried) * share
        mass = (1.0 - CARRIED) * mass + (arriving[None, :] * pace[:, None] + carried[None, :] * prior[:, None])
    else:
        mass += (tl.load(step.begins) * share)[None, :] * pace[:, None]
    return mass


@triton.jit
def _read_mass(ground, work, state, sizes, kind, row, both):
    """What is at some references before the update, by speed."""
    plane = (kind * SPEEDS + tl.arange(0, LINES))[:, None] * sizes.references
    source, at = tl.load(work.step.source), plane + row[None, :]
    # Masks instead of branches, each of which Triton 3.6 gives a layout of its own until it fails to compile them.
    moved, stayed = source == MOVED, source == STAYED
    mass = tl.load(work.moved + at, mask=both & moved, other=0.0)
    if moved & (kind == 0):
        mass = _hop(ground, work, sizes, plane, row, both, mass)
    left = tl.where(kind == 0, tl.load(work.step.staying), tl.load(work.step.fooled))
    mass = tl.where(moved, left * mass, 0.0)
    mass += tl.load(state.belief.mass + at, mask=both & stayed, other=0.0)
    return mass + tl.load(ground.mass + at, mask=both & (moved == 0) & (stayed == 0), other=0.0)


@triton.jit
def _hop(ground, work, sizes, plane, row, both, mass):
    """Give a share of what is at a crossing, in equal parts, to the other references there: see `motion.hop`."""
    references, inside = ground.references, row < sizes.references
    first = tl.load(references.links_begin + row, mask=inside, other=0)
    links = tl.load(references.links_begin + row + 1, mask=inside, other=0) - first
    most = tl.max(links, axis=0)
    if most > 0:
        received = tl.zeros([LINES, ROWS], tl.float64)
        for link in range(most):
            at, linked = (first + link)[None, :], (link < links)[None, :]
            other = tl.load(references.links_to + at, mask=linked, other=0)
            given = tl.load(references.links_given + at, mask=linked, other=0.0)
            received += given * tl.load(work.moved + plane + other, mask=both & linked, other=0.0)
        mass += tl.where((links > 0)[None, :], tl.load(work.step.hopping) * (received - mass), 0.0)
    return mass


@triton.jit
def _settle_key(state, frame, into, sizes, piece, new):
    """The view that the next one is compared with."""
    at = piece * PIECE + tl.arange(0, PIECE)
    inside = at < sizes.dimension
    before = tl.load(state.key + at, mask=inside & (new == 0), other=0.0)
    seen = tl.load(frame.descriptor + at, mask=inside & new, other=0.0)
    tl.store(into.key + at, tl.where(new, seen, before), mask=inside)


@triton.jit
def _settle_rest(work, state, frame, into, peak, p_place, new):
    """Pace, and single numbers."""
    speed = tl.arange(0, LINES)
    driven = speed < SPEEDS
    pace, before = tl.load(work.pace + speed, mask=driven), tl.load(state.belief.pace + speed, mask=driven)
    tl.store(into.belief.pace + speed, tl.where(new, pace, before), mask=driven)
    tl.store(into.belief.begun, tl.where(new, 0.0, tl.load(state.belief.begun)))
    tl.store(into.begun, new | (tl.load(state.begun) != 0))
    tl.store(into.stamp, tl.where(new, tl.load(frame.stamp), tl.load(state.stamp)))
    seen = tl.maximum(tl.load(state.seen), tl.minimum(tl.load(work.step.change), 1.0))
    tl.store(into.seen, tl.where(new, 0.0, seen))
    tl.store(into.metres, tl.where(new, 0.0, tl.load(work.step.metres)))
    tl.store(into.peak, peak)
    tl.store(into.p_place, p_place)


@triton.jit
def _tell(ground, work, state, told, sizes, scales, peak, p_place, new):
    """The numbers that cross: see `Told`."""
    step = work.step
    on, off = scales
    change = tl.load(step.change)
    _, longer, kept, _ = add_four(work.parts.kept_on, sizes.blocks)
    view = on * longer + tl.load(ground.fixed.usual)
    mimics = tl.where(new, off * kept, add_up(work.parts.mimics, sizes.blocks))
    left, before = add_up(work.off, sizes.places) / tl.load(step.total), add_up(state.belief.off, sizes.places)
    tl.store(told, change)
    tl.store(told + 1, tl.minimum(tl.maximum(change - tl.load(state.seen), 0.0), 1.0))
    tl.store(told + 2, tl.load(step.seconds))
    tl.store(told + 3, tl.load(step.metres))
    tl.store(told + 4, tl.where(new, view, tl.load(step.view)))
    tl.store(told + 5, peak.to(tl.float64))
    tl.store(told + 6, p_place)
    tl.store(told + 7, mimics)
    tl.store(told + 8, tl.where(new, off * left, before) + mimics)


@triton.jit
def _learn_levels(state, into, levels, here, wrong, p_place, fresh, new):
    """Add a view whose place is certain, or at least likely: see `views._learn_levels`."""
    means, wrong_means, variances, wrong_variances, views, wrong_views = levels
    told = new & (tl.max(wrong, axis=0) > float("-inf"))
    sure = p_place > tl.full((), _SURE, tl.float64)  # compared as it is, it would be of float32
    _learn_level(state, into, 0, here, means, variances, views, fresh, told, sure)
    _learn_level(state, into, 1, wrong, wrong_means, wrong_variances, wrong_views, fresh, told, p_place > _LIKELY)


@triton.jit
def _learn_level(state, into, kind: tl.constexpr, seen, means, variances, views, fresh, told, learns):
    at = 2 * kind + tl.arange(0, 2)
    known = tl.minimum(views + fresh, _MOST)
    gain, off = fresh / known, seen - means
    means = tl.where(learns, means + gain * off, means)
    variances = tl.where(learns, (1.0 - gain) * (variances + gain * off * off), variances)
    tl.store(into.levels.means + at, tl.where(told, means, tl.load(state.levels.means + at)))
    tl.store(into.levels.variances + at, tl.where(told, variances, tl.load(state.levels.variances + at)))
    views = tl.where(learns, known, views)
    tl.store(into.levels.views + kind, tl.where(told, views, tl.load(state.levels.views + kind)))


@triton.jit
def _settle_places(work, state, into, told, sizes, new, scale):
    """What is off the map, by the place that it was left from."""
    there = told + NUMBERS + sizes.references
    for start in range(0, sizes.places, WIDTH):
        place = start + tl.arange(0, WIDTH)
        inside = place < sizes.places
        off, before = tl.load(work.off + place, mask=inside), tl.load(state.belief.off + place, mask=inside)
        off = tl.where(new, scale * off, before)
        reach, before = tl.load(work.reach + place, mask=inside), tl.load(state.belief.reach + place, mask=inside)
        reach = tl.where(new, reach, before)
        tl.store(into.belief.off + place, off, mask=inside)
        tl.store(into.belief.reach + place, reach, mask=inside)
        tl.store(there + place, off, mask=inside)
        tl.store(there + sizes.places + place, reach, mask=inside)
