"""Kernels of recognition for what all references need: medians, deviations, and the places a search may look at.

Nothing is sorted: an entry's rank is how many rank before it, those above it and those as high and earlier, and what is
wanted of an entry is written where its rank says. Others lie along the first axis of such a comparison and are counted
down it, which Triton does in a thread's registers; along the second it would cross the lanes of a warp. What a job
ranks is dealt to many programs, each of which compares a few with all.
"""

import triton
import triton.language as tl

from tmapr.device.recognition_kernels import TO_DEVIATION, find_trust, relate

PROBES = tl.constexpr(0)
"""Of what is standardised or ranked first: probes' cosines, places' scores, their likelihoods; scores, best first."""
SCORES = tl.constexpr(1)
PLACE_LIKELIHOODS = tl.constexpr(2)
BEST_PLACES = tl.constexpr(3)


@triton.jit
def count_before(others, other_at, mine, mine_at):
    """How many of others rank before each: those above it, and those as high and earlier."""
    above = others[:, None] > mine[None, :]
    earlier = (others[:, None] == mine[None, :]) & (other_at[:, None] < mine_at[None, :])
    return tl.sum((above | earlier).to(tl.int32), axis=0)


@triton.jit
def _load_keys(
    job,
    at,
    products,
    sharing,
    weight,
    measures,
    constants,
    probes,
    scores,
    likelihoods,
    used,
    probe_count,
    capacity,
    CENTRED: tl.constexpr,
):
    """What a job ranks, the highest first: the best, or what is standardised with its sign changed; unused last."""
    if job == PROBES:
        there = at < probe_count
        row = tl.load(probes + at, mask=there, other=0)
        value = relate(products, sharing, weight, measures, constants, row, there, CENTRED)
    else:
        there = tl.load(used + at, mask=at < capacity, other=0) != 0
        value = tl.load(tl.where(job == PLACE_LIKELIHOODS, likelihoods, scores) + at, mask=there, other=0.0)
    return tl.where(there, tl.where(job == BEST_PLACES, value, -value), -float("inf"))


@triton.jit
def find_medians(
    products,
    sharing,
    weight,
    measures,
    constants,
    probes,
    middle,
    scores,
    likelihoods,
    used,
    places_middle,
    keys,
    medians,
    marked,
    probe_count,
    capacity,
    room,
    best,
    MINE: tl.constexpr,
    OTHERS: tl.constexpr,
    CENTRED: tl.constexpr,
):
    """The two in the middle of probes, of scores and of likelihoods; and which places are the so many best."""
    job = tl.program_id(1)
    at = tl.program_id(0) * MINE + tl.arange(0, MINE)
    mine = _load_keys(
        *(job, at, products, sharing, weight, measures, constants, probes, scores, likelihoods, used),
        *(probe_count, capacity, CENTRED),
    )
    rank = tl.zeros([MINE], tl.int32)
    for start in range(0, tl.where(job == PROBES, probe_count, capacity), OTHERS):
        other = start + tl.arange(0, OTHERS)
        others = _load_keys(
            *(job, other, products, sharing, weight, measures, constants, probes, scores, likelihoods, used),
            *(probe_count, capacity, CENTRED),
        )
        rank += count_before(others, other, mine, at)
    if job == BEST_PLACES:
        chosen = (rank < best) & (mine > -float("inf"))
        tl.store(marked + at, chosen.to(tl.int8), mask=at < capacity)
    else:
        tl.store(keys + job * room + at, mine, mask=at < room)
        wanted = tl.where(job == PROBES, middle, places_middle)
        tl.store(medians + 2 * job + at * 0, -mine, mask=rank == tl.load(wanted))
        tl.store(medians + 2 * job + 1 + at * 0, -mine, mask=rank == tl.load(wanted + 1))


@triton.jit
def _allow_places(around, marked, leverage, constants, allowed, at, capacity, SIZE: tl.constexpr, AROUND: tl.constexpr):
    """Where a search may look: at the best places and those around them, or everywhere."""
    reached = tl.zeros([SIZE], tl.int32) + tl.where(find_trust(leverage, constants) < 0.5, 1, 0)
    for number in tl.static_range(AROUND):
        place = tl.load(around + at * AROUND + number, mask=at < capacity, other=capacity)
        reached += tl.load(marked + place, mask=place < capacity, other=0)
    tl.store(allowed + at, (reached > 0).to(tl.int8), mask=at < capacity)


@triton.jit
def find_deviations(
    keys,
    medians,
    middle,
    places_middle,
    around,
    marked,
    leverage,
    constants,
    distances,
    allowed,
    probe_count,
    capacity,
    room,
    MINE: tl.constexpr,
    OTHERS: tl.constexpr,
    AROUND: tl.constexpr,
):
    """The two in the middle of how far each is from its median; and where the search may look."""
    job = tl.program_id(1)
    at = tl.program_id(0) * MINE + tl.arange(0, MINE)
    if job == BEST_PLACES:
        _allow_places(around, marked, leverage, constants, allowed, at, capacity, MINE, AROUND)
    else:
        entries, entry = keys + job * room, medians + 2 * job
        center = 0.5 * (tl.load(entry) + tl.load(entry + 1))
        mine = -tl.abs(tl.load(entries + at, mask=at < room, other=-float("inf")) + center)
        rank = tl.zeros([MINE], tl.int32)
        for start in range(0, tl.where(job == PROBES, probe_count, capacity), OTHERS):
            other = start + tl.arange(0, OTHERS)
            others = -tl.abs(tl.load(entries + other, mask=other < room, other=-float("inf")) + center)
            rank += count_before(others, other, mine, at)
        wanted = tl.where(job == PROBES, middle, places_middle)
        tl.store(distances + 2 * job + at * 0, -mine, mask=rank == tl.load(wanted))
        tl.store(distances + 2 * job + 1 + at * 0, -mine, mask=rank == tl.load(wanted + 1))


@triton.jit
def standardise(values, medians, distances, constants, job):
    """In deviations from the median; a deviation is 1 where nothing varies."""
    center = 0.5 * (tl.load(medians + 2 * job) + tl.load(medians + 2 * job + 1))
    distance = 0.5 * (tl.load(distances + 2 * job) + tl.load(distances + 2 * job + 1))
    deviation = tl.load(constants + TO_DEVIATION) * distance
    return (values - center) / tl.where(deviation > 0.0, deviation, 1.0)
