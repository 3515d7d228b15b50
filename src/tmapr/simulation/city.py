"""A city: streets between blocks of houses, a route that crosses itself, parked cars."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from tmapr.simulation.blocks import Builder, Finish, Wall, place_driver
from tmapr.simulation.house import House
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind
from tmapr.simulation.style import Style
from tmapr.simulation.world import Moving, Passage, Point, World, sample_seeds

_LEAVES = 20
_DEPTH = 12.0
"""Metres that houses reach back from their facades, where there is room."""


@dataclass(frozen=True, slots=True)
class Street:
    """Metres from the middle of a street to the edge of the carriageway and to the facades."""

    road: float = 4.5
    kerb: float = 7.5

    @property
    def pavement(self) -> float:
        """How wide it is."""
        return self.kerb - self.road

    def sides(self, start: Point, stop: Point) -> list[Wall]:
        """The lines of the facades on both sides, each facing the street."""
        reach = float(np.hypot(*(stop - start)))
        ahead = (stop - start) / reach
        left = np.array([-ahead[1], ahead[0]])
        first = Wall(start + self.kerb * (ahead + left), ahead, reach - 2 * self.kerb, 0.0)
        return [first, Wall(stop - self.kerb * (ahead + left), -ahead, reach - 2 * self.kerb, 0.0)]


@dataclass(frozen=True, slots=True)
class Crossings:
    """Ways from crossing to crossing of a grid: the route, and the same with a part off it."""

    route: tuple[tuple[int, int], ...]
    detour: tuple[tuple[int, int], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of crossings."""
        return max(i for i, _ in self.detour) + 1, max(j for _, j in self.detour) + 1

    @property
    def edges(self) -> int:
        """Blocks along the route."""
        return sum(abs(i - k) + abs(j - m) for (i, j), (k, m) in pairwise(self.route))


_GRIDS = (
    Crossings(
        route=((0, 0), (1, 0), (1, 2), (2, 2), (2, 1), (0, 1), (0, 0)),
        detour=((0, 0), (1, 0), (1, 2), (2, 2), (3, 2), (3, 1), (2, 1), (0, 1), (0, 0)),
    ),
    Crossings(
        route=((0, 0), (1, 0), (1, 1), (0, 1), (0, 0)),
        detour=((0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (0, 0)),
    ),
    Crossings(
        route=((0, 0), (2, 0), (2, 3), (4, 3), (4, 1), (1, 1), (1, 3), (0, 3), (0, 0)),
        detour=((0, 0), (2, 0), (2, 3), (4, 3), (5, 3), (5, 1), (4, 1), (1, 1), (1, 3), (0, 3), (0, 0)),
    ),
)
"""The plain one first."""


def build_city(rng: np.random.Generator, aliasing: float, length: float | None, style: Style) -> World:
    """Streets from crossing to crossing, and houses along all of them."""
    grid, street = _choose_grid(length or 640.0, style), Street(4.5 * style.street, 7.5 * style.street)
    block = (length or 640.0) / grid.edges
    uneven = 0.15 * (1 - aliasing)
    xs, ys = (_crossings(block * rng.uniform(1 - uneven, 1 + uneven, n - 1)) for n in grid.shape)
    builder = Builder()
    _lay_grounds(builder, street, xs, ys)
    segments = _segments(xs, ys)
    # Houses of two streets stand back to back in a block.
    depth = float(min(_DEPTH, np.diff(xs).min() / 2 - street.kerb, np.diff(ys).min() / 2 - street.kerb))
    kerbs = [street.sides(*segment) for segment in segments]
    seeds = sample_seeds(len(segments), aliasing, rng)
    builds = Streetside(street, depth, style)
    for segment, sides, seed in zip(segments, kerbs, seeds, strict=True):
        builds.build(builder, segment, sides, np.random.default_rng(seed))
    route, detour = (np.array([(xs[i], ys[j]) for i, j in way]) for way in (grid.route, grid.detour))
    return World(
        builder.scene(),
        route,
        detour,
        turn=6.0,
        speed=style.speed or 8.0,
        passing=partial(_place_traffic, [side for sides in kerbs for side in sides], street, style.parked),
        moving=Moving(place_driver, style.speed or 8.0, max(street.road / 2, 2.3), style.moving),
        offset=style.offset,
        twins=_find_twins(segments, seeds, route, detour),
        passages=tuple(_list_passages(segments, seeds, route)),
    )


def _find_twins(
    segments: list[tuple[Point, Point]],
    seeds: list[int],
    route: Float[np.ndarray, "corners 2"],
    detour: Float[np.ndarray, "detoured 2"],
) -> tuple[Float[np.ndarray, "2 2"], ...]:
    """The streets that only the detour takes and that look like one of the route's, passed in the same direction."""
    passed = [dict(_follow_streets(segments, way)) for way in (route, detour)]
    known = {(seeds[street], forth) for street, forth in passed[0].items()}
    alone = [(street, forth) for street, forth in passed[1].items() if street not in passed[0]]
    return tuple(np.array(segments[street]) for street, forth in alone if (seeds[street], forth) in known)


def _list_passages(
    segments: list[tuple[Point, Point]], seeds: list[int], route: Float[np.ndarray, "corners 2"]
) -> Iterator[Passage]:
    """The route's streets, as they are driven; the same houses from the other end are another look."""
    looks: dict[tuple[int, bool], int] = {}
    for street, forth in _follow_streets(segments, route):
        start, stop = segments[street] if forth else segments[street][::-1]
        yield Passage(np.array([start, stop]), looks.setdefault((seeds[street], forth), len(looks)))


def _follow_streets(segments: list[tuple[Point, Point]], way: Float[np.ndarray, "n 2"]) -> Iterator[tuple[int, bool]]:
    """The streets that a way takes, and whether it does so in the direction in which they were built."""
    for start, stop in pairwise(way):
        reach = float(np.hypot(*(stop - start)))
        ahead = (stop - start) / reach
        for street, ends in enumerate(segments):
            along, aside = (np.mean(ends, axis=0) - start) @ np.array([ahead, [-ahead[1], ahead[0]]]).T
            if 0 < along < reach and abs(aside) < 1.0:
                yield street, bool((ends[1] - ends[0]) @ ahead > 0)


def _crossings(blocks: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
    return np.concatenate([[0.0], np.cumsum(blocks)])


def _segments(xs: Float[np.ndarray, " n"], ys: Float[np.ndarray, " m"]) -> list[tuple[Point, Point]]:
    """Every street between two crossings."""
    east = [((xs[i], y), (xs[i + 1], y)) for y in ys for i in range(len(xs) - 1)]
    north = [((x, ys[j]), (x, ys[j + 1])) for x in xs for j in range(len(ys) - 1)]
    return [(np.array(start), np.array(stop)) for start, stop in east + north]


def _lay_grounds(builder: Builder, street: Street, xs: Float[np.ndarray, " n"], ys: Float[np.ndarray, " m"]) -> None:
    """Lawns, pavements on them, carriageways on these."""
    low, high = np.array([xs[0], ys[0]]) - 80, np.array([xs[-1], ys[-1]]) + 80
    builder.ground(low, high, Finish(Stuff.GRASS, 0.7, Behind.SOIL), level=-0.04)
    for width, stuff, level in ((street.kerb, Stuff.CONCRETE, -0.02), (street.road, Stuff.ASPHALT, 0.0)):
        finish = Finish(stuff, 0.55, Behind.SOIL)
        for x in xs:
            builder.ground((x - width, low[1]), (x + width, high[1]), finish, level)
        for y in ys:
            builder.ground((low[0], y - width), (high[0], y + width), finish, level + 0.005)


@dataclass(frozen=True, slots=True)
class Streetside:
    """What streets of a city have in common."""

    street: Street
    depth: float
    """Metres that houses reach back."""
    style: Style

    def build(
        self, builder: Builder, segment: tuple[Point, Point], sides: list[Wall], rng: np.random.Generator
    ) -> None:
        """Patches and manholes in the carriageway, and both sides."""
        start, stop = segment
        ahead, kerb = (stop - start) / np.hypot(*(stop - start)), self.street.kerb
        for _ in range(rng.poisson(5)):
            along, aside = rng.uniform(kerb, np.hypot(*(stop - start)) - kerb), rng.uniform(-3, 3)
            center, size = start + along * ahead + aside * np.array([-ahead[1], ahead[0]]), rng.uniform(0.4, 2.5, 2)
            patch = Finish(Stuff(rng.choice([Stuff.CONCRETE, Stuff.ASPHALT, Stuff.METAL])), 0.55, Behind.SOIL)
            builder.texture = (rng.uniform(0, 25), rng.uniform(0, 25))
            builder.ground(center - size / 2, center + size / 2, patch, level=0.03)
        for side in sides:
            self._build_houses(builder, side, rng)
            self._place_furniture(builder, side, rng)

    def _build_houses(self, builder: Builder, line: Wall, rng: np.random.Generator) -> None:
        """Houses wall to wall with a gap here and there."""
        along = 0.0
        while along < line.length - 5:
            house = House.sample(rng, self.style)
            width = min(house.width, line.length - along)
            house.build(builder, Wall(line.at(along), line.direction, width, house.height), self.depth)
            along += width
            if rng.random() < 0.35 * self.style.gaps:
                gap = rng.uniform(2, 9)
                if gap > 4:
                    builder.tree(line.at(along + gap / 2, -3.0), rng.uniform(4, 8), rng.uniform(1.4, 2.4), _LEAVES, rng)
                along += gap

    def _place_furniture(self, builder: Builder, line: Wall, rng: np.random.Generator) -> None:
        """Lamps, trees and boxes along the kerb."""
        pace = rng.uniform(9, 24)
        along = pace / 2
        # Lamps and boxes share what trees leave: at a factor of 1, nine to four.
        trees = 0.35 * self.style.vegetation
        while along < line.length:
            place = line.at(along, self.street.pavement - 0.6)
            kind = rng.random()
            if kind < 0.8 - trees:
                builder.pole(place, rng.uniform(3.0, 8.0), 0.18, Finish(Stuff.PAINTED_METAL, 0.5))
            elif kind < 0.8:
                builder.tree(place, rng.uniform(4, 8), rng.uniform(1.0, 2.0), _LEAVES, rng)
            else:
                power = float(rng.choice([0.0, 90.0]))
                builder.box(place, 0.0, rng.uniform(0.5, 1.4, 3), Finish(Stuff.PAINTED_METAL, 0.5, power=power))
            along += pace * rng.uniform(0.5, 1.5)


def _choose_grid(length: float, style: Style) -> Crossings:
    """The grid whose blocks are as long as the style wants them, or the plain one."""
    block = style.block
    if block is None:
        return _GRIDS[0]
    return min(_GRIDS, key=lambda grid: abs(np.log(length / grid.edges / block)))


def _place_traffic(
    kerbs: list[Wall], street: Street, parked: float, builder: Builder, rng: np.random.Generator
) -> None:
    """Parked cars in some of the bays, a few of them warm, and people on the pavement."""
    for line in kerbs:
        heading = float(np.arctan2(line.direction[1], line.direction[0]))
        for along in np.arange(3.0, line.length - 3.0, 6.0):
            if rng.random() < 0.35 * parked:
                builder.car(
                    line.at(along + rng.uniform(-0.4, 0.4), street.pavement + 1.0), heading, rng, rng.random() < 0.2
                )
        if rng.random() < 0.5 * parked:
            builder.person(
                line.at(rng.uniform(0, line.length), 1.2), rng.uniform(0, 6.3), rng.uniform(1.5, 1.9), indoors=False
            )
