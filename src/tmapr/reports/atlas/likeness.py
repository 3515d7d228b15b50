"""How alike two stretches of the map look that are not one place.

Elsewhere is farther than two places away, in metres on the ground: a street that was driven twice, in either direction
or by two traverses, is one place and no look-alike. Compared are stretches, a place to either side of a station and
driven the same way or against each other, by the mean cosine of their descriptors, T. With b the median of all cosines
elsewhere and N that of stations with the next ones on their own stretches,

    likeness = (T − b) / (N − b):

0 is what any two places have, 1 what a view a step on has. Nothing in it has a unit or depends on an encoder's scale.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from tmapr.reports.atlas.stations import Stations
from tmapr.retrieval.memory import Memory
from tmapr.types import Watch

ALIKE = 0.75
"""From here on two stretches look alike: chosen on rendered cities in even styles, docs/results/twins.md."""

_APART = 2.0
"""Places: what is nearer is not elsewhere."""
_BLOCK = 256
_SAMPLED = 1000
_MOST = 4
"""Look-alikes of one station that may belong to stretches."""
_NEAR = np.float32(-1e3)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Stations that look alike, the earlier one first; `forth` says whether both are driven in one direction."""

    first: Int[np.ndarray, " pairs"]
    second: Int[np.ndarray, " pairs"]
    forth: Bool[np.ndarray, " pairs"]
    likeness: Float[np.ndarray, " pairs"]
    similarity: Float[np.ndarray, " pairs"]


@dataclass(frozen=True, slots=True)
class Likeness:
    """The best look-alike elsewhere of every station, where there is an elsewhere, and all pairs that look alike."""

    known: Bool[np.ndarray, " stations"]
    partner: Int[np.ndarray, " stations"]
    value: Float[np.ndarray, " stations"]
    similarity: Float[np.ndarray, " stations"]
    neighbours: Float[np.ndarray, " stations"]
    """Mean cosine with the next stations, along the same stretch."""
    background: float
    """Median cosine of two stations elsewhere from each other; NaN where there are none."""
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class _Stretches:
    """Stations with empty slots between runs, so that no stretch reaches from one into the next."""

    slots: Int[np.ndarray, " stations"]
    descriptors: Float32[np.ndarray, "slots dim"]
    positions: Float32[np.ndarray, "slots 2"]
    before: Int[np.ndarray, " slots"]
    after: Int[np.ndarray, " slots"]
    scale: Float32[np.ndarray, " slots"]
    """Of each station N − b; of a pair it is the mean of two."""
    reach: int
    apart: float


def compare_stations(memory: Memory, stations: Stations, watch: Watch = iter) -> Likeness:
    """Compare every station with every other, in blocks: no matrix of all of them is ever in memory."""
    descriptors = memory.descriptors[stations.rows]
    neighbours = _compare_neighbours(descriptors, stations)
    background, spread = _sample_background(descriptors, stations)
    if np.isnan(background):
        nothing = np.zeros(len(stations))
        none = np.zeros(len(stations), dtype=bool)
        return Likeness(none, none.astype(np.int64), nothing, nothing, neighbours, background, _join_pairs([]))
    # Neighbours that are no more alike than other places by their spread: nothing there can be told apart.
    scale = np.maximum(neighbours - background, spread)
    stretches = _pad(descriptors, stations, scale)
    best = _Best.nothing(len(stretches.descriptors))
    blocks = np.split(stretches.slots, range(_BLOCK, len(stations), _BLOCK))
    pairs = _join_pairs(
        [_compare_block(stretches, blocks[number], background, best) for number in watch(range(len(blocks)))]
    )
    numbers = np.zeros(len(stretches.descriptors), dtype=np.int64)
    numbers[stretches.slots] = np.arange(len(stations))
    value, similarity = best.likeness[stretches.slots], best.similarity[stretches.slots]
    known = np.isfinite(value)
    return Likeness(
        known=known,
        partner=numbers[best.partner[stretches.slots]],
        value=np.where(known, value, 0.0).astype(float),
        similarity=np.where(known, similarity, 0.0).astype(float),
        neighbours=neighbours,
        background=background,
        pairs=Pairs(numbers[pairs.first], numbers[pairs.second], pairs.forth, pairs.likeness, pairs.similarity),
    )


def _compare_neighbours(
    descriptors: Float32[np.ndarray, "stations dim"], stations: Stations
) -> Float[np.ndarray, " stations"]:
    """Mean cosine of the next stations along the stretch of each; one that is alone has what others have."""
    cosines = np.einsum("nd,nd->n", descriptors[1:], descriptors[:-1]).astype(float)
    joined = np.diff(stations.runs) == 0
    total = np.concatenate([[0.0], np.cumsum(cosines * joined)])
    places = np.arange(len(stations))
    start, stop = places - stations.count_before(), places + stations.count_after()
    count = stop - start
    usual = float(np.median(cosines[joined])) if joined.any() else 1.0
    return np.where(count > 0, (total[stop] - total[start]) / np.maximum(count, 1), usual)


def _sample_background(descriptors: Float32[np.ndarray, "stations dim"], stations: Stations) -> tuple[float, float]:
    """Median and spread of the cosines of evenly spread stations that are elsewhere from each other."""
    count = len(stations)
    chosen = np.unique(np.linspace(0, count - 1, min(count, _SAMPLED)).astype(int))
    elsewhere = _measure_squares(stations.positions[chosen], stations.positions[chosen]) > (
        (_APART * stations.tolerance) ** 2
    )
    cosines = (descriptors[chosen] @ descriptors[chosen].T)[elsewhere]
    return (float(np.median(cosines)), float(np.std(cosines))) if len(cosines) else (np.nan, np.nan)


def _pad(
    descriptors: Float32[np.ndarray, "stations dim"], stations: Stations, scale: Float[np.ndarray, " stations"]
) -> _Stretches:
    reach = stations.reach
    slots = np.arange(len(stations)) + reach * (stations.runs + 1)
    size = int(slots[-1]) + reach + 1

    def spread(values: np.ndarray, empty: float) -> np.ndarray:
        padded = np.full((size, *values.shape[1:]), empty, dtype=values.dtype)
        padded[slots] = values
        return padded

    return _Stretches(
        slots=slots,
        descriptors=spread(descriptors, 0.0),
        # From their middle: float32 then has centimetres on any map.
        positions=spread((stations.positions - stations.positions.mean(axis=0)).astype(np.float32), np.inf),
        before=spread(stations.count_before().astype(np.int16), -1.0),
        after=spread(stations.count_after().astype(np.int16), -1.0),
        scale=spread(scale.astype(np.float32), 1.0),
        reach=reach,
        apart=_APART * stations.tolerance,
    )


@dataclass(slots=True)
class _Best:
    """The best look-alike of every slot so far."""

    likeness: Float32[np.ndarray, " slots"]
    similarity: Float32[np.ndarray, " slots"]
    partner: Int[np.ndarray, " slots"]

    @classmethod
    def nothing(cls, slots: int) -> "_Best":
        zeros = np.zeros(slots, dtype=np.float32)
        return cls(np.full(slots, -np.inf, dtype=np.float32), zeros, np.zeros(slots, dtype=np.int64))

    def learn(
        self,
        slots: Int[np.ndarray, " n"],
        partner: Int[np.ndarray, " n"],
        likeness: Float32[np.ndarray, " n"],
        similarity: Float32[np.ndarray, " n"],
    ) -> None:
        """Keep for each slot the better of what is known and what is told."""
        better = likeness > self.likeness[slots]
        at = slots[better]
        self.partner[at], self.likeness[at], self.similarity[at] = partner[better], likeness[better], similarity[better]


def _compare_block(stretches: _Stretches, block: Int[np.ndarray, " block"], background: float, best: _Best) -> Pairs:
    """Compare a block of slots with itself and all later ones: likeness is the same from either side."""
    reach, first, last = stretches.reach, int(block[0]), int(block[-1])
    around, onward = slice(first - reach, last + reach + 1), slice(first - reach, None)
    cosines = stretches.descriptors[around] @ stretches.descriptors[onward].T
    near = _measure_squares(stretches.positions[around], stretches.positions[onward]) <= stretches.apart**2
    cosines[near] = _NEAR
    forth, back = (_average(cosines, stretches, first, last, direction=direction) for direction in (1, -1))
    rows, columns = block - first, np.arange(first, len(stretches.descriptors))
    same = (forth >= back)[rows]
    similarity = np.maximum(forth, back, out=forth)[rows]
    scale = (stretches.scale[block][:, None] + stretches.scale[columns]) / 2
    likeness = np.where(similarity >= -1.0, (similarity - np.float32(background)) / scale, -np.inf).astype(np.float32)
    at, across = likeness.argmax(axis=1), likeness.argmax(axis=0)
    row, column = np.arange(len(block)), np.arange(len(columns))
    best.learn(block, columns[at], likeness[row, at], similarity[row, at])
    best.learn(columns, block[across], likeness[across, column], similarity[across, column])
    return _list_pairs(block, likeness, similarity, same)


def _average(
    cosines: Float32[np.ndarray, "around onward"], stretches: _Stretches, first: int, last: int, *, direction: int
) -> Float32[np.ndarray, "block later"]:
    """Mean cosine of stretches around two slots; much below −1 where they touch or are too short to be compared."""
    reach, height = stretches.reach, last + 1 - first
    width = cosines.shape[1] - reach
    total = np.zeros((height, width), dtype=np.float32)
    inner = total[:, : width - reach]
    for shift in range(-reach, reach + 1):
        start = reach + shift * direction
        inner += cosines[reach + shift : reach + shift + height, start : start + width - reach]
    sides = (stretches.after, stretches.before)
    ahead, behind = (side[first:] for side in sides[::direction])
    count = np.minimum.outer(sides[0][first : last + 1], ahead) + np.minimum.outer(sides[1][first : last + 1], behind)
    total /= np.maximum(count + 1, 1).astype(np.float32)
    total[count < reach] = _NEAR
    return total


def _list_pairs(
    block: Int[np.ndarray, " block"],
    likeness: Float32[np.ndarray, "block later"],
    similarity: Float32[np.ndarray, "block later"],
    same: Bool[np.ndarray, "block later"],
) -> Pairs:
    """The few best of each row that look alike and are no less alike than their neighbours in the row.

    Columns begin with the first slot of the block.
    """
    inner = likeness[:, 1:-1]
    peaks = (inner >= ALIKE) & (inner >= likeness[:, :-2]) & (inner >= likeness[:, 2:])
    rows, columns = np.nonzero(peaks)
    columns = columns + 1
    order = np.lexsort((-likeness[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows, "left")
    kept = (rank < _MOST) & (columns + block[0] > block[rows])
    rows, columns = rows[kept], columns[kept]
    values = (values[rows, columns] for values in (same, likeness, similarity))
    return Pairs(block[rows], columns + block[0], *values)


def _join_pairs(parts: list[Pairs]) -> Pairs:
    def join(values: Iterator[np.ndarray], kind: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype=kind), *values])

    return Pairs(
        join((part.first for part in parts), np.int64),
        join((part.second for part in parts), np.int64),
        join((part.forth for part in parts), bool),
        join((part.likeness for part in parts), float),
        join((part.similarity for part in parts), float),
    )


def _measure_squares(a: Float[np.ndarray, "n 2"], b: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, "n m"]:
    """Squared distances; from an empty slot no number."""
    with np.errstate(invalid="ignore"):
        return np.subtract.outer(a[:, 0], b[:, 0]) ** 2 + np.subtract.outer(a[:, 1], b[:, 1]) ** 2
