"""The kernels of motion against torch's: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so that a process of its own runs
this file, see test_device_motion.py. On a machine with a GPU: `pytest tests/device/motion_checks.py`.
"""

import numpy as np
import pytest
import torch
from interpreting import DEVICE, numbers_as_numpy_has_them  # noqa: F401 (a fixture)

from routes import ROUTES
from tmapr.device.motion import Moves, advance, advance_fused, lay_lane, make_turns
from tmapr.tracking.speeds import SPEEDS

pytestmark = pytest.mark.usefixtures("numbers_as_numpy_has_them")


def put(array):
    return torch.tensor(np.asarray(array, dtype=float), device=DEVICE)


def random_moves(rng, count):
    """Ways of any length: within a cell, over ends, once around and more."""
    way = np.sign(SPEEDS) * np.abs(SPEEDS) ** rng.uniform(0.0, 2.0) * rng.choice([0.0, 0.5, 8.0, 60.0])
    slack = rng.uniform(0.0, 0.3) * np.abs(way)
    weights = np.stack([rng.uniform(0.0, 1.6, (len(SPEEDS), count)), np.ones((len(SPEEDS), count))])
    return Moves(
        put(weights), put([rng.choice([0.0, 0.1]), 0.3]), put(way - slack), put(way + slack), put(rng.uniform(2, 4))
    )


@pytest.mark.parametrize("name", ["a loop", "there and back"])
def test_they_move_everything_as_torch_does(name, rng):
    route = ROUTES[name]
    lane, turns = lay_lane(route, DEVICE), put(make_turns())
    for view in range(2):
        mass = rng.random((2, len(SPEEDS), len(route))) * (rng.random(len(route)) < (1.0 if view % 2 else 0.2))
        mass = put(mass / max(mass.sum(), 1e-300) * 0.9)
        moves = random_moves(rng, len(route))
        (found, over), (wanted, lost) = (each(lane, turns, moves, mass) for each in (advance_fused, advance))
        np.testing.assert_allclose(found.cpu(), wanted.cpu(), rtol=0, atol=1e-14)
        np.testing.assert_allclose(over.cpu(), lost.cpu(), rtol=0, atol=1e-14)
