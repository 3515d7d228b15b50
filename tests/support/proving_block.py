"""A block whose percepts are made up, mapped and adapted to, in the place of a rendered world of `make styles`."""

import numpy as np

from descriptor_field import CONDITIONS, DescriptorField
from made_up import record_percepts, with_detour
from proving import Ground, ReadyGround, map_and_adapt
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import Data, Experiment
from tmapr.perception.settings import OWN, Perception
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.simulation.route import block_loop, drive
from tmapr.system import System

CORNERS = block_loop(60.0, 40.0)
WAYS = dict.fromkeys(("day", "other", "night", "turn"), CORNERS) | {"away": with_detour(CORNERS, leg=2, depth=40.0)}


def ground(seed):
    return Ground("campus", 1, seed, "noon", "dusk", "night")


def make_block(home, seed, weathers):
    """The drives that have a weather."""
    folder, rng, field = RunFolder(home / str(seed)), np.random.default_rng(seed), DescriptorField.from_seed(seed, 32)
    for name, weather in weathers.items():
        recording = record_percepts(field, name, drive(WAYS[name], 8.0, rng), CONDITIONS[weather], rng)
        recording.save(folder.percepts(name))
    experiment = Experiment(
        data=Data(reference="day", adapt=("other",), test=("night",)),
        perception=Perception(encoder=OWN),
        system=System(places=Places(projection=Projection(dimension=48))),
    )
    found = ReadyGround(ground(seed), experiment, folder)
    map_and_adapt(found)
    return found
