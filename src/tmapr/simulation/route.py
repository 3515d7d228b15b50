"""Where the camera is at every frame, and when: a drive around a block, or a lap of a rendered world.

A lap follows a closed way whose corners are rounded by a moving average, P = route ∗ k with Epanechnikov's kernel
k(s) = ¾ (1 − s²/h²)/h on |s| ≤ h. Straights stay where they are, and the curvature has no steps. With F and R the
kernel integrated once and twice and dᵢ the direction of leg i, which ends at sᵢ,

    P(s) = P₀ + d₀ s + Σ (dᵢ₊₁ − dᵢ) R(s − sᵢ),    P′ = d₀ + Σ (dᵢ₊₁ − dᵢ) F(s − sᵢ),    P″ = Σ (dᵢ₊₁ − dᵢ) k(s − sᵢ).

The vehicle wanders by w(s) to the left of P and heads where it goes, along |P′| (1 − κ w) ahead + w′ to the left.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from tmapr.data.poses import Poses, wrap_angles
from tmapr.types import NANOSECONDS

_START = 1_700_000_000 * NANOSECONDS
_INTERVALS = np.array([66_000_000, 132_000_000])  # what an MS2 camera does
RECORDED = float(_INTERVALS.mean() / NANOSECONDS)
"""Seconds from image to image of a camera, before any are left out."""

_KNOT, _TICK = 0.1, 0.0125
"""Metres between the points of the way at which the time is computed, and seconds for those who drive faster."""

_SLOWER = 3.0
"""In a bend as sharp as the way's `turn` the speed is divided by √(1 + this)."""

_STOPS = (0, 0, 1, 2, 3)
"""How often a lap is interrupted; each is as likely."""

_WAITS = (3.0, 8.0)
"""Seconds that a stop takes."""

_BRAKING = 1.5
"""m/s²"""

_SWAY = float(np.radians(0.7))
"""Bound of pitch and roll, 2.4 times their standard deviation."""


def block_loop(width: float, height: float) -> Float[np.ndarray, "corners 2"]:
    """A closed rectangle with its start in the middle of a side."""
    return np.array([[0, 0], [width / 2, 0], [width / 2, height], [-width / 2, height], [-width / 2, 0], [0, 0]])


def drive(
    corners: Float[np.ndarray, "corners 2"], speed: float, rng: np.random.Generator, wander: float = 0.5
) -> Poses:
    """Follow the corners at about `speed`, with irregular frames and a slow sideways wander in metres."""
    legs = np.hypot(*np.diff(corners, axis=0).T)
    ends = np.concatenate([[0.0], np.cumsum(legs)])
    count = int(ends[-1] / speed / (_INTERVALS.mean() / NANOSECONDS))
    gaps = rng.choice(_INTERVALS, size=count)
    paces = speed * (1 + 0.1 * np.sin(np.linspace(0, 20, count) + rng.uniform(0, 6)))
    travelled = np.minimum(np.cumsum(paces * gaps / NANOSECONDS), ends[-1])
    center = np.stack([np.interp(travelled, ends, corners[:, axis]) for axis in (0, 1)], axis=1)
    ahead = np.stack([np.interp(travelled + 0.5, ends, corners[:, axis]) for axis in (0, 1)], axis=1)
    behind = np.stack([np.interp(travelled - 0.5, ends, corners[:, axis]) for axis in (0, 1)], axis=1)
    tangent = ahead - behind
    headings = np.arctan2(tangent[:, 1], tangent[:, 0])
    side = wander * np.sin(travelled / 15 + rng.uniform(0, 6))
    sideways = side[:, None] * np.stack([-np.sin(headings), np.cos(headings)], axis=1)
    return Poses(_START + np.cumsum(gaps), center + sideways, headings)


@dataclass(frozen=True, slots=True)
class Wave:
    """A slow function of the way: the mean of a few sines, never farther than `bound` from its level."""

    bound: float
    numbers: Float[np.ndarray, " sines"]
    """Radians per metre."""
    phases: Float[np.ndarray, " sines"]
    level: float = 0.0
    """About which it swings."""

    @classmethod
    def sample(cls, rng: np.random.Generator, bound: float, shortest: float, sines: int = 3) -> "Wave":
        """Wave lengths from `shortest`, in metres, to four times as long."""
        return cls(bound, 2 * np.pi / (shortest * rng.uniform(1, 4, sines)), rng.uniform(0, 2 * np.pi, sines))

    def at(self, along: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Its value at metres along the way."""
        return self.level + self.bound * np.sin(along[:, None] * self.numbers + self.phases).mean(axis=1)

    def slope(self, along: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Its derivative by the metres along the way."""
        return self.bound * (self.numbers * np.cos(along[:, None] * self.numbers + self.phases)).mean(axis=1)


@dataclass(frozen=True, slots=True)
class Way:
    """A closed route. Right angles are taken at the radius `turn` in metres, gentler bends at larger ones."""

    corners: Float[np.ndarray, "corners 2"]
    turn: float

    def __post_init__(self) -> None:
        if not np.allclose(self.corners[0], self.corners[-1], atol=1e-6):
            raise ValueError(f"a way must end where it starts, at {self.corners[0]}, got {self.corners[-1]}")
        if not self.legs.all():
            raise ValueError("corners that follow each other must differ")

    @property
    def legs(self) -> Float[np.ndarray, " legs"]:
        """Lengths from corner to corner."""
        return np.hypot(*np.diff(self.corners, axis=0).T)

    def round_corners(
        self, along: Float[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2"]]:
        """P, P′ and P″ at metres along the first or the second lap."""
        # Bends reach across the start, so a lap before and a lap after are laid out too.
        length, half = self.legs.sum(), 3 / np.sqrt(2) * self.turn
        ends = np.cumsum(np.tile(self.legs, 4)) - length
        directions = np.tile(np.diff(self.corners, axis=0) / self.legs[:, None], (4, 1))
        changes = np.diff(directions, axis=0)
        since = along[:, None] - ends[:-1]
        u = np.clip(since / half, -1, 1)
        ramp = np.where(since > half, since, half * (3 + 8 * u + 6 * u**2 - u**4) / 16)
        points = self.corners[0] + (along[:, None] + length) * directions[0] + ramp @ changes
        velocity = directions[0] + (2 + 3 * u - u**3) / 4 @ changes
        return points, velocity, 0.75 * (1 - u**2) / half @ changes

    def curvature(self, along: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """κ of the rounded way in 1/m, positive to the left."""
        _, (x, y), (turning_x, turning_y) = (each.T for each in self.round_corners(along))
        return (x * turning_y - y * turning_x) / np.hypot(x, y) ** 3


@dataclass(frozen=True, slots=True)
class Motion:
    """One lap: how far along the way the vehicle is at any time, and how it strays from it.

    Pitch and roll are functions of the way too, so that nothing moves in a stop.
    """

    way: Way
    wander: Wave
    pitch: Wave
    roll: Wave
    seconds: Float[np.ndarray, " knots"]
    along: Float[np.ndarray, " knots"]
    """At those seconds; the same at both ends of a stop."""

    @property
    def duration(self) -> float:
        """Seconds that the lap takes, stops included."""
        return float(self.seconds[-1])

    def distance_at(self, seconds: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Metres along the way, corners not rounded."""
        return np.interp(seconds, self.seconds, self.along)

    def poses_at(self, along: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
        """Positions, and headings in (−π, π]."""
        return stray(self.way, self.wander, along)


def stray(
    way: Way, wander: Wave, along: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
    """Positions beside the rounded way, and the direction in which they go on."""
    points, velocity, _ = way.round_corners(along)
    aside, reach = wander.at(along), np.hypot(*velocity.T)
    left = np.stack([-velocity[:, 1], velocity[:, 0]], axis=1) / reach[:, None]
    turned = np.arctan2(wander.slope(along), reach * (1 - way.curvature(along) * aside))
    return points + aside[:, None] * left, wrap_angles(np.arctan2(velocity[:, 1], velocity[:, 0]) + turned)


def sample_lap(way: Way, speed: float, wander: float, rng: np.random.Generator, offset: float = 0.0) -> Motion:
    """Once around at about `speed` m/s from the middle of the first leg, at most `wander` metres beside its line.

    The line lies `offset` metres to the left of the way.

    Bends are taken slower, and most laps have a stop or more.
    """
    start = way.legs[0] / 2
    along = np.linspace(start, start + way.legs.sum(), 1 + int(np.ceil(way.legs.sum() / max(_KNOT, _TICK * speed))))
    straying = replace(Wave.sample(rng, wander, shortest=max(60 * wander, 1.0)), level=offset)
    pitch, roll = Wave.sample(rng, _SWAY, shortest=8.0), Wave.sample(rng, _SWAY, shortest=12.0)
    speeds = speed * (1 + Wave.sample(rng, 0.25, shortest=15 * speed).at(along))
    speeds /= np.sqrt(1 + _SLOWER * np.abs(way.curvature(along)) * way.turn)
    stops = rng.choice(len(along) - 2, size=rng.choice(_STOPS), replace=False) + 1
    for stop in stops:
        # Even braking: the speed goes with the root of the distance, and the last centimetres at a crawl.
        braked = np.sqrt(2 * _BRAKING * np.abs(along - along[stop]))
        speeds = np.minimum(speeds, np.maximum(braked, 0.05 * speed))
    steps = np.hypot(*np.diff(stray(way, straying, along)[0], axis=0).T)
    waits = np.zeros_like(along)
    waits[stops] = rng.uniform(*_WAITS, len(stops))
    moving = np.concatenate([[0.0], np.cumsum(2 * steps / (speeds[1:] + speeds[:-1]))])
    going_on = moving + np.cumsum(waits)
    knots = np.stack([going_on - waits, going_on], axis=1).ravel()
    return Motion(way, straying, pitch, roll, knots, np.repeat(along, 2))


def frame_times(duration: float, count: int, rng: np.random.Generator) -> Int[np.ndarray, " {count}"]:
    """Nanoseconds since the start of `count` images that cover the duration evenly.

    They are picked from those of a camera with irregular intervals; for more images than that takes, it is faster.
    """
    taken = max(count, round(duration / RECORDED))
    gaps = rng.choice(_INTERVALS, size=taken)
    ticks = (np.cumsum(gaps) - gaps) * (duration / gaps.sum())
    return np.rint(ticks * NANOSECONDS).astype(np.int64)[np.arange(count) * taken // count]
