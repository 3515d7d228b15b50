"""Streams on which the package and its second version are compared: drawn at random, and rendered.

Descriptors are rounded to multiples of 2⁻¹¹: a float32 then holds every product and every partial sum of a cosine, so
that the memory's single precision costs nothing and what is left to differ are the equations.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from descriptor_field import Condition, DescriptorField
from tmapr.artifacts.percepts import Recording
from tmapr.simulation.camera import Camera
from tmapr.simulation.record import film
from tmapr.simulation.route import block_loop, drive
from tmapr.simulation.streets import build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Traverse
from tmapr.simulation.weather import find_weather
from tmapr.types import NANOSECONDS, CoordinateFrame, Fault, Percept

WIDTH = 32
FRAMES = 3000
_STEPS = 2.0**11


@dataclass(frozen=True)
class Stream:
    """A traverse to map, frames to localize, and which of them are taught with their true position."""

    reference: Recording
    percepts: tuple[Percept, ...]
    truth: np.ndarray
    taught: np.ndarray


def snap(descriptors):
    """The nearest descriptors whose cosines single precision computes exactly."""
    return np.round(descriptors * _STEPS) / _STEPS


@cache
def random_stream(frames=FRAMES, episode=50, every=1, seed=7):
    """A camera that is kidnapped, leaves the map, loses its pose head or is lied to by it, with every kind of fault.

    It fares otherwise from episode to episode; of the mapped traverse, every so-manieth frame is a reference.
    """
    rng = np.random.default_rng(seed)
    field, corners = DescriptorField.from_seed(7, WIDTH, detail=8.0, repetition=0.7), block_loop(120.0, 60.0)
    mapped = drive(corners, 14.0, rng)
    looks = field.descriptors(mapped.positions, Condition(0.0, 0.2), rng)
    reference = _record(mapped.stamps[::every], looks[::every], mapped.positions[::every])
    truth, heads = _wander(corners, rng, frames // episode, episode)
    looks = np.concatenate(
        [
            field.descriptors(part, Condition(rng.choice([0.0, 0.1, 0.4]), rng.uniform(0.1, 0.6)), rng)
            for part in np.split(truth, frames // episode)
        ]
    )
    confused = rng.random(frames) < 0.05
    looks[confused] = looks[rng.permutation(frames)[: confused.sum()]]
    percepts = tuple(
        Percept(stamp, look, head)
        for stamp, look, head in zip(_stamps(rng, frames).tolist(), snap(looks), heads, strict=True)
    )
    return Stream(reference, _break(percepts, rng), truth, rng.random(frames) < 0.3)


def short_stream():
    """The same in a fraction of a second."""
    return random_stream(frames=150, episode=10, every=4, seed=12)


def _record(stamps, looks, truth, heads=None):
    """A recording of rounded descriptors; made from arrays it would bring them back to length 1, bits and all."""
    heads = [None] * len(looks) if heads is None else heads
    frames = zip(stamps.tolist(), snap(looks), heads, strict=True)
    return Recording("lap", tuple(Percept(*frame) for frame in frames), truth, np.ones(len(truth), dtype=bool))


def _wander(corners, rng, episodes, length):
    """True positions around the loop in episodes, and what the pose head says of them, if anything."""
    ends = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    along, truth, heads = 0.0, [], []
    for episode in rng.choice(
        ["fine", "fine", "headless", "headless", "kidnapped", "abducted", "lied to", "mad", "away"], size=episodes
    ):
        # Kidnapped: with a pose head that notices. Abducted: without one.
        along += {"kidnapped": rng.uniform(25, 60), "abducted": rng.uniform(80, 200)}.get(episode, 0.0)
        path = along + np.cumsum(rng.uniform(0.0, 1.6, size=length))
        along = path[-1]
        way = np.stack([np.interp(path % ends[-1], ends, corners[:, axis]) for axis in (0, 1)], axis=1)
        way += (rng.choice([-40.0, 40.0], size=2) if episode == "away" else 0.0) + rng.normal(0, 0.3, size=(length, 2))
        lie = {"lied to": rng.normal(0, 15, size=2), "mad": rng.choice([-300.0, 300.0], size=2)}.get(episode, 0.0)
        said = way + lie + rng.normal(0, 2.0, size=(length, 2))
        silent = np.full(length, episode in ("headless", "abducted")) | (rng.random(length) < 0.05)
        truth.append(way)
        heads += [None if quiet else each for quiet, each in zip(silent, said, strict=True)]
    return np.concatenate(truth), heads


def _stamps(rng, frames):
    """Ten hertz, with gaps of up to a minute, repetitions and steps back."""
    steps = rng.integers(66, 133, size=frames)
    gap = rng.random(frames) < 0.01
    steps[gap] = rng.integers(1_000, 60_000, size=gap.sum())
    stamps = 1_000 * NANOSECONDS + np.cumsum(steps) * (NANOSECONDS // 1000)
    late = np.flatnonzero(rng.random(frames) < 0.03)[1:]
    stamps[late] = stamps[late - rng.integers(1, 3, size=len(late))]
    return stamps


def _break(percepts, rng):
    """The same frames, some of them frozen, some with numbers that are none."""
    broken = list(percepts)
    for row in np.flatnonzero(rng.random(len(percepts)) < 0.02):
        percept = percepts[row]
        nonsense = np.full(WIDTH, np.nan), np.array([np.inf, 0.0])
        damaged = replace(percept, descriptor=nonsense[0]), replace(percept, position=nonsense[1])
        broken[row] = (replace(percept, fault=Fault.FROZEN), *damaged)[rng.integers(3)]
    return tuple(broken)


@cache
def rendered_stream():
    """Laps of a rendered campus in four weathers, seen by a camera of 32 × 24 pixels."""
    world, texture, camera = build_world("campus", 3, length=200.0), make_texture(3), Camera(width=32, height=24)
    rng = np.random.default_rng(8)
    project = rng.normal(size=(32 * 24, WIDTH))
    laps = {}
    for seed, name in enumerate(("noon", "overcast", "noon", "dusk", "night")):
        frames = 200 if seed == 0 else FRAMES // 4
        lap = list(film(world, Traverse(name, find_weather(name), seed, frames=frames), camera, texture, _LOCAL))
        looks = np.array([_look(frame.image(), project) for frame in lap])
        # One lap begins an hour after the other, whatever day its weather was on.
        stamps = np.array([frame.stamp - lap[0].stamp for frame in lap]) + seed * 3600 * NANOSECONDS
        truth = np.array([frame.position for frame in lap])
        heads = truth + 3.0 * np.sin(np.linspace(0, 9, len(lap)))[:, None] + rng.normal(0, 1.5, size=truth.shape)
        laps[seed] = _record(stamps, looks, truth, heads)
    asked = [laps[seed] for seed in range(1, 5)]
    percepts = tuple(percept for lap in asked for percept in lap.percepts)
    truth = np.concatenate([lap.truth for lap in asked])
    return Stream(laps[0], percepts, truth, rng.random(FRAMES) < 0.3)


_LOCAL = CoordinateFrame()


def _look(image, project):
    """A descriptor: the picture without its mean, projected at random, on the unit sphere."""
    picture = image.astype(float).ravel()
    look = (picture - picture.mean()) @ project
    return look / np.linalg.norm(look)
