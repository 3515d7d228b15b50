"""The kernels of motion against torch's: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so that a process of its own runs
this file, see test_device_motion.py. On a machine with a GPU: `pytest tests/device/motion_checks.py`.
"""

import numpy as np
import pytest
import torch

from routes import ROUTES
from tmapr.device.motion import Moves, advance, advance_fused, lay_lane, make_turns
from tmapr.tracking.speeds import SPEEDS

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(autouse=True, scope="module")
def _numbers_may_bound_a_loop():
    """Interpreted, Triton 3.6 makes an integer of an array of one number in a way that NumPy 2.4 refuses."""
    if DEVICE.type == "cuda":
        yield
        return
    from triton.runtime import interpreter

    usual = interpreter._patch_lang_tensor

    def patch(tensor, scope):
        usual(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = patch
    yield
    interpreter._patch_lang_tensor = usual


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
