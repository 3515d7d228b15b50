"""A campus building: corridors with doors, windows, radiators and lamps, on a grid of cells as wide as a corridor."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from tmapr.simulation.blocks import Builder, Finish, Wall
from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind
from tmapr.simulation.style import Style
from tmapr.simulation.world import Moving, World, sample_seeds

_STUBS = 6
_STRETCH = 8.0
"""Metres."""

CorridorCell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Corridor:
    """Metres."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is repeated along a stretch of a wall, a bay after the other."""

    bay: float
    door: float
    """Width; 0 for none."""
    metal: bool
    window: float
    heater: bool
    things: tuple[tuple[float, float, float, float, Stuff, float], ...]
    """Boards, boxes, machines: share along the bay, height of the foot, width, height, what it is, power."""
    texture: tuple[float, float]

    @classmethod
    def sample(cls, rng: np.random.Generator, style: Style) -> "Stretch":
        """One at random: three in four have doors, half have windows."""
        kinds = (Stuff.WOOD, Stuff.METAL, Stuff.PAINTED_METAL, Stuff.GLASS)
        things = tuple(
            (
                rng.uniform(0, 0.9), rng.uniform(0.2, 1.7), rng.uniform(0.2, 1.4), rng.uniform(0.2, 1.0),
                Stuff(rng.choice(kinds)), float(rng.choice([0.0, 0.0, 0.0, 30.0, 70.0])),
            )
            for _ in range(rng.poisson(1.4))
        )  # fmt: skip
        window = rng.uniform(0.9, 1.8) if rng.random() < 0.5 else 0.0
        return cls(
            bay=style.house_width * rng.uniform(2.8, 5.5),
            door=rng.uniform(0.8, 1.1) if rng.random() < 0.75 else 0.0,
            metal=bool(rng.random() < 0.3),
            window=window,
            heater=bool(window and rng.random() < 0.7),
            things=things,
            texture=(rng.uniform(0, 25), rng.uniform(0, 25)),
        )

    def build(self, builder: Builder, wall: Wall, outside: bool) -> None:
        """Bays along a wall; only an outside wall has windows, and heaters beneath them."""
        builder.texture = self.texture
        for bay in range(int(wall.length / self.bay)):
            start = bay * self.bay
            if self.door and not (outside and self.window):
                stuff = Stuff.PAINTED_METAL if self.metal else Stuff.WOOD
                wall.hang(builder, (start + 0.4, 0.0), (self.door, 2.1), _finish(stuff))
            if self.window and outside:
                wall.hang(builder, (start + 0.5, 1.0), (self.window, 1.4), _finish(Stuff.GLASS, Behind.OUTDOORS))
                if self.heater:
                    wall.hang(
                        builder,
                        (start + 0.5, 0.15),
                        (self.window, 0.6),
                        _finish(Stuff.PAINTED_METAL, power=160.0),
                        0.12,
                    )
            for along, up, width, height, stuff, power in self.things:
                if along * self.bay + width < self.bay:
                    wall.hang(
                        builder, (start + along * self.bay, up), (width, height), _finish(stuff, power=power), 0.1
                    )


def build_campus(rng: np.random.Generator, aliasing: float, length: float | None, style: Style) -> World:
    """A ring of corridors with a cross passage, side corridors, and a way round outside the ring."""
    corridor = Corridor(2.6 * style.street, max(2.3, 2.9 * style.house_height))
    cell = corridor.width
    wide = max(8, round((length or 300.0) / cell / 3.2))
    tall = max(6, round(wide * 0.6))
    cut, reach = wide // 2, 5
    route = [(0, 0), (wide, 0), (wide, tall), (cut, tall), (cut, tall // 2), (0, tall // 2), (0, 0)]
    leave, back = (wide, tall // 4), (wide, tall - tall // 4)
    aside = [leave, (wide + reach, leave[1]), (wide + reach, back[1]), back]
    detour = [*route[:2], *aside, *route[2:]]
    cells = _cells_along(route) | _cells_along(aside)
    for _ in range(_STUBS):
        column, row = sorted(cells)[rng.integers(len(cells))]
        step = [(1, 0), (-1, 0), (0, 1), (0, -1)][rng.integers(4)]
        cells |= {(column + n * step[0], row + n * step[1]) for n in range(int(rng.integers(2, 4)))}
    builder = Builder()
    _lay_floors(builder, cells, corridor, rng)
    walls = _find_walls(cells, corridor, rng)
    for wall, outside in walls:
        builder.texture = (rng.uniform(0, 25), rng.uniform(0, 25))
        leak = rng.uniform(0, 8) * (1 - aliasing)
        wall.build(builder, _finish(Stuff.PLASTER, Behind.OUTDOORS if outside else Behind.ITSELF, leak))
    parts = [(part, outside) for wall, outside in walls for part in _cut(wall)]
    for (part, outside), seed in zip(parts, sample_seeds(len(parts), aliasing, rng), strict=True):
        Stretch.sample(np.random.default_rng(seed), style).build(builder, part, outside)
    ways = [cell * (np.array(way, dtype=float) + 0.5) for way in (route, detour)]
    return World(
        builder.scene(),
        ways[0],
        ways[1],
        turn=1.0,
        speed=style.speed or 1.0,
        passing=partial(_place_people, sorted(cells), cell, style.parked),
        moving=Moving(_build_walker, 1.2, 0.3 * cell, style.moving),
        offset=style.offset,
    )


def _cut(wall: Wall) -> list[Wall]:
    """A wall cut into stretches."""
    count = max(1, round(wall.length / _STRETCH))
    length = wall.length / count
    return [Wall(wall.at(number * length), wall.direction, length, wall.height) for number in range(count)]


def _finish(stuff: Stuff, behind: Behind = Behind.ITSELF, power: float = 0.0) -> Finish:
    return Finish(stuff, 0.0, behind, power, indoors=True)


def _cells_along(way: list[CorridorCell]) -> set[CorridorCell]:
    """The cells under a way of straight legs."""
    cells = set()
    for (x0, y0), (x1, y1) in pairwise(way):
        cells |= {(x, y) for x in range(min(x0, x1), max(x0, x1) + 1) for y in range(min(y0, y1), max(y0, y1) + 1)}
    return cells


def _find_walls(cells: set[CorridorCell], corridor: Corridor, rng: np.random.Generator) -> list[tuple[Wall, bool]]:
    """Where a corridor's cell ends: neighbouring ones in a line are one wall. Some face the open air behind them."""
    walls = []
    # Walking along a wall, the corridor lies to the right: its outward side.
    for step, side in (((1, 0), (0, -1)), ((0, 1), (1, 0)), ((-1, 0), (0, 1)), ((0, -1), (-1, 0))):
        behind = (-side[0], -side[1])
        edge = {cell for cell in cells if (cell[0] + behind[0], cell[1] + behind[1]) not in cells}
        for cell in sorted(edge):
            if (cell[0] - step[0], cell[1] - step[1]) in edge:
                continue
            count = 1
            while (cell[0] + count * step[0], cell[1] + count * step[1]) in edge:
                count += 1
            middle = corridor.width * (np.array(cell) + 0.5)
            direction, out = np.array(step, dtype=float), np.array(side, dtype=float)
            corner = middle - corridor.width / 2 * (direction + out)
            walls.append((Wall(corner, direction, count * corridor.width, corridor.height), bool(rng.random() < 0.5)))
    return walls


def _lay_floors(builder: Builder, cells: set[CorridorCell], corridor: Corridor, rng: np.random.Generator) -> None:
    """Floor and ceiling of every cell, and lamps or pipes under some ceilings."""
    shift = (rng.uniform(0, 25), rng.uniform(0, 25))
    cell, ceiling = corridor.width, corridor.height
    for column, row in sorted(cells):
        x, y = cell * column, cell * row
        builder.texture = (shift[0] + x, shift[1] + y)
        builder.ground((x, y), (x + cell, y + cell), _finish(Stuff.FLOOR))
        builder.quad((x, y, ceiling), (0, cell, 0), (cell, 0, 0), _finish(Stuff.PLASTER))
        if (column + row) % 3 == 0:
            lamp = _finish(Stuff.GLASS, power=float(rng.choice([25.0, 45.0])))
            builder.ground((x + 0.9, y + 0.6), (x + 1.7, y + 2.0), lamp, level=ceiling - 0.05)


def _build_walker(builder: Builder, rng: np.random.Generator) -> None:
    builder.person((0.0, 0.0), 0.0, rng.uniform(1.5, 1.9), indoors=True)


def _place_people(
    cells: list[CorridorCell], width: float, crowd: float, builder: Builder, rng: np.random.Generator
) -> None:
    """People along the walls, and carts."""
    count = round(crowd * max(2, len(cells) // 25))
    for number in rng.choice(len(cells), size=count, replace=False):
        place = width * (np.array(cells[number]) + 0.5) + rng.uniform(0.7, 0.95, 2) * rng.choice([-1, 1], 2)
        if rng.random() < 0.5:
            builder.person(place, rng.uniform(0, 6.3), rng.uniform(1.5, 1.9), indoors=True)
        else:
            builder.box(place, 0.0, (0.6, 0.5, 1.0), _finish(Stuff.METAL))
