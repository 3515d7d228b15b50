"""One environment: what stands there, where one drives, and what changes between traverses."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from tmapr.simulation.blocks import Builder
from tmapr.simulation.movers import Movers
from tmapr.simulation.scene import Scene, join_scenes

Point = Float[np.ndarray, "2"]
Corners = Float[np.ndarray, "corners 2"]


@dataclass(frozen=True, slots=True)
class Moving:
    """What comes along the route while one drives."""

    build: Callable[[Builder, np.random.Generator], None]
    """Puts up one at the origin, facing East."""
    speed: float
    """m/s, typical."""
    lane: float
    """Metres from the route's middle, to the right of where they go."""
    density: float
    """For 100 m of the route."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of the route from start to stop as it is driven; two of one look are copies of each other."""

    ends: Float[np.ndarray, "2 2"]
    look: int


@dataclass(frozen=True, slots=True)
class World:
    """One environment. `route` is a closed way; `detour` the same with a part of it off the mapped streets."""

    fixed: Scene
    route: Corners
    detour: Float[np.ndarray, "detoured 2"]
    turn: float
    """Metres: the radius at which corners are taken."""
    speed: float
    """m/s, typical."""
    passing: Callable[[Builder, np.random.Generator], None]
    """Puts up what stands differently on every traverse: cars, people."""
    moving: Moving | None = None
    offset: float = 0.0
    """Metres beside the route's middle that a traverse keeps, at most."""
    angle: float = 0.0
    """By which all was turned after it was built."""
    twins: tuple[Float[np.ndarray, "2 2"], ...] = ()
    """Stretches of the detour that repeat one of the route's, house for house and passed in the same direction."""
    passages: tuple[Passage, ...] = ()
    """The streets of the route, where a world is made of streets."""

    def scene(self, traverse: int) -> Scene:
        """Everything as it stands on a traverse."""
        builder = Builder()
        self.passing(builder, np.random.default_rng(traverse))
        return join_scenes([self.fixed, _rotate_scene(builder.scene(), self.angle)])

    def movers(self, traverse: int) -> Movers | None:
        """What moves on a traverse; as much of it comes towards one as goes the same way."""
        length = np.hypot(*np.diff(self.route, axis=0).T).sum()
        count = round(self.moving.density * length / 100) if self.moving else 0
        if not self.moving or not count:
            return None
        rng = np.random.default_rng([traverse, _MOVING])
        shapes = []
        for _ in range(count):
            builder = Builder(texture=(rng.uniform(0, 25), rng.uniform(0, 25)))
            self.moving.build(builder, rng)
            shapes.append(builder.scene())
        rows = np.repeat(np.arange(count), [len(shape) for shape in shapes])
        paces = self.moving.speed * rng.uniform(0.6, 1.4, count) * rng.choice([-1, 1], count)
        return Movers(
            join_scenes(shapes), self.route, rng.uniform(0, length, count)[rows], paces[rows], self.moving.lane
        )

    def rotate(self, angle: float) -> "World":
        """The same environment under another compass direction: the sun sees other walls."""
        return replace(
            self,
            fixed=_rotate_scene(self.fixed, angle),
            route=_rotate(self.route, angle),
            detour=_rotate(self.detour, angle),
            angle=self.angle + angle,
            twins=tuple(_rotate(twin, angle) for twin in self.twins),
            passages=tuple(replace(each, ends=_rotate(each.ends, angle)) for each in self.passages),
        )


def _rotate_scene(scene: Scene, angle: float) -> Scene:
    edges = (_rotate(edge, angle) for edge in (scene.origin, scene.along, scene.across))
    return replace(scene, **dict(zip(("origin", "along", "across"), edges, strict=True)))


def _rotate(vectors: Float[np.ndarray, "n axes"], angle: float) -> Float[np.ndarray, "n axes"]:
    """Turned counter-clockwise about the vertical."""
    x, y, *rest = vectors.T
    return np.stack([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y, *rest], axis=1)


def sample_seeds(count: int, aliasing: float, rng: np.random.Generator) -> list[int]:
    """Seeds for so many parts of an environment; a share `aliasing` of them, at random, are those of two originals."""
    originals = rng.integers(2**62, size=_ORIGINALS)
    own = rng.integers(2**62, size=count)
    return np.where(rng.random(count) < aliasing, rng.choice(originals, size=count), own).tolist()


_ORIGINALS = 2
_MOVING = 3
"""What a traverse's seed is used for here, apart from what it is used for elsewhere."""
