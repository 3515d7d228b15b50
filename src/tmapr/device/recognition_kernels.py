"""Recognition in Triton, from a descriptor to how every reference compares; `ranking_kernels` ranks them.

`plain_recognition` is the same in torch. Nothing is sorted: what is at a place in order is found by counting, for every
entry, those that are not above it. Others lie along the first axis of such a comparison and are counted down it, which
Triton does in a thread's registers; along the second it would cross the lanes of a warp. Sums are those of one program
each, or of few shares in a fixed order: equal inputs give equal bits. Python floats reach a kernel as float32, so
numbers that are not exact there come through memory: `constants` are `fused_recognition.Constants`.
"""

import triton
import triton.language as tl

MEAN_SQUARE = tl.constexpr(0)
TO_DEVIATION = tl.constexpr(1)
CLASS_WEIGHT = tl.constexpr(2)
LIKELIHOOD_WEIGHT = tl.constexpr(3)
CLIP = tl.constexpr(4)
TRUSTED_LEVERAGE = tl.constexpr(5)
STEEPNESS = tl.constexpr(6)
RADIUS = tl.constexpr(7)
SHORTEST = tl.constexpr(8)

ALONG = tl.constexpr(0)
"""Of a view's measures, its own part along the map's mean; then how long that part is, and how familiar the view is."""
OWN_LENGTH = tl.constexpr(1)
FAMILIAR = tl.constexpr(2)

HELD = tl.constexpr(256)
"""So many are compared with one another at once; more are read again from memory, part by part."""
PART = tl.constexpr(64)


@triton.jit
def remove_shared(descriptor, mean, mapped, weight, queries, parts, dim, BLOCK: tl.constexpr):
    """What is multiplied with the memory, of a view without what its drive shares and as it is; and shares of sums."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    inside = at < dim
    view = tl.load(descriptor + at, mask=inside, other=0.0)
    shared = tl.load(mean + at, mask=inside, other=0.0)
    own_mean = tl.load(mapped + at, mask=inside, other=0.0)
    removed = tl.load(weight)
    own = view - removed * shared
    moved = view - removed * (shared - own_mean)
    tl.store(queries + at, own.to(tl.float32), mask=inside)
    tl.store(queries + dim + at, view.to(tl.float32), mask=inside)
    tl.store(parts + program, tl.sum(own * own_mean, axis=0))
    tl.store(parts + programs + program, tl.sum(own * own, axis=0))
    tl.store(parts + 2 * programs + program, tl.sum(view * shared, axis=0))
    tl.store(parts + 3 * programs + program, tl.sum(moved * moved, axis=0))


@triton.jit
def exchange_shared(
    descriptor,
    mean,
    mapped,
    weight,
    known,
    length,
    constants,
    parts,
    view,
    measures,
    dim,
    PARTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The view as it would be where views share the map's mean, at length 1; and its measures."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    part = tl.arange(0, PARTS)
    filled = part < programs
    drives = tl.load(known)
    moved_square = tl.sum(tl.load(parts + 3 * programs + part, mask=filled, other=0.0), axis=0)
    moved_length = tl.sqrt(moved_square)
    at = program * BLOCK + tl.arange(0, BLOCK)
    inside = at < dim
    given = tl.load(descriptor + at, mask=inside, other=0.0)
    shared = tl.load(mean + at, mask=inside, other=0.0)
    moved = given - tl.load(weight) * (shared - tl.load(mapped + at, mask=inside, other=0.0))
    exchanged = drives * moved_length > tl.load(constants + SHORTEST)
    moved /= tl.where(exchanged, moved_length, 1.0)
    tl.store(view + at, tl.where(exchanged, moved, given), mask=inside)
    if program == 0:
        along = tl.sum(tl.load(parts + part, mask=filled, other=0.0), axis=0)
        own_length = tl.sqrt(tl.sum(tl.load(parts + programs + part, mask=filled, other=0.0), axis=0))
        like = tl.sum(tl.load(parts + 2 * programs + part, mask=filled, other=0.0), axis=0)
        tl.store(measures + ALONG, along)
        # Before anything is known of the drive, a view is compared as it is, whatever its length.
        tl.store(measures + OWN_LENGTH, tl.where(drives > 0.0, own_length, 1.0))
        tl.store(measures + FAMILIAR, like / tl.load(length))


@triton.jit
def _relate(products, sharing, weight, measures, constants, row, inside, CENTRED: tl.constexpr):
    """Cosines, of references less their share of the mean, from products with them as they are."""
    cosine = tl.load(products + row, mask=inside, other=0.0).to(tl.float64)
    if CENTRED:
        removed = tl.load(weight)
        shares = tl.load(sharing + row, mask=inside, other=0.0)
        lengths = tl.sqrt(1.0 - 2.0 * removed * shares + removed * removed * tl.load(constants + MEAN_SQUARE))
        cosine = (cosine - removed * tl.load(measures + ALONG)) / lengths / tl.load(measures + OWN_LENGTH)
    return cosine


@triton.jit
def count_before(others, other_at, mine, mine_at):
    """How many of others rank before each: those above it, and those as high and earlier."""
    above = others[:, None] > mine[None, :]
    earlier = (others[:, None] == mine[None, :]) & (other_at[:, None] < mine_at[None, :])
    return tl.sum((above | earlier).to(tl.int32), axis=0)


@triton.jit
def _count_not_above(others, mine):
    return tl.sum((others[:, None] <= mine[None, :]).to(tl.int32), axis=0)


@triton.jit
def _find_median(mine, middle, kept, SIZE: tl.constexpr):
    """Of entries whose unused ones are ∞; `kept` has room for them all."""
    at = tl.arange(0, SIZE)
    if SIZE <= HELD:
        count = _count_not_above(mine, mine)
    else:
        tl.store(kept + at, mine)
        tl.debug_barrier()
        count = tl.zeros([SIZE], tl.int32)
        for start in range(0, SIZE, PART):
            count += _count_not_above(tl.load(kept + start + tl.arange(0, PART)), mine)
    # The one at k in order is the least that more than k are not above of.
    low = tl.min(tl.where(count > tl.load(middle), mine, float("inf")), axis=0)
    high = tl.min(tl.where(count > tl.load(middle + 1), mine, float("inf")), axis=0)
    return 0.5 * (low + high)


@triton.jit
def _store_spread(values, used, middle, constants, kept, spread, SIZE: tl.constexpr):
    """Median and deviation over the used entries; 1 where they do not vary."""
    center = _find_median(tl.where(used, values, float("inf")), middle, kept, SIZE)
    away = tl.where(used, tl.abs(values - center), float("inf"))
    deviation = tl.load(constants + TO_DEVIATION) * _find_median(away, middle, kept + SIZE, SIZE)
    tl.store(spread, center)
    tl.store(spread + 1, tl.where(deviation > 0.0, deviation, 1.0))


@triton.jit
def find_trust(leverage, constants):
    """How far places are believed, by the leverage: see `Retrieval.trust`."""
    beyond = tl.maximum(tl.load(leverage), 0.0) / tl.load(constants + TRUSTED_LEVERAGE)
    some = beyond > 0.0
    power = tl.exp(tl.load(constants + STEEPNESS) * tl.log(tl.where(some, beyond, 1.0)))
    return 1.0 / (1.0 + tl.where(some, power, 0.0))


@triton.jit
def _allow_places(
    values,
    used,
    around,
    leverage,
    constants,
    kept,
    allowed,
    best,
    capacity,
    SIZE: tl.constexpr,
    AROUND: tl.constexpr,
):
    """Mark where a search may look: at the so many best places and those around them, or everywhere."""
    at = tl.arange(0, SIZE)
    mine = tl.where(used, values, -float("inf"))
    if SIZE <= HELD:
        before = count_before(mine, at, mine, at)
    else:
        tl.store(kept + at, mine)
        tl.debug_barrier()
        before = tl.zeros([SIZE], tl.int32)
        for start in range(0, SIZE, PART):
            part = start + tl.arange(0, PART)
            before += count_before(tl.load(kept + part), part, mine, at)
    # Neighbours are other threads': what is marked goes through memory.
    marked = kept + SIZE
    tl.store(marked + at, ((before < best) & used).to(tl.float64))
    tl.debug_barrier()
    reached = tl.zeros([SIZE], tl.float64) + tl.where(find_trust(leverage, constants) < 0.5, 1.0, 0.0)
    for number in range(AROUND):
        place = tl.load(around + at * AROUND + number, mask=at < capacity, other=capacity)
        reached += tl.load(marked + place, mask=place < capacity, other=0.0)
    tl.store(allowed + at, (reached > 0.0).to(tl.int8), mask=at < capacity)


@triton.jit
def measure_spreads(
    products,
    sharing,
    weight,
    measures,
    constants,
    probes,
    middle,
    scores,
    likelihoods,
    leverage,
    used,
    places_middle,
    around,
    kept,
    spreads,
    allowed,
    probe_count,
    capacity,
    best,
    SIZE: tl.constexpr,
    AROUND: tl.constexpr,
    CENTRED: tl.constexpr,
):
    """A program for each thing that all references need: how probes, scores and likelihoods spread; the best places.

    There is room for all probes and all places in SIZE. A thread for each entry is what Triton finds registers for.
    """
    job = tl.program_id(0)
    at = tl.arange(0, SIZE)
    room = kept + 2 * job * SIZE
    if job == 0:
        probed = at < probe_count
        row = tl.load(probes + at, mask=probed, other=0)
        cosine = _relate(products, sharing, weight, measures, constants, row, probed, CENTRED)
        _store_spread(cosine, probed, middle, constants, room, spreads, SIZE)
    else:
        there = tl.load(used + at, mask=at < capacity, other=0) != 0
        said = tl.load(tl.where(job == 2, likelihoods, scores) + at, mask=there, other=0.0)
        if job == 3:
            _allow_places(said, there, around, leverage, constants, room, allowed, best, capacity, SIZE, AROUND)
        else:
            _store_spread(said, there, places_middle, constants, room, spreads + 2 * job, SIZE)


@triton.jit
def _weigh_places(
    scores, likelihoods, leverage, constants, spreads, place, inside, LIKELIHOODS: tl.constexpr
):
    """What its place says of each reference, as far as places are believed."""
    score = tl.load(scores + place, mask=inside, other=0.0)
    term = tl.load(constants + CLASS_WEIGHT) * ((score - tl.load(spreads + 2)) / tl.load(spreads + 3))
    if LIKELIHOODS:
        likely = tl.load(likelihoods + place, mask=inside, other=0.0)
        likely = (likely - tl.load(spreads + 4)) / tl.load(spreads + 5)
        clip = tl.load(constants + CLIP)
        term += tl.load(constants + LIKELIHOOD_WEIGHT) * tl.minimum(tl.maximum(likely, -clip), clip)
    return find_trust(leverage, constants) * term


@triton.jit
def keep_first(values, row, block, blocks, first_values, first_rows, FIRST: tl.constexpr):
    """The first of a block, each where its rank says."""
    known = tl.where(values == values, values, -float("inf"))
    rank = count_before(known, row, known, row)
    at = block * FIRST + rank
    tl.store(first_values + at, known, mask=rank < FIRST)
    tl.store(first_rows + at, row, mask=rank < FIRST)


@triton.jit
def compare_references(
    products,
    sharing,
    weight,
    measures,
    constants,
    places,
    probed,
    scores,
    likelihoods,
    leverage,
    allowed,
    spreads,
    compared,
    first_values,
    first_rows,
    count,
    BLOCK: tl.constexpr,
    FIRST: tl.constexpr,
    CENTRED: tl.constexpr,
    PLACED: tl.constexpr,
    LIKELIHOODS: tl.constexpr,
    GATED: tl.constexpr,
):
    """Cosine, similarity, place, what is searched and what is heard of each reference; and the first of each block."""
    block, blocks = tl.program_id(0), tl.num_programs(0)
    row = block * BLOCK + tl.arange(0, BLOCK)
    inside = row < count
    cosine = _relate(products, sharing, weight, measures, constants, row, inside, CENTRED)
    similarity = (cosine - tl.load(spreads)) / tl.load(spreads + 1)
    term = tl.zeros([BLOCK], tl.float64)
    searched, heard = inside, inside
    if PLACED:
        place = tl.load(places + row, mask=inside, other=0)
        term = _weigh_places(scores, likelihoods, leverage, constants, spreads, place, inside, LIKELIHOODS)
        if GATED:
            searched = inside & (tl.load(allowed + place, mask=inside, other=0) != 0)
            # Probes also contradict a constrained search where it has not looked.
            heard = searched | (tl.load(probed + row, mask=inside, other=0) != 0)
    total = similarity + term
    searched_total = tl.where(searched, total, -float("inf"))
    tl.store(compared + row, cosine, mask=inside)
    tl.store(compared + count + row, similarity, mask=inside)
    tl.store(compared + 2 * count + row, term, mask=inside)
    tl.store(compared + 3 * count + row, searched_total, mask=inside)
    tl.store(compared + 4 * count + row, tl.where(heard, total, -float("inf")), mask=inside)
    keep_first(searched_total, row, block, blocks, first_values, first_rows, FIRST)
    if CENTRED:
        alike = tl.where(inside, similarity, -float("inf"))
        second = blocks * FIRST
        keep_first(alike, row, block, blocks, first_values + second, first_rows + second, FIRST)
