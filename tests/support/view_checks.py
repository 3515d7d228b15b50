"""The route filter's kernels against torch's: on a GPU where there is one, otherwise interpreted.

Not collected with the others: Triton must be told to interpret before it is loaded, so that a process of its own runs
this file, see test_device_views.py. On a machine with a GPU: `pytest tests/device/view_checks.py`.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from interpreting import DEVICE, numbers_as_numpy_has_them  # noqa: F401 (a fixture)
from routes import lay, line, ring, shake, stopping
from tmapr.device.filter import DeviceRouteFilter
from tmapr.device.fused_views import FusedViewFilter
from tmapr.device.views import NUMBERS, Glimpse, ViewFilter, keep, lay_room

pytestmark = [
    pytest.mark.usefixtures("numbers_as_numpy_has_them"),
    # NumPy speaks up where a kernel chooses between two results after both are there.
    pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning"),
]
DIMENSION, RADIUS = 40, 10.0
ROUTES = {
    "a loop": lay(shake(ring(40), 1)),
    "a long loop": lay(shake(ring(140), 1)),
    "there and back": lay(shake(line(16), 3), shake(line(16, beside=1.5)[::-1], 5)),
    "a stop": lay(stopping(20, at=10, frames=8)),
    "one reference": replace(lay(line(1)), view=0.2),
}


class Seen(NamedTuple):
    """A frame: change of view in units of a new one, seconds and metres since the last, and what else is told of it."""

    change: float
    seconds: float = 1.0
    metres: float = np.nan
    head: bool = False
    local: bool = False
    whole: bool = True


DRIVE = {
    "the first": Seen(0.0, head=True),
    "an ordinary one": Seen(1.3, head=True),
    "what was seen already": Seen(0.4, metres=2.0),
    "odometry": Seen(1.2, metres=3.0, whole=False),
    "backwards": Seen(1.1, metres=-7.0, local=True),
    "far": Seen(2.5, 2.0),
    "once around and more": Seen(1.9, 40.0, head=True),
    "after longer than the route takes": Seen(3.0, 4000.0),
    "again an ordinary one": Seen(1.5, 0.5, local=True),
}
FEW = ("an ordinary one", "far")


def put(array):
    return torch.tensor(np.asarray(array, dtype=float), device=DEVICE)


def turn(key, seen, view, rng):
    """A unit descriptor so many new views from another one."""
    aside = rng.normal(size=DIMENSION)
    aside -= (aside @ key) * key
    cosine = 1.0 - seen.change * view
    return cosine * key + np.sqrt(1.0 - cosine**2) * aside / np.linalg.norm(aside)


def make_frame(route, seen, key, stamp, rng):
    similarity = rng.normal(size=len(route))
    similarity[rng.integers(len(route))] += 5.0
    return Glimpse(
        descriptor=put(turn(key, seen, route.view, rng)),
        similarity=put(similarity),
        place=put(rng.normal(0.0, 0.3, len(route))),
        cosine=put(rng.normal(size=len(route))) if seen.whole else None,
        local=put(rng.uniform(0.0, 2.0, len(route)) * seen.local),
        stamp=torch.tensor(stamp, device=DEVICE),
        numbers=put([2.0, 1.5, seen.metres, *route.positions[0] + 3.0, 40.0, seen.head]),
    )


def begin(views, rng):
    """Off the map, too, left from places near and far a while ago."""
    state = views.begin(DIMENSION)
    off = state.belief.off
    reach = put(rng.choice([4.0, 25.0, 1e9], len(off)))
    return state._replace(belief=state.belief._replace(off=off * put(rng.uniform(0.5, 9.0, len(off))), reach=reach))


def drive(name, frames, rng):
    """The filter as torch has it, as kernels have it, and each frame with the state before it."""
    route = ROUTES[name]
    filter_ = DeviceRouteFilter(route, DEVICE)
    plain, fused = ViewFilter(filter_, RADIUS), FusedViewFilter(filter_, RADIUS, DIMENSION)
    state, stamp, key = begin(plain, rng), 10**15, rng.normal(size=DIMENSION)
    key /= np.linalg.norm(key)
    for each in frames:
        stamp += int(1e9 * DRIVE[each].seconds)
        frame = make_frame(route, DRIVE[each], key, stamp, rng)
        yield each, plain, fused, state, frame
        state, _ = plain.look(state, frame)
        key = state.key.cpu().numpy()


def list_tensors(state):
    return [*state.belief, *state.levels, *state[2:]]


def assert_same(found, wanted, case):
    """To rounding; of mass, 2⁻⁶² of the probability are counted."""
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.cpu(), other.cpu(), rtol=1e-11, atol=1e-16, err_msg=case)


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("a loop", DRIVE),
        ("there and back", ("the first", "an ordinary one", "backwards")),
        ("a long loop", FEW),
        ("a stop", FEW),
        ("one reference", FEW),
    ],
)
def test_every_frame_is_looked_at_as_torch_does(name, frames, rng):
    new = set()
    for case, plain, fused, state, frame in drive(name, frames, rng):
        (wanted, told), (found, said) = plain.look(state, frame), fused.look(state, frame)
        assert_same(list_tensors(found), list_tensors(wanted), case)
        assert_same(said, told, case)
        if told.numbers[0] >= 1.0:
            new.add(case)
    assert new == set(frames) - {"what was seen already"}


def test_equal_frames_give_equal_bits_and_leave_the_state_before_them(rng):
    for case, _, fused, state, frame in drive("a stop", FEW, rng):
        before, one, other = (lay_room(state) for _ in range(3))
        keep(before.state, state)
        count = NUMBERS + 3 * len(ROUTES["a stop"]) + 2 * len(state.belief.off)
        told = [put(np.empty(count)) for _ in range(2)]
        for room, said in zip((one, other), told, strict=True):
            fused.look_into(state, frame, room.state, said)
        for pair in zip(list_tensors(one.state), list_tensors(other.state), strict=True):
            assert torch.equal(*pair), case
        np.testing.assert_array_equal(*(each.cpu() for each in told))
        for pair in zip(list_tensors(state), list_tensors(before.state), strict=True):
            assert torch.equal(*pair), case
