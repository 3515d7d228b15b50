"""Building blocks of scenes: walls with what hangs on them, boxes, trees, cars, people."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from tmapr.simulation.materials import Stuff
from tmapr.simulation.scene import Behind, Scene

Vector = Sequence[float | int] | Float[np.ndarray, "_"]

UP = np.array([0.0, 0.0, 1.0])
PROUD = 0.06
"""Metres by which a window or a door stands out from its wall, so that the two never compete for a pixel."""


@dataclass(frozen=True, slots=True)
class Finish:
    """What a surface is, apart from its place."""

    stuff: Stuff
    sky_view: float = 0.45
    behind: Behind = Behind.ITSELF
    power: float = 0.0
    indoors: bool = False


@dataclass(slots=True)
class Builder:
    """Collects surfaces; `texture` is where in the world's texture the next ones begin."""

    _rows: list[
        tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"], Float[np.ndarray, "3"], Finish, tuple[float, float]]
    ] = field(default_factory=list)
    texture: tuple[float, float] = (0.0, 0.0)

    def quad(self, origin: Vector, along: Vector, across: Vector, finish: Finish) -> None:
        """One parallelogram, outward to along × across."""
        corner, a, b = (np.asarray(vector, dtype=float) for vector in (origin, along, across))
        self._rows.append((corner, a, b, finish, self.texture))

    def take(self, other: "Builder") -> None:
        """Add all that another has built."""
        self._rows.extend(other._rows)

    def ground(self, low: Vector, high: Vector, finish: Finish, level: float = 0.0) -> None:
        """A horizontal rectangle between two corners of the plane."""
        (x0, y0), (x1, y1) = low, high
        self.quad((x0, y0, level), (x1 - x0, 0, 0), (0, y1 - y0, 0), finish)

    def box(self, center: Vector, heading: float, size: Vector, finish: Finish, level: float = 0.0) -> None:
        """An upright box: its middle in the plane, and its length along the heading, width and height."""
        length, width, height = size
        ahead = length * np.array([np.cos(heading), np.sin(heading), 0.0])
        left = width * np.array([-np.sin(heading), np.cos(heading), 0.0])
        up, corner = height * UP, np.array([*center, level]) - ahead / 2 - left / 2
        self.quad(corner, ahead, up, finish)
        self.quad(corner + ahead, left, up, finish)
        self.quad(corner + ahead + left, -ahead, up, finish)
        self.quad(corner + left, -left, up, finish)
        self.quad(corner + up, ahead, left, finish)

    def pole(self, place: Vector, height: float, width: float, finish: Finish, level: float = 0.0) -> None:
        """Two crossing strips: from every side as wide as a post."""
        for edge in ((width, 0.0, 0.0), (0.0, width, 0.0)):
            side = np.array(edge)
            self.quad(np.array([*place, level]) - side / 2, side, height * UP, finish)

    def tree(self, place: Vector, height: float, spread: float, leaves: int, rng: np.random.Generator) -> None:
        """A trunk under a crown of leafy patches that face anywhere."""
        trunk = 0.4 * height if spread > 1.0 else 0.15 * height
        self.pole(place, trunk + 0.3 * height, 0.12 * spread, Finish(Stuff.WOOD, 0.5))
        center = np.array([*place, trunk + (height - trunk) / 2])
        for _ in range(leaves):
            offset = _sample_ball(rng) * np.array([spread, spread, (height - trunk) / 2])
            first, second = _sample_axes(rng)
            size = spread * rng.uniform(0.3, 0.7)
            middle = center + offset
            self.quad(middle - size / 2 * (first + second), size * first, size * second, Finish(Stuff.FOLIAGE, 0.6))

    def car(self, place: Vector, heading: float, rng: np.random.Generator, warm: bool) -> None:
        """A body, a cabin of glass and dark wheels; the bonnet of one that just came is warm."""
        length, width = rng.uniform(3.8, 4.8), rng.uniform(1.7, 1.9)
        ahead = np.array([np.cos(heading), np.sin(heading)])
        paint = Finish(Stuff.PAINTED_METAL, 0.55)
        self.box(place, heading, (length, width, 0.62), paint, level=0.28)
        self.box(
            np.asarray(place) - 0.1 * length * ahead,
            heading,
            (0.5 * length, 0.9 * width, 0.55),
            Finish(Stuff.GLASS, 0.5),
            level=0.9,
        )
        for shift in (-0.3, 0.3):
            self.box(
                np.asarray(place) + shift * length * ahead,
                heading,
                (0.6, width + 0.05, 0.6),
                Finish(Stuff.ASPHALT, 0.3),
            )
        if warm:
            hood = np.asarray(place) + 0.36 * length * ahead
            self.box(
                hood,
                heading,
                (0.26 * length, 0.9 * width, 0.03),
                Finish(Stuff.PAINTED_METAL, 0.6, power=250.0),
                level=0.92,
            )

    def person(self, place: Vector, heading: float, height: float, indoors: bool) -> None:
        """Clothes and a warmer head."""
        self.box(place, heading, (0.3, 0.45, 0.82 * height), Finish(Stuff.WOOD, 0.4, power=60.0, indoors=indoors))
        self.box(
            place,
            heading,
            (0.2, 0.2, 0.15 * height),
            Finish(Stuff.WOOD, 0.4, power=110.0, indoors=indoors),
            level=0.83 * height,
        )

    def scene(self) -> Scene:
        """All that was built so far."""
        finishes = [finish for _, _, _, finish, _ in self._rows]
        return Scene(
            np.array([row[0] for row in self._rows]).reshape(-1, 3),
            np.array([row[1] for row in self._rows]).reshape(-1, 3),
            np.array([row[2] for row in self._rows]).reshape(-1, 3),
            np.array([finish.stuff for finish in finishes], dtype=np.int64),
            np.array([finish.sky_view for finish in finishes], dtype=float),
            np.array([finish.indoors for finish in finishes], dtype=bool),
            np.array([finish.behind for finish in finishes], dtype=np.int64),
            np.array([finish.power for finish in finishes], dtype=float),
            np.array([row[4] for row in self._rows], dtype=float).reshape(-1, 2),
        )


@dataclass(frozen=True, slots=True)
class Wall:
    """A vertical plane that things hang on: from a corner along a direction, outward to its right."""

    corner: Float[np.ndarray, "2"]
    direction: Float[np.ndarray, "2"]
    length: float
    height: float

    @property
    def outward(self) -> Float[np.ndarray, "2"]:
        """Where its front faces."""
        return np.array([self.direction[1], -self.direction[0]])

    def at(self, along: float, out: float = 0.0) -> Float[np.ndarray, "2"]:
        """A point of the plane, so far along the wall and so far before it."""
        return self.corner + along * self.direction + out * self.outward

    def build(self, builder: Builder, finish: Finish) -> None:
        """Put up the bare wall."""
        self.hang(builder, (0.0, 0.0), (self.length, self.height), finish, out=0.0)

    def hang(self, builder: Builder, low: Vector, size: Vector, finish: Finish, out: float = PROUD) -> None:
        """A rectangle on the wall: its lower corner (along, up), its width and height."""
        foot = self.at(low[0], out)
        builder.quad((*foot, low[1]), (*(size[0] * self.direction), 0.0), size[1] * UP, finish)


def place_driver(builder: Builder, rng: np.random.Generator) -> None:
    """A car that is driven: at the origin, facing East, its bonnet warm."""
    builder.car((0.0, 0.0), 0.0, rng, warm=True)


def _sample_ball(rng: np.random.Generator) -> Float[np.ndarray, "3"]:
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction) * rng.random() ** (1 / 3)


def _sample_axes(rng: np.random.Generator) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Two random directions at right angles."""
    first, other = rng.normal(size=3), rng.normal(size=3)
    first /= np.linalg.norm(first)
    second = np.cross(first, other)
    return first, second / np.linalg.norm(second)
