"""Made-up maps and drives, from positions alone: their views are a smooth random function of where they were taken."""

import numpy as np

from descriptor_field import Condition, DescriptorField
from tmapr.artifacts.percepts import Recording
from tmapr.retrieval.memory import remember
from tmapr.retrieval.search import Retrieval
from tmapr.tracking import RouteModel
from tmapr.tracking.route import lay_route
from tmapr.tracking.route_filter import Motion
from tmapr.types import NANOSECONDS, Percept

FIELD = DescriptorField.from_seed(8, dimension=48)
SPEED = 8.0
CELL = 15.0
RATE = 4
"""Frames a second of a film."""


def look(positions, rng, noise=0.0, field=FIELD):
    """Unit descriptors of what is seen there."""
    return field.descriptors(np.asarray(positions, dtype=float), Condition(0.0, noise), rng)


def remember_drives(*drives, views=None, turn_gain=np.nan):
    """M₀ of traverses, each an array of positions, driven at a steady speed; a stop takes its time."""
    positions = np.concatenate(drives).astype(float)
    steps = [np.hypot(*np.diff(drive, axis=0, prepend=drive[:1]).T) for drive in drives]
    waits = np.maximum(np.concatenate(steps) / SPEED, 0.01)
    _, places = np.unique(np.floor(positions / CELL), axis=0, return_inverse=True)
    return remember(
        look(positions, np.random.default_rng(1)) if views is None else views,
        positions,
        places.ravel(),
        np.cumsum(np.round(waits * NANOSECONDS)).astype(np.int64),
        frames=np.arange(len(positions)),
        sequences=np.repeat([f"drive {number}" for number in range(len(drives))], [len(drive) for drive in drives]),
        headings=np.concatenate([measure_headings(drive) for drive in drives]),
        turn_gain=turn_gain,
        probes=256,
    )


def measure_headings(drive):
    """Which way each step leads; NaN where there is none."""
    ahead = np.diff(drive, axis=0, append=2.0 * drive[-1:] - drive[-2:-1] if len(drive) > 1 else drive[-1:])
    return np.where(np.hypot(*ahead.T) > 0, np.arctan2(ahead[:, 1], ahead[:, 0]), np.nan)


def lay(*drives, **numbers):
    """The route of traverses."""
    return lay_route(remember_drives(*drives), RouteModel(**numbers))


def record(name, positions, seed):
    """A drive along positions, every quarter of a second, with uneven steps and its own noise."""
    rng, driven = np.random.default_rng(seed), shake(positions, seed)
    stamps = np.arange(len(positions)) * (NANOSECONDS // 4)
    return Recording.from_arrays(name, stamps, look(driven, rng, noise=0.1), truth=driven)


def film(positions, *, start=10**12, motion=None, seed=2, **looks):
    """Percepts of a drive, every quarter of a second."""
    seen = look(positions, np.random.default_rng(seed), **{"noise": 0.1} | looks)
    stamps = range(start, start + len(seen) * NANOSECONDS // RATE, NANOSECONDS // RATE)
    return [Percept(stamp, view, motion=motion) for stamp, view in zip(stamps, seen, strict=True)]


def follow(tracker, memory, percepts):
    """A tracker's answers to frames that are compared with its whole map."""
    search = Retrieval(mode="global").search
    return [tracker.advance(each, search(memory, each.descriptor, None, list, compare=True)) for each in percepts]


def ring(count, spacing=2.0):
    """Once around a circle."""
    turn = 2 * np.pi * np.arange(count) / count
    return spacing * count / (2 * np.pi) * np.column_stack([np.cos(turn), np.sin(turn)])


def line(count, spacing=2.0, beside=0.0):
    """Straight on."""
    return np.column_stack([spacing * np.arange(count), np.full(count, beside)])


def shake(positions, seed):
    """Uneven steps: no bound of a cell falls on another by chance."""
    return positions + np.random.default_rng(seed).uniform(-0.3, 0.3, positions.shape)


def stopping(count, at, frames):
    """A straight drive that stands for so many frames."""
    way = shake(line(count), 4)
    return np.concatenate([way[:at], np.repeat(way[at][None], frames, axis=0), way[at:]])


LOOP = ring(150)
"""A map that is driven around."""
INSIDE = float(np.hypot(*LOOP[0])) - 1.0
"""Radius of drives around it, a metre beside the mapped way."""
STEP = SPEED / RATE
"""Metres a frame at the mapped speed."""


def around(metres):
    """Positions of a drive around the loop."""
    turn = np.asarray(metres) / INSIDE
    return INSIDE * np.column_stack([np.cos(turn), np.sin(turn)])


WAYS = {
    "a loop": (shake(ring(60), 1),),
    "a small loop": (shake(ring(31, spacing=0.9), 1),),
    "an open way": (shake(line(50), 2),),
    "a short way": (shake(line(9), 2),),
    "two traverses": (shake(line(40), 3), shake(ring(40), 5)),
    "a stop": (stopping(40, at=20, frames=12),),
    "one reference": (line(1),),
}


def random_motion(rng):
    """What is known of a step of any kind: short or long, with odometry in either direction or none."""
    seconds = float(rng.choice([rng.uniform(0.05, 2.0), rng.uniform(2.0, 60.0)], p=[0.9, 0.1]))
    told = float(rng.choice([np.nan, rng.uniform(0.0, 12.0), rng.uniform(-12.0, 0.0), 0.0], p=[0.6, 0.25, 0.1, 0.05]))
    metres = SPEED * seconds if np.isnan(told) else abs(told)
    new_view = bool(rng.random() < 0.4)
    return Motion(seconds, metres, None if np.isnan(told) else told, min(metres / 5.0, 1.0), new_view)


def random_evidence(rng, count):
    evidence = rng.normal(0.0, 1.0, count)
    evidence[rng.integers(count)] += rng.uniform(0.0, 6.0)
    return evidence
