"""The route filter's update in a kernel: evidence of a frame, and how likely each reference is with it.

A view's evidence is that of references relative to one another: its exponential is neither so large nor so small that
it would have to be scaled before it is summed up, as the host does. A reference's probability is one of its sums over
speeds alone; what of them is at which speed is left to the last kernel.
"""

import triton
import triton.language as tl

from tmapr.device.off_map_kernels import ANEW, MOVED, STAYED, leave
from tmapr.device.peak_kernels import TOPS, rank_block
from tmapr.device.route_sums import ROWS, add_four, add_up
from tmapr.tracking import evidence, head, speeds

CARRIED = tl.constexpr(speeds.CARRIED)
_FLOOR, _USELESS = tl.constexpr(evidence.FLOOR), tl.constexpr(head.USELESS)
_AT_FIRST, _ERRS_ALIKE = tl.constexpr(head.AT_FIRST), tl.constexpr(head.ERRS_ALIKE)


@triton.jit
def weigh(ground, work, state, frame, sizes):
    """Weigh references by evidence, find the likeliest of each block, and let what left the map be off it."""
    program = tl.program_id(0)
    if program < sizes.blocks:
        _weigh(ground, work, state, frame, sizes, program)
    elif program < sizes.blocks + sizes.places:
        leave(ground, work, state, sizes, program - sizes.blocks)
    else:
        fresh, carried = _sum_moved(ground, work, sizes)
        tl.store(work.step.fresh, fresh)
        tl.store(work.step.carried, carried)
        slot = tl.arange(0, TOPS)
        tl.store(work.heights + slot, tl.zeros([TOPS], tl.float64))
        tl.store(work.peaks + slot, tl.zeros([TOPS], tl.int64))


@triton.jit
def _sum_moved(ground, work, sizes):
    """How much of a usual view's evidence is new; and what was carried elsewhere, for a share of the way."""
    step, blocks = work.step, sizes.blocks
    source, hopping, usual = tl.load(step.source), tl.load(step.hopping), tl.load(ground.fixed.usual)
    on, longer, hopped, _ = add_four(work.parts.moved_on, blocks)
    moved = tl.load(step.staying) * ((1.0 - hopping) * longer + hopping * hopped) + usual
    anew = tl.load(ground.fixed.view_anywhere)
    view = tl.where(source == MOVED, moved, tl.where(source == STAYED, tl.load(step.view), anew))
    moved, stayed, anew = on * tl.load(step.staying), add_up(work.parts.on, blocks), tl.load(ground.fixed.on_anywhere)
    on = tl.where(source == MOVED, moved, tl.where(source == STAYED, stayed, anew))
    return tl.minimum(view / usual, 1.0), CARRIED * on


@triton.jit
def _sum_columns(ground, work, sizes, row, inside):
    """What is at each reference, on the map and mimicking it, before the update."""
    count, step, references = sizes.references, work.step, ground.references
    source = tl.load(step.source)
    moved = tl.load(work.columns + row, mask=inside, other=0.0)
    first = tl.load(references.links_begin + row, mask=inside, other=0)
    links = tl.load(references.links_begin + row + 1, mask=inside, other=0) - first
    received = tl.zeros([ROWS], tl.float64)
    for link in range(tl.max(links, axis=0)):
        linked = link < links
        other = tl.load(references.links_to + first + link, mask=linked, other=0)
        given = tl.load(references.links_given + first + link, mask=linked, other=0.0)
        received += given * tl.load(work.columns + other, mask=linked, other=0.0)
    moved += tl.where(links > 0, tl.load(step.hopping) * (received - moved), 0.0)
    mimics = tl.load(work.columns + count + row, mask=inside, other=0.0)
    on, mimics = tl.load(step.staying) * moved, tl.load(step.fooled) * mimics
    stays, anew = inside & (source == STAYED), inside & (source == ANEW)
    on = tl.where(source == MOVED, on, tl.load(work.before + row, mask=stays, other=0.0))
    mimics = tl.where(source == MOVED, mimics, tl.load(work.before + count + row, mask=stays, other=0.0))
    on += tl.load(references.anywhere + row, mask=anew, other=0.0)
    mimics += tl.load(references.anywhere + count + row, mask=anew, other=0.0)
    return on, mimics


@triton.jit
def read_arriving(ground, work, row, inside, share):
    """What arrives at each reference from elsewhere."""
    arrives = inside & (tl.load(work.step.source) == MOVED)
    place = tl.load(ground.references.place_of + row, mask=arrives, other=0)
    return share * tl.load(work.back + place, mask=arrives, other=0.0)


@triton.jit
def _weigh(ground, work, state, frame, sizes, block):
    count = sizes.references
    row = block * ROWS + tl.arange(0, ROWS)
    inside = row < count
    share = tl.load(ground.references.share + row, mask=inside, other=0.0)
    fresh, carried = _sum_moved(ground, work, sizes)
    likely = tl.exp(_read_evidence(ground, work, state, frame, row, inside, fresh))
    on, mimics = _sum_columns(ground, work, sizes, row, inside)
    on = (1.0 - CARRIED) * on + (read_arriving(ground, work, row, inside, share) + carried * share)
    mimics += tl.load(work.step.begins) * share
    on, mimics = likely * on, likely * mimics
    tl.store(work.likely + row, likely, mask=inside)
    tl.store(work.chances + row, on, mask=inside)
    tl.store(work.chances + count + row, mimics, mask=inside)
    tl.store(work.parts.chance + block, tl.sum(tl.where(inside, on + mimics, 0.0), axis=0))
    rank_block(work, tl.where(inside, on, -1.0), block)


@triton.jit
def _read_evidence(ground, work, state, frame, row, inside, fresh):
    """The log-evidence of every reference: see `ViewFilter._weigh`."""
    step, numbers = work.step, frame.numbers
    total = tl.load(work.measures + row, mask=inside, other=0.0)
    likely = tl.exp(total - tl.load(step.best)) / tl.load(step.likely)
    seen = fresh * tl.log(_FLOOR + (1.0 - _FLOOR) * likely)
    east = tl.load(ground.references.east + row, mask=inside, other=0.0) - tl.load(numbers + 3)
    north = tl.load(ground.references.north + row, mask=inside, other=0.0) - tl.load(numbers + 4)
    closest, sharp = tl.load(step.closest), 0.5 / tl.load(numbers + 5)
    there = tl.exp(sharp * (-(east * east + north * north) - closest)) / tl.load(step.around)
    useless = 1.0 - (1.0 - _USELESS) * tl.exp(sharp * closest)
    first = tl.where(tl.load(state.begun) != 0, 0.0, 1.0).to(tl.float64)
    said = tl.log(useless + (1.0 - useless) * there) * (_ERRS_ALIKE + (_AT_FIRST - _ERRS_ALIKE) * first)
    return tl.where(inside, tl.where(tl.load(numbers + 6) > 0.0, seen + said, seen), 0.0)
