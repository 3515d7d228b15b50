"""Made-up routes, from positions alone: their views are a smooth random function of where they were taken."""

from itertools import pairwise

import numpy as np

from descriptor_field import Condition, DescriptorField
from tmapr.artifacts.percepts import Recording
from tmapr.tracking.route import lay_route
from tmapr.tracking.speeds import FAR_VIEW, Step
from tmapr.types import NANOSECONDS

FIELD = DescriptorField.from_seed(8, dimension=48)
SPEED = 8.0
CELL = 15.0


def look(positions, rng, noise=0.0):
    """Unit descriptors of what is seen there."""
    return FIELD.descriptors(np.asarray(positions, dtype=float), Condition(0.0, noise), rng)


def lay(*drives):
    """The route of traverses, each an array of positions, driven at a steady speed; a stop takes its time."""
    positions = np.concatenate(drives).astype(float)
    counts = np.cumsum([0, *(len(drive) for drive in drives)])
    rows = [np.arange(begin, end) for begin, end in pairwise(counts)]
    steps = [np.hypot(*np.diff(drive, axis=0, prepend=drive[:1]).T) for drive in drives]
    waits = np.maximum(np.concatenate(steps) / SPEED, 0.01)
    stamps = np.cumsum(np.round(waits * NANOSECONDS)).astype(np.int64)
    _, places = np.unique(np.floor(positions / CELL), axis=0, return_inverse=True)
    return lay_route(rows, positions, stamps, places.ravel(), look(positions, np.random.default_rng(1)))


def record(name, positions, seed):
    """A drive along positions, every quarter of a second, with uneven steps and its own noise."""
    rng, driven = np.random.default_rng(seed), shake(positions, seed)
    stamps = np.arange(len(positions)) * (NANOSECONDS // 4)
    return Recording.from_arrays(name, stamps, look(driven, rng, noise=0.1), truth=driven)


def ring(count, spacing=2.0):
    """Once around a circle."""
    turn = 2 * np.pi * np.arange(count) / count
    return spacing * count / (2 * np.pi) * np.column_stack([np.cos(turn), np.sin(turn)])


def line(count, spacing=2.0, beside=0.0):
    """Straight on."""
    return np.column_stack([spacing * np.arange(count), np.full(count, beside)])


def eight(count, spacing=2.0):
    """A figure eight, which crosses itself in the middle."""
    turn = 2 * np.pi * np.linspace(0.02, 0.98, count)
    shape = np.column_stack([np.sin(turn), 0.5 * np.sin(2 * turn)])
    return shape * spacing * count / np.hypot(*np.diff(shape, axis=0).T).sum()


def shake(positions, seed):
    """Uneven steps: no bound of a cell falls on another by chance."""
    return positions + np.random.default_rng(seed).uniform(-0.3, 0.3, positions.shape)


def stopping(count, at, frames):
    """A straight drive that stands for so many frames."""
    way = shake(line(count), 4)
    return np.concatenate([way[:at], np.repeat(way[at][None], frames, axis=0), way[at:]])


ROUTES = {
    "a loop": lay(shake(ring(60), 1)),
    "an open way": lay(shake(line(50), 2)),
    "there and back": lay(shake(line(40), 3), shake(line(40, beside=1.5)[::-1], 5)),
    "a crossing": lay(shake(eight(70), 6)),
    "a stop": lay(stopping(40, at=20, frames=12)),
    "one reference": lay(line(1)),
    "two references": lay(line(2)),
}


def random_step(rng):
    """A step of any kind: ordinary, far, long, or with odometry in either direction."""
    seconds = float(rng.choice([rng.uniform(0.05, 3.0), rng.uniform(3.0, 40.0)], p=[0.9, 0.1]))
    change = float(rng.choice([rng.uniform(1.0, FAR_VIEW), rng.uniform(FAR_VIEW, 5.0)], p=[0.7, 0.3]))
    metres = rng.choice([np.nan, rng.uniform(0.0, 12.0), rng.uniform(-12.0, 0.0), 0.0], p=[0.6, 0.25, 0.12, 0.03])
    return Step(seconds, change, None if np.isnan(metres) else float(metres))


def random_evidence(rng, count):
    evidence = rng.normal(0.0, 1.0, count)
    evidence[rng.integers(count)] += rng.uniform(0.0, 6.0)
    return evidence
