"""Rendered worlds that are mapped at noon and asked in other weathers, for benchmarks of descriptors.

Every lap has other parked cars, another way of driving and another camera's pattern. A query's candidate is the
reference with the highest cosine. Frames that a shutter repeats are no references, and as queries find nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from tmapr.data.health import Detector
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.perception.perceiver import Perceiver
from tmapr.simulation.camera import CAMERAS
from tmapr.simulation.record import film
from tmapr.simulation.streets import build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Traverse
from tmapr.simulation.weather import find_weather
from tmapr.training.shipped import ASKED, MAPPED
from tmapr.types import CoordinateFrame, Frame

FRAMES = {"campus": 140, "city": 160, "valley": 210}
"""Of a lap: 2.5 m apart in corridors, 4 to 5 m on roads."""

Descriptors = Float[np.ndarray, "frames dim"]


class Setting(NamedTuple):
    """A kind of world."""

    name: str
    family: str
    aliasing: float


SETTINGS = (
    Setting("campus", "campus", 0.3),
    Setting("city", "city", 0.3),
    Setting("valley", "valley", 0.3),
    Setting("campus-aliased", "campus", 1.0),
    Setting("city-aliased", "city", 1.0),
)


Recalls = dict[str, list[float]]
"""Of each descriptor: R@1 of the laps of a world, in the order of ASKED; NaN where nothing mapped was seen."""

Described = Callable[[Descriptors], dict[str, Descriptors]]
"""The descriptors to compare, by name, from what the perceiver gives."""


@dataclass(frozen=True, slots=True)
class Lap:
    """One traverse as the perceiver sees it."""

    descriptors: Descriptors
    positions: Float[np.ndarray, "frames 2"]
    usable: Bool[np.ndarray, " frames"]


def look_up(setting: Setting, seed: int, frames: int, perceiver: Perceiver, described: Described) -> Recalls:
    """The queries of all weathers of one world, with every descriptor."""
    mapped, *asked = laps(setting, seed, frames, perceiver)
    references, places = described(mapped.descriptors[mapped.usable]), mapped.positions[mapped.usable]
    recalls: Recalls = {name: [] for name in references}
    for lap in asked:
        chances = int(opportunities(lap.positions, places).sum())
        for name, queries in described(lap.descriptors).items():
            best = (queries @ references[name].T).argmax(axis=1)
            correct = correct_candidates(places[best], lap.positions) & lap.usable
            recalls[name].append(float(correct.sum() / chances) if chances else np.nan)
    return recalls


def laps(setting: Setting, seed: int, frames: int, perceiver: Perceiver) -> Iterator[Lap]:
    """A world as it is mapped, then as it is asked."""
    world, texture = build_world(setting.family, seed, aliasing=setting.aliasing), make_texture(seed)
    for number, weather in enumerate((MAPPED, *ASKED)):
        traverse = Traverse(weather, find_weather(weather), traverse_seed(seed, number), frames=frames)
        yield seen(film(world, traverse, CAMERAS[setting.family], texture, CoordinateFrame()), perceiver)


def traverse_seed(world: int, number: int) -> int:
    """Its own in every world, and none of training's, which are small: a camera's pattern follows from it too."""
    return 10_000 + 10 * world + number


def seen(frames: Iterable[Frame], perceiver: Perceiver) -> Lap:
    positions = []

    def noted() -> Iterator[Frame]:
        for frame in frames:
            positions.append(frame.position)
            yield frame

    percepts = list(perceiver.with_inspection(Detector().inspect).stream(noted()))
    usable = np.array([percept.fault is None for percept in percepts])
    return Lap(np.array([percept.descriptor for percept in percepts]), np.array(positions), usable)
