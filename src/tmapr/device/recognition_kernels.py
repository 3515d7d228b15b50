"""Recognition in Triton, from a descriptor to how every reference compares; `ranking_kernels` ranks them.

`plain_recognition` is the same in torch. Nothing is sorted: an entry's rank is how many rank before it, those above it
and those as high and earlier, and what is wanted of an entry is written where its rank says. Others lie along the first
axis of such a comparison and are counted down it, which Triton does in a thread's registers; along the second it would
cross the lanes of a warp. Sums are those of one program each, or of few shares in a fixed order: equal inputs give
equal bits. Python floats reach a kernel as float32, so numbers that are not exact there come through memory:
`constants` are `fused_recognition.Constants`.
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

PROBES = tl.constexpr(0)
"""Of what is standardised or ranked first: probes' cosines, places' scores, their likelihoods; scores, best first."""
LIKELIHOODS_OF = tl.constexpr(2)
BEST_OF = tl.constexpr(3)


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
def find_trust(leverage, constants):
    """How far places are believed, by the leverage: see `Retrieval.trust`."""
    beyond = tl.maximum(tl.load(leverage), 0.0) / tl.load(constants + TRUSTED_LEVERAGE)
    some = beyond > 0.0
    power = tl.exp(tl.load(constants + STEEPNESS) * tl.log(tl.where(some, beyond, 1.0)))
    return 1.0 / (1.0 + tl.where(some, power, 0.0))


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
    """What a job ranks, the highest first: the best, or what is standardised with its sign changed; unused ones last."""
    if job == PROBES:
        there = at < probe_count
        row = tl.load(probes + at, mask=there, other=0)
        value = _relate(products, sharing, weight, measures, constants, row, there, CENTRED)
    else:
        there = tl.load(used + at, mask=at < capacity, other=0) != 0
        value = tl.load(tl.where(job == LIKELIHOODS_OF, likelihoods, scores) + at, mask=there, other=0.0)
    return tl.where(there, tl.where(job == BEST_OF, value, -value), -float("inf"))


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
    if job == BEST_OF:
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
    if job == BEST_OF:
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
def _standardise(values, medians, distances, constants, job):
    """In deviations from the median; a deviation is 1 where nothing varies."""
    center = 0.5 * (tl.load(medians + 2 * job) + tl.load(medians + 2 * job + 1))
    distance = 0.5 * (tl.load(distances + 2 * job) + tl.load(distances + 2 * job + 1))
    deviation = tl.load(constants + TO_DEVIATION) * distance
    return (values - center) / tl.where(deviation > 0.0, deviation, 1.0)


@triton.jit
def _weigh_places(
    scores, likelihoods, leverage, constants, medians, distances, place, inside, LIKELIHOODS: tl.constexpr
):
    """What its place says of each reference, as far as places are believed."""
    score = tl.load(scores + place, mask=inside, other=0.0)
    term = tl.load(constants + CLASS_WEIGHT) * _standardise(score, medians, distances, constants, 1)
    if LIKELIHOODS:
        likely = tl.load(likelihoods + place, mask=inside, other=0.0)
        likely = _standardise(likely, medians, distances, constants, LIKELIHOODS_OF)
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
    medians,
    distances,
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
    similarity = _standardise(cosine, medians, distances, constants, PROBES)
    term = tl.zeros([BLOCK], tl.float64)
    searched, heard = inside, inside
    if PLACED:
        place = tl.load(places + row, mask=inside, other=0)
        term = _weigh_places(
            *(scores, likelihoods, leverage, constants, medians, distances, place, inside, LIKELIHOODS)
        )
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
