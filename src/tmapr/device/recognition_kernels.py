"""Kernels of recognition for the view: what of it is its own, and what numbers they all know.

`plain_recognition` is the same in torch. Sums are those of one program each, or of few shares in a fixed order: equal
inputs give equal bits. Python floats reach a kernel as float32, so numbers that are not exact there come through
memory: `constants` are `fused_recognition.Constants`.
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
def relate(products, sharing, weight, measures, constants, row, inside, CENTRED: tl.constexpr):
    """Cosines, of references less their share of the mean, from products with them as they are."""
    cosine = tl.load(products + row, mask=inside, other=0.0).to(tl.float64)
    if CENTRED:
        removed = tl.load(weight)
        shares = tl.load(sharing + row, mask=inside, other=0.0)
        lengths = tl.sqrt(1.0 - 2.0 * removed * shares + removed * removed * tl.load(constants + MEAN_SQUARE))
        cosine = (cosine - removed * tl.load(measures + ALONG)) / lengths / tl.load(measures + OWN_LENGTH)
    return cosine


@triton.jit
def find_trust(leverage, constants):
    """How far places are believed, by the leverage: see `Retrieval.trust`."""
    beyond = tl.maximum(tl.load(leverage), 0.0) / tl.load(constants + TRUSTED_LEVERAGE)
    some = beyond > 0.0
    power = tl.exp(tl.load(constants + STEEPNESS) * tl.log(tl.where(some, beyond, 1.0)))
    return 1.0 / (1.0 + tl.where(some, power, 0.0))
