"""The demonstration: one block mapped at noon, adapted to at dusk, localized at night with a detour off the map."""

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.simulation.percepts import CONDITIONS, World, record
from tmapr.simulation.route import block_loop, drive, with_detour

REFERENCE, ADAPT, TEST = "noon", "dusk", "night"


def recordings(seed: int, size: float) -> list[Recording]:
    """The three traverses of a block whose longer side is `size` metres."""
    rng = np.random.default_rng(seed)
    world = World.seeded(seed)
    corners = block_loop(size, 0.6 * size)
    ways = {REFERENCE: corners, ADAPT: corners, TEST: with_detour(corners, leg=2, depth=60.0)}
    return [record(world, name, drive(way, speed=8.0, rng=rng), CONDITIONS[name], rng) for name, way in ways.items()]
