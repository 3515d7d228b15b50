"""Kernels of recognition for the references: how each compares, the best of all, their rivals, what the host is told.

Of each block of references the first few are kept, and those are ranked among one another; each is written where its
rank says. Equal numbers rank by their row, as a stable sort leaves them, since blocks follow one another and each is in
order. What is no number ranks last.
"""

import triton
import triton.language as tl

from tmapr.device.recognition_kernels import (
    CLASS_WEIGHT,
    CLIP,
    FAMILIAR,
    LIKELIHOOD_WEIGHT,
    RADIUS,
    find_trust,
    relate,
)
from tmapr.device.standardising_kernels import PLACE_LIKELIHOODS, PROBES, SCORES, count_before, standardise

SHARPNESS = tl.constexpr(2.0)


@triton.jit
def _weigh_places(
    scores, likelihoods, leverage, constants, medians, distances, place, inside, LIKELIHOODS: tl.constexpr
):
    """What its place says of each reference, as far as places are believed."""
    score = tl.load(scores + place, mask=inside, other=0.0)
    term = tl.load(constants + CLASS_WEIGHT) * standardise(score, medians, distances, constants, SCORES)
    if LIKELIHOODS:
        likely = tl.load(likelihoods + place, mask=inside, other=0.0)
        likely = standardise(likely, medians, distances, constants, PLACE_LIKELIHOODS)
        clip = tl.load(constants + CLIP)
        term += tl.load(constants + LIKELIHOOD_WEIGHT) * tl.minimum(tl.maximum(likely, -clip), clip)
    return find_trust(leverage, constants) * term


@triton.jit
def _keep_first(values, row, block, first_values, first_rows, FIRST: tl.constexpr):
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
    cosine = relate(products, sharing, weight, measures, constants, row, inside, CENTRED)
    similarity = standardise(cosine, medians, distances, constants, PROBES)
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
    _keep_first(searched_total, row, block, first_values, first_rows, FIRST)
    if CENTRED:
        alike = tl.where(inside, similarity, -float("inf"))
        second = blocks * FIRST
        _keep_first(alike, row, block, first_values + second, first_rows + second, FIRST)


@triton.jit
def merge_first(
    first_values,
    first_rows,
    best_values,
    best_rows,
    size,
    FIRST: tl.constexpr,
    MINE: tl.constexpr,
    OTHERS: tl.constexpr,
):
    """The first of all blocks, of so many that are each block's first."""
    kind = tl.program_id(1)
    values = first_values + kind * size
    at = tl.program_id(0) * MINE + tl.arange(0, MINE)
    inside = at < size
    mine = tl.load(values + at, mask=inside, other=-float("inf"))
    rank = tl.zeros([MINE], tl.int32)
    for start in range(0, size, OTHERS):
        other = start + tl.arange(0, OTHERS)
        others = tl.load(values + other, mask=other < size, other=-float("inf"))
        rank += count_before(others, other, mine, at)
    best = inside & (rank < FIRST)
    row = tl.load(first_rows + kind * size + at, mask=best, other=0)
    tl.store(best_values + kind * FIRST + rank, mine, mask=best)
    tl.store(best_rows + kind * FIRST + rank, row, mask=best)


@triton.jit
def _is_near(positions, row, inside, x, y, constants):
    """Which references lie around a point."""
    along = tl.load(positions + 2 * row, mask=inside, other=0.0) - x
    across = tl.load(positions + 2 * row + 1, mask=inside, other=0.0) - y
    return inside & (tl.sqrt(along * along + across * across) <= tl.load(constants + RADIUS))


@triton.jit
def find_rivals(
    compared,
    positions,
    constants,
    best_values,
    best_rows,
    rivals,
    likely_parts,
    count,
    CANDIDATES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Of a block, what is best elsewhere than each candidate; what is likely in it, and how much of that is there."""
    block, blocks = tl.program_id(0), tl.num_programs(0)
    row = block * BLOCK + tl.arange(0, BLOCK)
    inside = row < count
    searched = tl.load(compared + 3 * count + row, mask=inside, other=-float("inf"))
    heard = tl.load(compared + 4 * count + row, mask=inside, other=-float("inf"))
    likely = tl.where(inside, tl.exp(SHARPNESS * (searched - tl.load(best_values))), 0.0)
    passed = row < 0
    for candidate in range(CANDIDATES):
        best = tl.load(best_rows + candidate)
        x, y = tl.load(positions + 2 * best), tl.load(positions + 2 * best + 1)
        here = _is_near(positions, row, inside, x, y, constants)
        tl.store(rivals + candidate * blocks + block, tl.max(tl.where(here | passed, -float("inf"), heard), axis=0))
        # Those before a candidate are rejected by the time that it is judged.
        passed = passed | (row == best)
        if candidate == 0:
            tl.store(likely_parts + block, tl.sum(likely, axis=0))
            tl.store(likely_parts + blocks + block, tl.sum(tl.where(here, likely, 0.0), axis=0))


@triton.jit
def _pack_frame(
    measures,
    constants,
    known,
    leverage,
    all_likely,
    near_likely,
    closest,
    packed,
    CENTRED: tl.constexpr,
    PLACED: tl.constexpr,
    GATED: tl.constexpr,
):
    """What is said of the frame, and of what is familiar."""
    given, constrained = all_likely * 0.0, all_likely * 0.0
    if PLACED:
        given = tl.load(leverage)
        if GATED:
            constrained = tl.where(find_trust(leverage, constants) >= 0.5, 1.0, 0.0)
    if CENTRED:
        drives, familiar = tl.load(known), tl.load(measures + FAMILIAR)
        tl.store(packed + 3, drives)
        tl.store(packed + 4, closest)
        tl.store(packed + 5, familiar)
    tl.store(packed, given)
    tl.store(packed + 1, constrained)
    tl.store(packed + 2, near_likely / all_likely)


@triton.jit
def pack(
    plain,
    positions,
    measures,
    constants,
    known,
    leverage,
    best_values,
    best_rows,
    rivals,
    likely_parts,
    packed,
    blocks,
    voters,
    closest_of,
    CANDIDATES: tl.constexpr,
    LIKELY: tl.constexpr,
    FIRST: tl.constexpr,
    FIRST_UP: tl.constexpr,
    BLOCKS: tl.constexpr,
    CENTRED: tl.constexpr,
    PLACED: tl.constexpr,
    GATED: tl.constexpr,
):
    """All that the host needs, in the order of `Packing`; what can be is read before anything is written."""
    rank, part = tl.arange(0, FIRST_UP), tl.arange(0, BLOCKS)
    score = tl.load(best_values + rank, mask=rank < FIRST, other=-float("inf"))
    row = tl.load(best_rows + rank, mask=rank < FIRST, other=0)
    all_likely = tl.sum(tl.load(likely_parts + part, mask=part < blocks, other=0.0), axis=0)
    near_likely = tl.sum(tl.load(likely_parts + blocks + part, mask=part < blocks, other=0.0), axis=0)
    closest = all_likely
    if CENTRED:
        alike = tl.load(best_rows + FIRST + rank, mask=rank < closest_of, other=0)
        closest = tl.max(tl.load(plain + alike, mask=rank < closest_of, other=-float("inf")), axis=0).to(tl.float64)
    votes = (rank < voters) & (score > -float("inf"))
    counted = tl.maximum(tl.sum(votes.to(tl.float64), axis=0), 1.0)
    here = packed + 3 + 3 * CENTRED
    for candidate in range(CANDIDATES):
        best = tl.load(best_rows + candidate)
        x, y = tl.load(positions + 2 * best), tl.load(positions + 2 * best + 1)
        near = tl.sum(_is_near(positions, row, votes, x, y, constants).to(tl.float64), axis=0)
        rival = tl.max(tl.load(rivals + candidate * blocks + part, mask=part < blocks, other=-float("inf")), axis=0)
        reached = tl.load(best_values + candidate)
        cosine = tl.load(plain + best).to(tl.float64)
        tl.store(here + candidate, best.to(tl.float64))
        tl.store(here + CANDIDATES + candidate, cosine)
        tl.store(here + 2 * CANDIDATES + candidate, reached)
        tl.store(here + 3 * CANDIDATES + candidate, near / counted)
        tl.store(here + 4 * CANDIDATES + candidate, reached - rival)
    there = here + 5 * CANDIDATES
    tl.store(there + rank, row.to(tl.float64), mask=rank < LIKELY)
    tl.store(there + LIKELY + rank, score, mask=rank < LIKELY)
    _pack_frame(
        *(measures, constants, known, leverage, all_likely, near_likely, closest, packed), *(CENTRED, PLACED, GATED)
    )
