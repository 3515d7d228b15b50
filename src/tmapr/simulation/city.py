"""A city: streets between blocks of houses, a route that crosses itself, parked cars."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, pairwise

import numpy as np
from jaxtyping import Float

from tmapr.simulation.blocks import Builder, Finish, Wall
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind
from tmapr.simulation.world import Point, World, sample_seeds

ROAD, KERB = 4.5, 7.5
"""Metres from the middle of a street to the edge of the carriageway and to the facades."""

_ROUTE = ((0, 0), (1, 0), (1, 2), (2, 2), (2, 1), (0, 1), (0, 0))
_DETOUR = ((0, 0), (1, 0), (1, 2), (2, 2), (3, 2), (3, 1), (2, 1), (0, 1), (0, 0))
_COLUMNS, _ROWS = 4, 3
_EDGES = 8  # of the route, one block long each
_LEAVES = 20
_DEPTH = 12.0
"""Metres that houses reach back from their facades, where there is room."""


@dataclass(frozen=True, slots=True)
class House:
    """A facade and what is repeated on it."""

    width: float
    height: float
    stuff: Stuff
    floor: float
    spacing: float
    window: tuple[float, float]
    door: float
    """Where along the facade, as a share."""
    shop: bool
    units: tuple[tuple[float, float], ...]
    """Air conditioners: shares of width and height."""
    texture: tuple[float, float]
    leak: float
    """W/m² that a badly insulated wall lets through."""
    lit: tuple[float, ...]
    """W/m² behind one window after the other: curtains, lamps, ovens."""

    @classmethod
    def sample(cls, rng: np.random.Generator) -> "House":
        """One at random, of two to six storeys."""
        return cls(
            width=rng.uniform(9, 20),
            height=rng.choice([2, 3, 3, 4, 5, 6]) * rng.uniform(2.9, 3.4),
            stuff=Stuff(rng.choice([Stuff.BRICK, Stuff.CONCRETE, Stuff.PLASTER, Stuff.PLASTER, Stuff.WOOD])),
            floor=rng.uniform(2.9, 3.4),
            spacing=rng.uniform(2.2, 4.5),
            window=(rng.uniform(0.8, 1.9), rng.uniform(1.0, 1.8)),
            door=rng.uniform(0.1, 0.85),
            shop=bool(rng.random() < 0.35),
            units=tuple((rng.uniform(0.05, 0.9), rng.uniform(0.3, 0.9)) for _ in range(rng.poisson(1.2))),
            texture=(rng.uniform(0, 25), rng.uniform(0, 25)),
            leak=rng.uniform(0, 12),
            lit=tuple(rng.gamma(0.5, 25, size=11).tolist()),
        )

    def build(self, builder: Builder, wall: Wall, depth: float) -> None:
        """The front with windows, door, shop and air conditioners, and the two sides."""
        builder.texture = self.texture
        finish = Finish(self.stuff, 0.35, Behind.ROOM, self.leak)
        wall.build(builder, finish)
        for side, direction in ((wall.at(wall.length), -wall.outward), (wall.at(0.0, -depth), wall.outward)):
            Wall(side, direction, depth, wall.height).build(builder, finish)
        self._hang_windows(builder, wall)
        door = Finish(Stuff.WOOD, 0.3, Behind.ROOM)
        wall.hang(builder, (self.door * (wall.length - 1.3), 0.0), (1.2, 2.2), door)
        if self.shop:
            wall.hang(
                builder, (0.08 * wall.length, 0.5), (0.6 * wall.length, 2.0), Finish(Stuff.GLASS, 0.3, Behind.ROOM)
            )
        for along, up in self.units:
            unit = Finish(Stuff.PAINTED_METAL, 0.4, power=180.0)
            wall.hang(builder, (along * (wall.length - 1), up * (wall.height - 1)), (0.9, 0.7), unit, out=0.3)

    def _hang_windows(self, builder: Builder, wall: Wall) -> None:
        power = cycle(self.lit)
        count = int((wall.length - 1.0) / self.spacing)
        margin = (wall.length - count * self.spacing + self.spacing - self.window[0]) / 2
        for storey in range(1 if self.shop else 0, int(wall.height / self.floor)):
            for number in range(count):
                low = (margin + number * self.spacing, storey * self.floor + 1.0)
                if low[1] + self.window[1] < wall.height and (storey or abs(low[0] - self.door * wall.length) > 1.5):
                    wall.hang(builder, low, self.window, Finish(Stuff.GLASS, 0.35, Behind.ROOM, next(power)))


def build_city(rng: np.random.Generator, aliasing: float, length: float | None) -> World:
    """Blocks about an eighth of the route long."""
    block = (length or 640.0) / _EDGES
    uneven = 0.15 * (1 - aliasing)
    xs, ys = (_crossings(block * rng.uniform(1 - uneven, 1 + uneven, n - 1)) for n in (_COLUMNS, _ROWS))
    builder = Builder()
    _lay_grounds(builder, xs, ys)
    segments = _segments(xs, ys)
    # Houses of two streets stand back to back in a block.
    depth = float(min(_DEPTH, np.diff(xs).min() / 2 - KERB, np.diff(ys).min() / 2 - KERB))
    kerbs = [_sides(*segment) for segment in segments]
    seeds = sample_seeds(len(segments), aliasing, rng)
    for segment, sides, seed in zip(segments, kerbs, seeds, strict=True):
        _build_street(builder, segment, sides, depth, np.random.default_rng(seed))
    route, detour = (np.array([(xs[i], ys[j]) for i, j in way]) for way in (_ROUTE, _DETOUR))
    return World(
        builder.scene(),
        route,
        detour,
        turn=6.0,
        speed=8.0,
        passing=partial(_place_traffic, [side for sides in kerbs for side in sides]),
        twins=_find_twins(segments, seeds, route, detour),
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


def _sides(start: Point, stop: Point) -> list[Wall]:
    """The lines of the facades on both sides of a street, each facing it."""
    reach = float(np.hypot(*(stop - start)))
    ahead = (stop - start) / reach
    left = np.array([-ahead[1], ahead[0]])
    first = Wall(start + KERB * (ahead + left), ahead, reach - 2 * KERB, 0.0)
    return [first, Wall(stop - KERB * (ahead + left), -ahead, reach - 2 * KERB, 0.0)]


def _lay_grounds(builder: Builder, xs: Float[np.ndarray, " n"], ys: Float[np.ndarray, " m"]) -> None:
    """Lawns, pavements on them, carriageways on these."""
    low, high = np.array([xs[0], ys[0]]) - 80, np.array([xs[-1], ys[-1]]) + 80
    builder.ground(low, high, Finish(Stuff.GRASS, 0.7, Behind.SOIL), level=-0.04)
    for width, stuff, level in ((KERB, Stuff.CONCRETE, -0.02), (ROAD, Stuff.ASPHALT, 0.0)):
        finish = Finish(stuff, 0.55, Behind.SOIL)
        for x in xs:
            builder.ground((x - width, low[1]), (x + width, high[1]), finish, level)
        for y in ys:
            builder.ground((low[0], y - width), (high[0], y + width), finish, level + 0.005)


def _build_street(
    builder: Builder, segment: tuple[Point, Point], sides: list[Wall], depth: float, rng: np.random.Generator
) -> None:
    """Patches and manholes in the carriageway, and both sides."""
    start, stop = segment
    ahead = (stop - start) / np.hypot(*(stop - start))
    for _ in range(rng.poisson(5)):
        along, aside = rng.uniform(KERB, np.hypot(*(stop - start)) - KERB), rng.uniform(-3, 3)
        center, size = start + along * ahead + aside * np.array([-ahead[1], ahead[0]]), rng.uniform(0.4, 2.5, 2)
        patch = Finish(Stuff(rng.choice([Stuff.CONCRETE, Stuff.ASPHALT, Stuff.METAL])), 0.55, Behind.SOIL)
        builder.texture = (rng.uniform(0, 25), rng.uniform(0, 25))
        builder.ground(center - size / 2, center + size / 2, patch, level=0.03)
    for side in sides:
        _build_houses(builder, side, depth, rng)
        _place_furniture(builder, side, rng)


def _build_houses(builder: Builder, line: Wall, depth: float, rng: np.random.Generator) -> None:
    """Houses wall to wall with a gap here and there."""
    along = 0.0
    while along < line.length - 5:
        house = House.sample(rng)
        width = min(house.width, line.length - along)
        house.build(builder, Wall(line.at(along), line.direction, width, house.height), depth)
        along += width
        if rng.random() < 0.35:
            gap = rng.uniform(2, 9)
            if gap > 4:
                builder.tree(line.at(along + gap / 2, -3.0), rng.uniform(4, 8), rng.uniform(1.4, 2.4), _LEAVES, rng)
            along += gap


def _place_furniture(builder: Builder, line: Wall, rng: np.random.Generator) -> None:
    """Lamps, trees and boxes along the kerb."""
    pace = rng.uniform(9, 24)
    along = pace / 2
    while along < line.length:
        place = line.at(along, KERB - ROAD - 0.6)
        kind = rng.random()
        if kind < 0.45:
            builder.pole(place, rng.uniform(3.0, 8.0), 0.18, Finish(Stuff.PAINTED_METAL, 0.5))
        elif kind < 0.8:
            builder.tree(place, rng.uniform(4, 8), rng.uniform(1.0, 2.0), _LEAVES, rng)
        else:
            power = float(rng.choice([0.0, 90.0]))
            builder.box(place, 0.0, rng.uniform(0.5, 1.4, 3), Finish(Stuff.PAINTED_METAL, 0.5, power=power))
        along += pace * rng.uniform(0.5, 1.5)


def _place_traffic(kerbs: list[Wall], builder: Builder, rng: np.random.Generator) -> None:
    """Parked cars in some of the bays, a few of them warm, and people on the pavement."""
    for line in kerbs:
        heading = float(np.arctan2(line.direction[1], line.direction[0]))
        for along in np.arange(3.0, line.length - 3.0, 6.0):
            if rng.random() < 0.35:
                builder.car(
                    line.at(along + rng.uniform(-0.4, 0.4), KERB - ROAD + 1.0), heading, rng, rng.random() < 0.2
                )
        if rng.random() < 0.5:
            builder.person(
                line.at(rng.uniform(0, line.length), 1.2), rng.uniform(0, 6.3), rng.uniform(1.5, 1.9), indoors=False
            )
