"""Twins: two stretches of the map that look alike from end to end, found by joining pairs that go along together."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from tmapr.reports.atlas.likeness import Likeness, Pairs
from tmapr.reports.atlas.stations import Stations

Span = tuple[int, int]
"""The first and the last station of a stretch."""

Pair = tuple[int, int, bool]
"""Two stations, and whether both are driven in one direction."""

_SLIPS = (0, 1, -1)
"""Stations by which one stretch may run ahead of the other in a step: no two drives keep the same steps."""


@dataclass(frozen=True, slots=True)
class Twin:
    """Two stretches, as stations of the earlier one and their look-alikes; `forth`: both driven in one direction."""

    pairs: tuple[tuple[int, int], ...]
    forth: bool
    metres: float
    likeness: float
    similarity: float
    neighbours: float
    """Mean cosine of stations on both stretches with the next ones."""

    @property
    def weight(self) -> float:
        """By which the worst comes first."""
        return self.metres * self.likeness

    @property
    def first(self) -> Span:
        """The stretch that was driven earlier."""
        return self.pairs[0][0], self.pairs[-1][0]

    @property
    def second(self) -> Span:
        """The other one, in the order in which it was driven."""
        ends = [there for _, there in self.pairs]
        return min(ends), max(ends)

    def choose_pair(self, share: float) -> tuple[int, int]:
        """The two stations at a share of the way along both."""
        return self.pairs[round(share * (len(self.pairs) - 1))]


def find_twins(stations: Stations, likeness: Likeness) -> list[Twin]:
    """All twins that are as long as a place, the worst first; of those that say the same, the worst."""
    chains = _chain(stations, likeness.pairs)
    twins = [_measure(stations, likeness, chain) for chain in chains]
    long = sorted((twin for twin in twins if twin.metres >= stations.tolerance), key=lambda twin: -twin.weight)
    kept: list[Twin] = []
    for twin in long:
        if not any(_repeats(twin, other) for other in kept):
            kept.append(twin)
    return kept


def mark_twins(count: int, twins: list[Twin]) -> Bool[np.ndarray, " stations"]:
    """Which stations lie on a stretch that looks like another one."""
    marked = np.zeros(count, dtype=bool)
    for twin in twins:
        for start, stop in (twin.first, twin.second):
            marked[start : stop + 1] = True
    return marked


def _chain(stations: Stations, pairs: Pairs) -> list[Int[np.ndarray, " _"]]:
    """Pairs that follow each other, a step here for a step there; every pair is in one chain."""
    keys = zip(pairs.first.tolist(), pairs.second.tolist(), pairs.forth.tolist(), strict=True)
    waiting = {key: number for number, key in enumerate(keys)}
    chains = []
    for key in sorted(waiting):
        if key not in waiting:
            continue
        chain, here = [], key
        while here in waiting:
            chain.append(waiting.pop(here))
            ahead = (other for other in _list_next(stations, here) if _is_beside(key, other, stations.reach))
            here = next((other for other in ahead if other in waiting), here)
        chains.append(np.array(chain))
    return chains


def _is_beside(start: Pair, pair: Pair, most: int) -> bool:
    """Whether the two stretches have kept their distance on the way, within a place."""
    sign = 1 if pair[2] else -1
    return abs((pair[1] - start[1]) - sign * (pair[0] - start[0])) <= most


def _list_next(stations: Stations, pair: Pair) -> list[Pair]:
    """Where a pair may go on; a station may be left out."""
    first, second, forth = pair
    last, runs = len(stations) - 1, stations.runs
    found = []
    for ahead in (1, 2):
        for slip in _SLIPS:
            here, there = first + ahead, second + (ahead if forth else -ahead) + slip
            inside = here <= last and 0 <= there <= last
            if inside and runs[here] == runs[first] and runs[there] == runs[second]:
                found.append((here, there, forth))
    return found


def _measure(stations: Stations, likeness: Likeness, chain: Int[np.ndarray, " _"]) -> Twin:
    pairs = likeness.pairs
    first, second = pairs.first[chain], pairs.second[chain]
    spans = [(int(ends.min()), int(ends.max())) for ends in (first, second)]
    both = np.concatenate([first, second])
    return Twin(
        pairs=tuple(zip(first.tolist(), second.tolist(), strict=True)),
        forth=bool(pairs.forth[chain[0]]),
        metres=min(stop - start + 1 for start, stop in spans) * stations.step,
        likeness=float(pairs.likeness[chain].mean()),
        similarity=float(pairs.similarity[chain].mean()),
        neighbours=float(likeness.neighbours[both].mean()),
    )


def _repeats(twin: Twin, other: Twin) -> bool:
    """Whether most of both stretches are in those of another twin."""
    sides = ((twin.first, other.first), (twin.second, other.second))
    return all(_share(*side) > 0.5 for side in sides)


def _share(span: Span, other: Span) -> float:
    common = min(span[1], other[1]) - max(span[0], other[0]) + 1
    return max(0, common) / (span[1] - span[0] + 1)
