"""A valley: a road through meadows with trees and rocks, here and there a hut, ridges on the horizon."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from tmapr.simulation.blocks import Builder, Finish, Wall, place_driver
from tmapr.simulation.materials import Stuff
from tmapr.simulation.route import Way
from tmapr.simulation.scene import Behind, Scene
from tmapr.simulation.style import Style
from tmapr.simulation.world import Corners, Moving, Point, World, sample_seeds

_ROAD, _TURN = 3.0, 12.0
_FREE = 2.0
"""Metres from where one drives to what stands beside it, at least."""

_STRETCH = 3
"""Legs of the road that are copied together."""

_OPEN = 0.9


def build_valley(rng: np.random.Generator, aliasing: float, length: float | None, style: Style) -> World:
    """A closed winding road; what stands beside it comes in groves, some of them copies."""
    route = _wind(rng, length or 1000.0, _count_bends(length or 1000.0, style))
    branch, out = (len(route) - 1) // 2, (len(route) - 1) // 4
    detour = _branch_off(route, branch, out)
    road = _ROAD * style.street
    builder = Builder()
    _lay_meadows(builder, route, rng)
    _lay_road(builder, route, road)
    _lay_road(builder, detour[branch - 1 : branch + out + 1], road)
    driven = np.concatenate([_sample_way(way) for way in (route, detour)])
    center = route.mean(axis=0)
    _raise_ridges(builder, center, float(np.hypot(*(driven - center).T).max()), rng)
    for way in (route, detour[branch : branch + out]):
        stretches = range(0, len(way) - 1, _STRETCH)
        for start, seed in zip(stretches, sample_seeds(len(stretches), aliasing, rng), strict=True):
            groves = Groves(road, driven, style)
            groves.plant(builder, way[start : start + _STRETCH + 1], np.random.default_rng(seed))
    return World(
        builder.scene(),
        route,
        detour,
        turn=_TURN,
        speed=style.speed or 8.0,
        passing=partial(_park_cars, route, road, round(3 * style.parked)),
        moving=Moving(place_driver, style.speed or 8.0, max(0.8 * road, 2.3), style.moving),
        offset=style.offset,
    )


def _count_bends(length: float, style: Style) -> int:
    """A multiple of twelve: the way round begins half way and takes a quarter."""
    return 12 * min(max(2, round(length / style.block / 12)), 8) if style.block else 48


def _wind(rng: np.random.Generator, length: float, bends: int) -> Corners:
    """A loop about a circle, drawn in and out by a few waves, without sharp bends."""
    angles = np.linspace(0, 2 * np.pi, bends + 1)
    radius = np.ones_like(angles)
    for wave in (2, 3, 5):
        radius += rng.uniform(0.05, 0.3) / wave * np.sin(wave * angles + rng.uniform(0, 6.3))
    loop = radius[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    loop[-1] = loop[0]  # to the last bit
    return loop * length / np.sum(np.hypot(*np.diff(loop, axis=0).T))


def _branch_off(route: Corners, branch: int, out: int) -> Corners:
    """A quarter of the loop replaced by a wider way round outside of it."""
    center, part = route.mean(axis=0), slice(branch, branch + out)
    wider = 1 + 0.6 * np.sin(np.linspace(0, np.pi, out)) ** 0.5
    around = center + (route[part] - center) * wider[:, None]
    return np.concatenate([route[:branch], around, route[branch + out :]])


def _lay_meadows(builder: Builder, route: Corners, rng: np.random.Generator) -> None:
    low, high = route.min(axis=0) - 500, route.max(axis=0) + 500
    builder.ground(low, high, Finish(Stuff.GRASS, 0.95, Behind.SOIL), level=-0.05)
    for _ in range(60):
        center, size = rng.uniform(low + 350, high - 350), rng.uniform(4, 40, 2)
        stuff = Stuff(rng.choice([Stuff.SOIL, Stuff.SOIL, Stuff.GRASS, Stuff.ROCK]))
        builder.texture = (rng.uniform(0, 25), rng.uniform(0, 25))
        level = rng.uniform(-0.045, -0.02)
        builder.ground(center - size / 2, center + size / 2, Finish(stuff, _OPEN, Behind.SOIL), level)


def _lay_road(builder: Builder, way: Corners, road: float) -> None:
    """One slab a leg, each a little longer than it so that bends have no gap."""
    for start, stop in pairwise(way):
        leg = stop - start
        reach = float(np.hypot(*leg))
        ahead = leg / reach
        left = np.array([-ahead[1], ahead[0]])
        corner = start - 0.5 * ahead - road * left
        builder.texture = (start[0] % 25, start[1] % 25)
        edge = (*((reach + 1.0) * ahead), 0.0)
        builder.quad((*corner, 0.0), edge, (*(2 * road * left), 0.0), Finish(Stuff.ASPHALT, _OPEN, Behind.SOIL))


def _raise_ridges(builder: Builder, center: Point, reach: float, rng: np.random.Generator) -> None:
    """Two rows of slopes all around, far away and never nearer than the ways reach."""
    beyond = max(0.0, (reach + 10.0) / 0.85 - 330.0)
    for distance, height in ((330.0 + beyond, 22.0), (560.0 + beyond, 60.0)):
        angles = np.cumsum(rng.uniform(0.08, 0.3, 80))
        for angle in angles[angles < 2 * np.pi]:
            middle = center + distance * rng.uniform(0.85, 1.15) * np.array([np.cos(angle), np.sin(angle)])
            side = np.array([-np.sin(angle), np.cos(angle)])
            width, top = distance * rng.uniform(0.2, 0.45), height * rng.uniform(0.25, 1.0)
            back = 1.5 * top * np.array([np.cos(angle), np.sin(angle)])
            builder.texture = (rng.uniform(0, 25), rng.uniform(0, 25))
            stuff = Stuff(rng.choice([Stuff.GRASS, Stuff.FOLIAGE, Stuff.ROCK]))
            foot = middle - width / 2 * side
            builder.quad((*foot, -0.5), (*(width * side), 0.0), (*back, top), Finish(stuff, 0.8, Behind.SOIL))


def _sample_way(way: Corners) -> Float[np.ndarray, "n 2"]:
    """Points a metre apart of the way as it is taken."""
    taken = Way(way, _TURN)
    return taken.round_corners(np.arange(0.0, taken.legs.sum()))[0]


@dataclass(frozen=True, slots=True)
class Groves:
    """What stands beside a road."""

    road: float
    """Metres from its middle to its edge."""
    driven: Float[np.ndarray, "n 2"]
    style: Style

    def plant(self, builder: Builder, way: Corners, rng: np.random.Generator) -> None:
        """Along every leg, on either side, something or nothing; what would stand in the way is left out."""
        for start, stop in pairwise(way):
            ahead = (stop - start) / np.hypot(*(stop - start))
            for sign in (-1.0, 1.0):
                if rng.random() < 0.6:
                    for thing in self._make_things(start, ahead, sign * np.array([-ahead[1], ahead[0]]), rng):
                        if _stands_clear(thing.scene(), self.driven):
                            builder.take(thing)

    def _make_things(self, start: Point, ahead: Point, out: Point, rng: np.random.Generator) -> Iterator[Builder]:
        """Thing after thing: trees, bushes, rocks, posts, huts."""
        for _ in range(rng.poisson(1.6 * (0.4 + 0.6 * self.style.vegetation))):
            place = start + rng.uniform(0, 16) * ahead + (self.road + rng.gamma(1.5, 9.0) + 2.0) * out
            kind = rng.random()
            thing = Builder(texture=(rng.uniform(0, 25), rng.uniform(0, 25)))
            if kind < 0.42:
                thing.tree(place, rng.uniform(3, 9), rng.uniform(1.0, 2.8), 24, rng)
            elif kind < 0.75:
                thing.tree(place, rng.uniform(0.8, 2.0), rng.uniform(0.5, 1.0), 8, rng)
            elif kind < 0.9:
                size = rng.uniform(0.5, 2.5, 3) * np.array([1, 1, 0.6])
                thing.box(place, rng.uniform(0, 3), size, Finish(Stuff.ROCK, 0.7, Behind.SOIL))
            elif kind < 0.96:
                thing.pole(start + (self.road + 1.0) * out, rng.uniform(2, 7), 0.2, Finish(Stuff.PAINTED_METAL, 0.8))
            else:
                _build_hut(thing, place, self.style, rng)
            yield thing


def _stands_clear(thing: Scene, driven: Float[np.ndarray, "n 2"]) -> bool:
    corners = [thing.origin + a * thing.along + b * thing.across for a in (0, 1) for b in (0, 1)]
    middle = thing.centers.mean(axis=0)[:2]
    reach = np.hypot(*(np.concatenate(corners)[:, :2] - middle).T).max()
    return bool(np.hypot(*(driven - middle).T).min() > reach + _FREE)


def _build_hut(builder: Builder, place: Point, style: Style, rng: np.random.Generator) -> None:
    factors = np.array([style.house_width, style.house_width, style.house_height])
    size = factors * np.array([rng.uniform(4, 9), rng.uniform(3, 6), rng.uniform(2.4, 4)])
    heading = float(rng.uniform(0, np.pi))
    stuff = Stuff(rng.choice([Stuff.WOOD, Stuff.BRICK, Stuff.CONCRETE]))
    builder.box(place, heading, size, Finish(stuff, 0.5, Behind.ROOM))
    ahead = np.array([np.cos(heading), np.sin(heading)])
    left = np.array([-ahead[1], ahead[0]])
    corners = (place - size[0] / 2 * ahead - size[1] / 2 * left, place + size[0] / 2 * ahead + size[1] / 2 * left)
    for corner, direction in zip(corners, (ahead, -ahead), strict=True):
        wall = Wall(corner, direction, float(size[0]), float(size[2]))
        wall.hang(builder, (0.5, 0.9), (1.0, 0.9), Finish(Stuff.GLASS, 0.5, Behind.ROOM))
        wall.hang(builder, (2.2, 0.0), (1.0, 2.0), Finish(Stuff.WOOD, 0.5, Behind.ROOM))
    builder.box(place, heading, (*(size[:2] + 0.6), 0.15), Finish(Stuff.METAL, 0.9), level=float(size[2]))


def _park_cars(route: Corners, road: float, count: int, builder: Builder, rng: np.random.Generator) -> None:
    """A few cars at the roadside."""
    for number in rng.choice(len(route) - 1, size=count, replace=False):
        leg = route[number + 1] - route[number]
        heading = float(np.arctan2(leg[1], leg[0]))
        out = np.array([-np.sin(heading), np.cos(heading)]) * rng.choice([-1, 1])
        builder.car(route[number] + (road + 1.2) * out, heading, rng, bool(rng.random() < 0.5))
