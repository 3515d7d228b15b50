"""What a frame costs the route filter on a GPU: comparison on the device → belief, peak and levels there, told here.

    python benchmarks/device_filter.py [--references 20000] [--places 125] [--out FILE.json]

A long loop with a reference every two metres, made up, and comparisons with one sharp peak that moves along it. Every
part is recorded as a CUDA graph and timed by events; beside it stand its launches, the bytes that it has to read and
write at least over the bandwidth of a copy in the same run, and the host's filter. The first rows say how far the
device's beliefs are from those of torch on the host. The frame is timed twice: as kernels, where there are a GPU and
Triton, and as torch has it, which other parts are taken from. What fails is told, and the others go on.
"""

import argparse
import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from types import ModuleType

import numpy as np
import torch
from torch import Tensor

try:
    import numba  # noqa: F401

    COMPILED = True
except ImportError:  # a bare machine: the host's filter is left out, everything else needs none
    COMPILED = False
    sys.modules["numba"] = ModuleType("numba")
    sys.modules["numba"].njit = lambda **_: lambda function: function  # type: ignore[attr-defined]

from device_timing import Clock, Row
from route_latency import RADIUS, SPACING, SPEED, drive, make_loop
from tmapr.device.crossing import Crossing
from tmapr.device.filter import DeviceRouteFilter, DeviceStep
from tmapr.device.fused_views import FusedViewFilter, Views, choose_views
from tmapr.device.motion import Moves, advance
from tmapr.device.placing import Ahead, DevicePlacer
from tmapr.device.views import NUMBERS, Glimpse, Room, ViewFilter, ViewState, keep, lay_room
from tmapr.tracking.filter import RouteFilter
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import HALTED, SPEEDS, STUCK, Step
from tmapr.types import Comparison, Percept

DIMENSION = 8448
COPIED = 2**28


class Bench:
    """The route, and frames of a drive along it."""

    def __init__(self, device: str, references: int, places: int, rounds: int) -> None:
        self.device = torch.device(device)
        loop = make_loop(references)
        self.route: Route = replace(loop, places=np.arange(references) * places // references)
        self.evidence = list(drive(references, 40, 0.1))
        self.clock = Clock(self.device, rounds)

    def make_views(self, device: torch.device) -> Views:
        """A filter of its own."""
        return choose_views(DeviceRouteFilter(self.route, device), RADIUS, DIMENSION)

    def make_frame(self, at: int, device: torch.device) -> Glimpse:
        """One whose view is new, half a second after the last."""
        seen = torch.tensor(self.evidence[at % len(self.evidence)], device=device)
        rng = np.random.default_rng(at)
        view = rng.normal(size=DIMENSION)
        numbers = np.array([2.0, 2.0, np.nan, 0.0, 0.0, 100.0, 1.0])
        return Glimpse(
            descriptor=torch.tensor(view / np.linalg.norm(view), device=device),
            similarity=seen,
            place=0.1 * seen,
            cosine=0.01 * seen,
            local=torch.zeros_like(seen),
            stamp=torch.tensor(10**15 + at * 500_000_000, device=device),
            numbers=torch.tensor(numbers, device=device),
        )

    def follow(self, device: torch.device, frames: int = 10) -> tuple[Views, ViewState]:
        """The state after some frames."""
        views = self.make_views(device)
        state = views.begin(DIMENSION)
        for at in range(frames):
            state, _ = views.look(state, self.make_frame(at, device))
        return views, state


def measure_bandwidth(bench: Bench) -> float:
    """Bytes a second of a copy, read and written."""
    size = COPIED if bench.clock.on_gpu else COPIED // 16
    source = torch.zeros(size, dtype=torch.uint8, device=bench.device)
    target = torch.empty_like(source)
    return 2e6 * size / bench.clock.time(lambda: target.copy_(source))["median_us"]


def compare_devices(bench: Bench, frames: int = 8) -> Row:
    """The same drive on the device and on the host."""
    states = [bench.follow(torch.device("cpu"), frames)[1], bench.follow(bench.device, frames)[1]]
    apart = [
        float((one - other.cpu()).abs().max()) for one, other in zip(*(each.belief for each in states), strict=True)
    ]
    again = bench.follow(bench.device, frames)[1]
    names = ("mass", "off", "reach", "pace", "begun")
    return dict(zip(names, apart, strict=True)) | {
        "peaks": [int(each.peak) for each in states],
        "p_place": [float(each.p_place) for each in states],
        "same bits again": all(torch.equal(*pair) for pair in zip(states[1].belief, again.belief, strict=True)),
    }


def make_motion(bench: Bench, filter_: DeviceRouteFilter, state: ViewState) -> Callable[[], tuple[Tensor, Tensor]]:
    """Both kinds of mass, each speed its own way."""
    number = partial(torch.tensor, dtype=torch.float64, device=bench.device)
    middle = np.abs(SPEEDS) * SPEED * 0.5
    moves = Moves(
        weights=torch.ones_like(state.belief.mass),
        halt=number([HALTED, STUCK]),
        near=number(np.sign(SPEEDS) * middle / 1.2),
        far=number(np.sign(SPEEDS) * middle * 1.2),
        reach=number(2.6),
    )
    return lambda: advance(filter_.lane, filter_.turns, moves, state.belief.mass)


def lay_rooms(state: ViewState) -> tuple[Room, Room]:
    """One with the state in it, and one for the next."""
    room, after = lay_room(state), lay_room(state)
    keep(room.state, state)
    return room, after


def make_look(bench: Bench, views: Views, state: ViewState, frame: Glimpse) -> Callable[[], object]:
    """A frame as a graph has it: from one state to another, which is then copied over it."""
    room, after = lay_rooms(state)
    told = frame.numbers.new_empty(NUMBERS + 3 * len(bench.route) + 2 * len(state.belief.off))

    def look() -> object:
        views.look_into(room.state, frame, after.state, told)
        return room.whole.copy_(after.whole), told

    return look


def measure_kernels(bench: Bench, views: FusedViewFilter, state: ViewState, frame: Glimpse, repeated: int = 20) -> Row:
    """Each kernel by itself, certain of the place and from anywhere; and both frames as a whole."""
    found: Row = {}
    for name, belief in (("tracking", state.belief), ("anywhere", views.filter.restart())):
        room, after = lay_rooms(state._replace(belief=belief))
        told = frame.numbers.new_empty(NUMBERS + 3 * len(bench.route) + 2 * len(belief.off))
        whole = bench.clock.time(partial(views.look_into, room.state, frame, after.state, told))
        taken = {"look": round(whole["median_us"], 2)}
        for kernel, programs, warps, given in views.list_launches(room.state, frame, after.state, told):
            again = [partial(kernel[(programs,)], *given, num_warps=warps)] * repeated  # type: ignore[index]
            taken[kernel.__name__] = bench.clock.time(partial(_call_all, again))["median_us"] / repeated
        found[name] = taken
    return found


def _call_all(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        call()


def compare_kernels(bench: Bench, views: FusedViewFilter, frames: int = 12) -> Row:
    """How far states and what is told of them are from torch's on this device, relative; and whether bits repeat."""
    plain = ViewFilter(views.filter, RADIUS)
    state, apart, same = views.begin(DIMENSION), 0.0, True
    for at in range(frames):
        frame = bench.make_frame(at, bench.device)
        (wanted, told), (found, said), (again, _) = (each.look(state, frame) for each in (plain, views, views))
        pairs = [*zip(wanted.belief, found.belief, strict=True), *zip(told, said, strict=True)]
        off = [(one - other).abs() / (one.abs() + 1e-12) for one, other in pairs]
        apart = max(apart, *(float(each.nan_to_num().max()) for each in off))
        same = same and all(torch.equal(*pair) for pair in zip(found.belief, again.belief, strict=True))
        state = wanted
    return {"relative": apart, "same bits again": same}


def measure_host(bench: Bench, views: int = 20) -> Row:
    """The host's own filter along the same drive: certain of its place, and after a restart."""
    belief, step = RouteFilter(bench.route), Step(2 * SPACING / SPEED, 1.3)
    taken = []
    for at in range(3 * views):
        if at == 2 * views:
            belief.restart()
        evidence = bench.evidence[at % len(bench.evidence)]
        began = perf_counter()
        belief.update(evidence, belief.predict(step))
        belief.find_peak(RADIUS)
        taken.append(1e6 * (perf_counter() - began))
    return {"tracking_us": float(np.median(taken[views : 2 * views])), "restarted_us": taken[2 * views]}


def measure_telling(bench: Bench) -> Row:
    """What follows on the host: one crossing, then dead reckoning, the reading and what is told."""
    placer = DevicePlacer(bench.route, RADIUS, DIMENSION, bench.device)
    crossing = Crossing({"told": len(placer.told)}, bench.device)
    compared = Comparison(np.zeros(len(bench.route)), np.zeros(len(bench.route)))
    taken: dict[str, list[float]] = {"crossing_us": [], "telling_us": []}
    for at in range(min(bench.clock.rounds, 30)):
        frame = bench.make_frame(at, bench.device)
        placer.look(frame, crossing["told"])
        if bench.clock.on_gpu:
            torch.cuda.synchronize()
        began = perf_counter()
        fetched = crossing.fetch()
        fetched.wait()
        crossed = perf_counter()
        placer.expect(Ahead(compared, fetched["told"]))
        placer.observe(Percept(int(frame.stamp), np.zeros(DIMENSION)), compared, None)
        taken["crossing_us"].append(1e6 * (crossed - began))
        taken["telling_us"].append(1e6 * (perf_counter() - crossed))
    return {name: float(np.median(each)) for name, each in taken.items()} | {"bytes": placer.told.nbytes}


def list_parts(bench: Bench, bandwidth: float) -> dict[str, Callable[[], Row]]:
    """Every part, by name; each is built when it is its turn."""
    views, state = bench.follow(bench.device)
    filter_, belief, frame = views.filter, state.belief, bench.make_frame(11, bench.device)
    step = DeviceStep(*(torch.tensor(each, dtype=torch.float64, device=bench.device) for each in (0.5, 1.3, np.nan)))
    seen, where, arriving, once = frame.similarity, belief.where, torch.zeros_like(belief.where), belief.mass.nbytes
    measure, plain = partial(bench.clock.measure, bandwidth=bandwidth), ViewFilter(filter_, RADIUS)
    parts: dict[str, Callable[[], Row]] = {
        "motion": lambda: measure(make_motion(bench, filter_, state), 2 * once),
        "predict": lambda: measure(lambda: filter_.predict(belief, step), 2 * once),
        "update": lambda: measure(partial(filter_.update, belief, seen, arriving), 2 * once),
        "find_peak": lambda: measure(lambda: filter_.find_peak(where, RADIUS), 3 * where.nbytes),
        "frame, torch's": lambda: measure(make_look(bench, plain, state, frame), 6 * once),
        "frame": lambda: measure(make_look(bench, views, state, frame), 6 * once),
        "telling": lambda: measure_telling(bench),
    }
    if isinstance(views, FusedViewFilter):
        parts["kernels"] = lambda: measure_kernels(bench, views, state, frame)
        parts["kernels, apart from torch's"] = lambda: compare_kernels(bench, views)
    return parts


def guard(part: Callable[[], Row]) -> Row:
    """What a part found, or why it did not."""
    began = perf_counter()
    try:
        found = part()
    except Exception as error:  # the run on a GPU is one: nothing may take the rest with it
        traceback.print_exc()
        found = {"failed": f"{type(error).__name__}: {error}"[:500]}
    return found | {"seconds": round(perf_counter() - began, 2)}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--references", type=int, default=20_000)
    parser.add_argument("--places", type=int, default=125)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--out", type=Path, help="JSON, written after every part")
    given = parser.parse_args(arguments)
    bench = Bench(given.device, given.references, given.places, given.rounds)
    name = torch.cuda.get_device_name() if bench.clock.on_gpu else "CPU"
    found: Row = {"device": name, "torch": torch.__version__, "references": given.references, "places": given.places}
    with torch.inference_mode():
        bandwidth = measure_bandwidth(bench)
        found["copy_bytes_a_second"] = bandwidth
        parts = {"apart from the host": lambda: compare_devices(bench)}
        parts |= list_parts(bench, bandwidth)
        if COMPILED:
            parts["host"] = lambda: measure_host(bench)
        for part, measure in parts.items():
            found[part] = guard(measure)
            print(part, json.dumps(found[part]), flush=True)
            if given.out:
                given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
