"""What a frame costs the route filter on a GPU: comparison on the device → belief, peak and levels there, told here.

    python benchmarks/device_filter.py [--references 20000] [--places 125] [--compile] [--out FILE.json]

A long loop with a reference every two metres, made up, and comparisons with one sharp peak that moves along it. Every
part is recorded as a CUDA graph and timed by events; beside it stand its launches, the bytes that it has to read and
write at least over the bandwidth of a copy in the same run, and the host's filter. The first rows say how far the
device's beliefs are from those of the same code on the host. What fails is told, and the others go on. With --compile
the whole frame is fused by torch's compiler as well, which takes a minute.
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
from tmapr.device.filter import DeviceRouteFilter, DeviceStep
from tmapr.device.motion import Advance, Moves, advance
from tmapr.device.placing import DevicePlacer, pack
from tmapr.device.views import Glimpse, ViewFilter, ViewState, keep
from tmapr.tracking.filter import RouteFilter
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import HALTED, SPEEDS, STUCK, Step

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

    def make_views(self, device: torch.device, move: Advance | None = None) -> ViewFilter:
        """A filter of its own."""
        return ViewFilter(DeviceRouteFilter(self.route, device, move=move), RADIUS)

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

    def follow(self, device: torch.device, frames: int = 10) -> tuple[ViewFilter, ViewState]:
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


def make_motion(
    bench: Bench, views: ViewFilter, state: ViewState, move: Advance
) -> Callable[[], tuple[Tensor, Tensor]]:
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
    filter_ = views.filter
    return lambda: move(filter_.lane, filter_.turns, moves, state.belief.mass)


def measure_motion(bench: Bench, views: ViewFilter, state: ViewState, bandwidth: float) -> Row:
    """What the device chose for the motion, how far it is from torch's, and its time from a belief that is anywhere."""
    begun = state._replace(belief=views.filter.restart())
    found, wanted = (make_motion(bench, views, begun, move)() for move in (views.filter.move, advance))
    apart = [float((one - other).abs().max()) for one, other in zip(found, wanted, strict=True)]
    anywhere = bench.clock.time(make_motion(bench, views, begun, views.filter.move))
    once = 2 * state.belief.mass.nbytes
    tracking = bench.clock.measure(make_motion(bench, views, state, views.filter.move), once, bandwidth)
    return tracking | {"anywhere_us": anywhere["median_us"], "apart from torch's": apart}


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
    taken: dict[str, list[float]] = {"crossing_us": [], "telling_us": []}
    aside: Tensor | None = None
    for at in range(min(bench.clock.rounds, 30)):
        state, told = placer.views.look(placer.state, bench.make_frame(at, bench.device))
        packed = pack(told)
        aside = torch.empty(packed.shape, dtype=packed.dtype, pin_memory=bench.clock.on_gpu) if aside is None else aside
        if bench.clock.on_gpu:
            torch.cuda.synchronize()
        began = perf_counter()
        aside.copy_(packed, non_blocking=True)
        if bench.clock.on_gpu:
            torch.cuda.synchronize()
        crossed = perf_counter()
        placer.tell(state, aside.clone())
        taken["crossing_us"].append(1e6 * (crossed - began))
        taken["telling_us"].append(1e6 * (perf_counter() - crossed))
    return {name: float(np.median(each)) for name, each in taken.items()} | {"bytes": packed.nbytes}


def list_parts(bench: Bench, bandwidth: float, *, compiles: bool) -> dict[str, Callable[[], Row]]:
    """Every part, by name; each is built when it is its turn."""
    views, state = bench.follow(bench.device)
    filter_, belief, frame = views.filter, state.belief, bench.make_frame(11, bench.device)
    step = DeviceStep(*(torch.tensor(each, dtype=torch.float64, device=bench.device) for each in (0.5, 1.3, np.nan)))
    seen, where, arriving, once = frame.similarity, belief.where, torch.zeros_like(belief.where), belief.mass.nbytes

    def look() -> object:
        after, told = views.look(state, frame)
        packed = pack(told)
        keep(state, after)
        return packed

    parts: dict[str, Callable[[], Row]] = {
        "motion": lambda: measure_motion(bench, views, state, bandwidth),
        "motion, torch's": lambda: bench.clock.measure(make_motion(bench, views, state, advance), 2 * once, bandwidth),
        "predict": lambda: bench.clock.measure(lambda: filter_.predict(belief, step), 2 * once, bandwidth),
        "update": lambda: bench.clock.measure(partial(filter_.update, belief, seen, arriving), 2 * once, bandwidth),
        "find_peak": lambda: bench.clock.measure(lambda: filter_.find_peak(where, RADIUS), 3 * where.nbytes, bandwidth),
        "frame": lambda: bench.clock.measure(look, 6 * once, bandwidth),
        "telling": lambda: measure_telling(bench),
    }
    if compiles:
        moves = {"frame, compiled": advance, "frame, compiled, with the kernels": filter_.move}
        for name, move in moves.items():
            fused = torch.compile(bench.make_views(bench.device, move).look, fullgraph=True, dynamic=False)
            parts[name] = partial(bench.clock.measure, partial(fused, state, frame), 6 * once, bandwidth)
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
    parser.add_argument("--compile", action="store_true", help="fuse the frame by torch's compiler as well")
    parser.add_argument("--out", type=Path, help="JSON, written after every part")
    given = parser.parse_args(arguments)
    bench = Bench(given.device, given.references, given.places, given.rounds)
    name = torch.cuda.get_device_name() if bench.clock.on_gpu else "CPU"
    found: Row = {"device": name, "torch": torch.__version__, "references": given.references, "places": given.places}
    with torch.inference_mode():
        bandwidth = measure_bandwidth(bench)
        found["copy_bytes_a_second"] = bandwidth
        parts = {"apart from the host": lambda: compare_devices(bench)}
        parts |= list_parts(bench, bandwidth, compiles=given.compile)
        if COMPILED:
            parts["host"] = lambda: measure_host(bench)
        for part, measure in parts.items():
            found[part] = guard(measure)
            print(part, json.dumps(found[part]), flush=True)
            if given.out:
                given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
