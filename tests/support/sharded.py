"""A small map with everything that a map may have, and the bytes of its shards."""

from dataclasses import replace
from functools import cache

import numpy as np

from made_up import record_percepts
from tmapr.keypoints import NOTHING, Keypoints
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.retrieval.keypoints import ReferenceKeypoints
from tmapr.simulation.percepts import CONDITIONS, DescriptorField
from tmapr.simulation.route import block_loop, drive
from tmapr.system import System, make_map

TARGET = 8_000
"""Bytes of descriptors: the map has several shards then."""
SYSTEM = System(
    places=Places(cell=15.0, use=("mixture",), projection=Projection(dimension=64), mixture=Mixture(dimension=8))
)


@cache
def make_sharded():
    """Two traverses of a block, with keypoints of most references."""
    world, corners = DescriptorField.from_seed(3, dimension=32), block_loop(120.0, 60.0)

    def record(seed):
        rng = np.random.default_rng(seed)
        return record_percepts(world, f"noon-{seed}", drive(corners, 8.0, rng), CONDITIONS["noon"], rng)

    made, rng = make_map(SYSTEM, record(1), record(22)), np.random.default_rng(4)
    counts = rng.integers(0, 5, len(made.memory))
    found = [
        Keypoints(
            rng.integers(0, 65_536, (count, 2)).astype(np.uint16), rng.integers(-127, 128, (count, 64)).astype(np.int8)
        )
        if count
        else NOTHING
        for count in counts.tolist()
    ]
    finders = [lambda each=each: each for each in found]
    return replace(made, memory=replace(made.memory, keypoints=ReferenceKeypoints(finders)))
