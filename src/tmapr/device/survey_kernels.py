"""The first of the route filter's kernels: what can be said of a frame and of the belief before it, block by block.

Speeds change here already, whether anything moves or not: what the change of view has to say is known afterwards.
Similarity and place go straight to where they cross to the host.
"""

import triton
import triton.language as tl

from tmapr.device.route_sums import LINES, ROWS, SPEEDS

NUMBERS = tl.constexpr(9)
"""At the beginning of what crosses."""
PIECE = tl.constexpr(1024)
"""Of a descriptor."""


@triton.jit
def survey(ground, work, state, frame, told, sizes):
    """Change speeds, order the comparison along the route, and compare views."""
    program = tl.program_id(0)
    if program < 2 * sizes.blocks:
        _change_speeds(ground, work, state, sizes, program // sizes.blocks, program % sizes.blocks)
    elif program < 3 * sizes.blocks:
        _order(ground, work, frame, told, sizes, program - 2 * sizes.blocks)
    else:
        _compare_descriptors(work, state, frame, sizes, program - 3 * sizes.blocks)


@triton.jit
def _change_speeds(ground, work, state, sizes, kind, block):
    """Of what is on the map, or mimics it."""
    count = sizes.references
    speed, row = tl.arange(0, LINES), block * ROWS + tl.arange(0, ROWS)
    inside = row < count
    mixed = tl.zeros([LINES, ROWS], tl.float64)
    column, driven = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    for before in tl.static_range(SPEEDS):
        mass = tl.load(state.belief.mass + (kind * SPEEDS + before) * count + row, mask=inside, other=0.0)
        turns = tl.load(ground.speeds.turns + speed * SPEEDS + before, mask=speed < SPEEDS, other=0.0)
        mixed += turns[:, None] * mass[None, :]
        column += mass
        driven += tl.load(ground.speeds.paces + before) * mass
    plane = kind * SPEEDS + speed
    to = work.mixed + plane[:, None] * count + row[None, :]
    tl.store(to, mixed, mask=(speed < SPEEDS)[:, None] & inside[None, :])
    tl.store(work.before + kind * count + row, column, mask=inside)
    tl.store(work.chunks + plane * sizes.blocks + block, tl.zeros([LINES], tl.int64), mask=speed < SPEEDS)
    if kind == 0:
        longer = tl.load(ground.references.longer + row, mask=inside, other=0.0)
        tl.store(work.parts.on + block, tl.sum(column, axis=0))
        tl.store(work.parts.longer + block, tl.sum(column * longer, axis=0))
        tl.store(work.parts.driven + block, tl.sum(driven, axis=0))
    else:
        tl.store(work.parts.mimics + block, tl.sum(column, axis=0))


@triton.jit
def _order(ground, work, frame, told, sizes, block):
    """As the route was driven; with what the evidence is relative to, in this block."""
    count, numbers = sizes.references, frame.numbers
    row = block * ROWS + tl.arange(0, ROWS)
    inside = row < count
    at = tl.load(ground.references.rows + row, mask=inside, other=0)
    similarity = tl.load(frame.similarity + at, mask=inside, other=0.0).to(tl.float64)
    place = tl.load(frame.place + at, mask=inside, other=0.0).to(tl.float64)
    there = told + NUMBERS + count + 2 * sizes.places
    tl.store(there + row, similarity, mask=inside)
    tl.store(there + count + row, place, mask=inside)
    local = tl.load(frame.local + row, mask=inside, other=0.0)
    total = tl.load(numbers) * (similarity + local) + tl.load(numbers + 1) * place
    tl.store(work.measures + row, total, mask=inside)
    cosine = total
    if frame.cosine is not None:
        cosine = tl.load(frame.cosine + at, mask=inside, other=0.0).to(tl.float64)
    tl.store(work.measures + count + row, cosine, mask=inside)
    share = tl.load(ground.references.share + row, mask=inside, other=0.0)
    best = tl.max(tl.where(inside, total, float("-inf")), axis=0)
    tl.store(work.parts.best + block, best)
    tl.store(work.parts.likely + block, tl.sum(tl.where(inside, tl.exp(total - best), 0.0) * share, axis=0))
    east = tl.load(ground.references.east + row, mask=inside, other=0.0) - tl.load(numbers + 3)
    north = tl.load(ground.references.north + row, mask=inside, other=0.0) - tl.load(numbers + 4)
    closeness = tl.where(inside, -(east * east + north * north), float("-inf"))
    nearest = tl.max(closeness, axis=0)
    tl.store(work.parts.closest + block, nearest)
    around = tl.exp(0.5 * (closeness - nearest) / tl.load(numbers + 5))
    tl.store(work.parts.around + block, tl.sum(tl.where(inside, around, 0.0) * share, axis=0))


@triton.jit
def _compare_descriptors(work, state, frame, sizes, piece):
    at = piece * PIECE + tl.arange(0, PIECE)
    inside = at < sizes.dimension
    key = tl.load(state.key + at, mask=inside, other=0.0).to(tl.float64)
    seen = tl.load(frame.descriptor + at, mask=inside, other=0.0).to(tl.float64)
    tl.store(work.parts.alike + piece, tl.sum(key * seen, axis=0))
