"""The route filter's kernels without a GPU: interpreted they look at frames as torch does, and they compile for one."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from repository import SUPPORT
from routes import ROUTES
from tmapr.device.filter import DeviceRouteFilter
from tmapr.device.fused_views import FusedViewFilter, choose_views
from tmapr.device.views import NUMBERS, Glimpse, ViewFilter, keep, lay_room, split

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
CPU, RADIUS, DIMENSION = torch.device("cpu"), 10.0, 48
TYPES = {torch.float64: "*fp64", torch.int64: "*i64", torch.bool: "*i1"}
KERNELS = ("survey", "note_moves", "deal_out", "weigh", "rank_all", "look_around", "match", "settle")


def make_frame(count, rng):
    columns = torch.tensor(rng.normal(size=(4, count)))
    descriptor = torch.tensor(rng.normal(size=DIMENSION))
    numbers = torch.tensor([2.0, 2.0, np.nan, 0.0, 0.0, 100.0, 1.0], dtype=torch.float64)
    return Glimpse(descriptor, *columns, torch.tensor(10**15), numbers)


@needs_triton
def test_interpreted_they_look_at_frames_as_torch_does():
    checks = SUPPORT / "view_checks.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks)]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def describe(given):
    """The type of what a kernel is given."""
    if isinstance(given, torch.Tensor):
        return TYPES[given.dtype]
    return "i32" if isinstance(given, int) else type(given)(*(describe(each) for each in given))


def list_aligned(given, at=()):
    """Where what a kernel is given is divisible by 16, as addresses on a GPU are: then it is compiled otherwise."""
    if isinstance(given, torch.Tensor) or (isinstance(given, int) and given % 16 == 0):
        return {at: [["tt.divisibility", 16]]}
    parts = () if isinstance(given, int) else enumerate(given)
    return {place: told for k, each in parts for place, told in list_aligned(each, (*at, k)).items()}


@needs_triton
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_they_compile_for_a_gpu_that_is_not_there(name, aligned, rng, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    route = ROUTES["there and back"]
    views = FusedViewFilter(DeviceRouteFilter(route, CPU), RADIUS, DIMENSION)
    state, frame = views.begin(DIMENSION), make_frame(len(route), rng)
    launches = views.list_launches(state, frame, lay_room(state).state, frame.local)
    assert tuple(each.kernel.__name__ for each in launches) == KERNELS
    kernel, _, warps, given = launches[KERNELS.index(name)]
    types = dict(zip(kernel.arg_names, (describe(each) for each in given), strict=True))
    source = ASTSource(kernel, types, {}, list_aligned(given) if aligned else {})
    built = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    # Sums of whole numbers: any order gives the same.
    assert set(re.findall(r"atom[\w.]+", built.asm["ptx"])) <= {"atom.global.gpu.relaxed.add.u64"}


def test_without_a_gpu_frames_are_looked_at_by_torch():
    assert isinstance(choose_views(DeviceRouteFilter(ROUTES["a loop"], CPU), RADIUS, DIMENSION), ViewFilter)


def test_descriptors_of_another_size_are_refused():
    views = FusedViewFilter(DeviceRouteFilter(ROUTES["a loop"], CPU), RADIUS, DIMENSION)
    with pytest.raises(ValueError, match="47 dimensions, expected 48"):
        views.begin(47)


def test_torch_writes_over_another_state_what_it_makes(rng):
    route = ROUTES["a crossing"]
    views = ViewFilter(DeviceRouteFilter(route, CPU), RADIUS)
    state, frame = views.begin(DIMENSION), make_frame(len(route), rng)
    wanted, told = views.look(state, frame)
    into, places = lay_room(state), len(state.belief.off)
    crossed = torch.empty(NUMBERS + 3 * len(route) + 2 * places, dtype=torch.float64)
    views.look_into(state, frame, into.state, crossed)
    for one, other in zip(split(crossed, len(route), places), told, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(into.state.belief, wanted.belief, strict=True):
        assert torch.equal(one, other)
    assert (int(into.state.stamp), bool(into.state.begun)) == (10**15, True)


def test_a_state_in_one_piece_is_copied_as_one(rng):
    route = ROUTES["a stop"]
    views = ViewFilter(DeviceRouteFilter(route, CPU), RADIUS)
    state, _ = views.look(views.begin(DIMENSION), make_frame(len(route), rng))
    room, other = lay_room(state), lay_room(state)
    keep(room.state, state)
    other.whole.copy_(room.whole)
    for one, kept in zip((*other.state.belief, *other.state.levels, *other.state[2:]),
                         (*state.belief, *state.levels, *state[2:]), strict=True):  # fmt: skip
        assert torch.equal(one, kept)
