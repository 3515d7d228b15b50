"""What recognising a frame costs on a device: every part under a CUDA graph, and its floor.

`python benchmarks/device_recognition.py --device cuda --out recognition.json` on a GPU; without one it runs on the CPU,
where it says nothing about speed. Descriptors are made up: unit vectors with near neighbours, places that look alike.
A part that fails says why and leaves the others; parts that do not fit into `--seconds` are left out.
"""

import argparse
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from device_world import RIGHT, World
from tmapr.device.found import Found, Prepared
from tmapr.device.places import Observed
from tmapr.device.recognition import Recogniser, Steps

GIBIBYTE = 2**30
Work = Callable[[], object]


@dataclass
class Bench:
    """Measures parts one after the other as long as there is time."""

    device: torch.device
    rounds: int
    until: float
    found: dict[str, object] = field(default_factory=dict)

    def attempt(self, name: str, part: Callable[[], dict[str, object]]) -> None:
        """One part, guarded."""
        if perf_counter() > self.until:
            self.found[name] = {"left_out": "no time"}
            return
        try:
            self.found[name] = part()
        except Exception as error:
            self.found[name] = {"error": f"{type(error).__name__}: {error}"[:600]}
        print(f"{name:<34} {json.dumps(self.found[name])}", flush=True)

    def capture(self, work: Work) -> Work:
        """The same work as a graph; on a CPU the work itself."""
        if self.device.type != "cuda":
            return work
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return graph.replay

    def time(self, work: Work, floor_bytes: int | None = None) -> dict[str, object]:
        """Milliseconds under a graph, by events; and the floor where there is one."""
        replay = self.capture(work)
        for _ in range(3):
            replay()
        spent = list(self._events(replay) if self.device.type == "cuda" else self._clock(replay))
        found: dict[str, object] = {"p50_ms": float(np.median(spent)), "p99_ms": float(np.percentile(spent, 99))}
        bandwidth = self.found.get("copy")
        if floor_bytes and isinstance(bandwidth, dict) and "bytes_per_s" in bandwidth:
            found["floor_ms"] = 1e3 * floor_bytes / bandwidth["bytes_per_s"]
        return found

    def _events(self, replay: Work) -> Iterator[float]:
        for _ in range(self.rounds):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            replay()
            end.record()
            end.synchronize()
            yield start.elapsed_time(end)

    def _clock(self, work: Work) -> Iterator[float]:
        for _ in range(self.rounds):
            start = perf_counter()
            work()
            if self.device.type == "cuda":
                torch.cuda.synchronize()
            yield 1e3 * (perf_counter() - start)

    def clock(self, work: Work) -> dict[str, object]:
        """Milliseconds on the host's clock, until the device is done."""
        for _ in range(3):
            work()
        spent = list(self._clock(work))
        return {"p50_ms": float(np.median(spent)), "p99_ms": float(np.percentile(spent, 99))}

    def copy(self) -> dict[str, object]:
        """The bandwidth of a copy: bytes read and written."""
        size = GIBIBYTE if self.device.type == "cuda" else 2**22
        source, target = (torch.empty(size, dtype=torch.uint8, device=self.device) for _ in range(2))
        spent = self.time(lambda: target.copy_(source))["p50_ms"]
        return {"bytes_per_s": 2e3 * size / float(str(spent))}


def count_kernels(work: Work) -> dict[str, object]:
    """What one call launches, by the profiler."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    work()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        work()
        torch.cuda.synchronize()
    launched = [event.name for event in profiled.events() if event.device_type == DeviceType.CUDA]
    return {"kernels": len(launched)}


def compare(world: World, halves: Recogniser, bench: Bench, descriptor: Tensor) -> dict[str, object]:
    """First candidates with half-precision references against float64 ones, frame by frame."""
    exact = world.recogniser(torch.float64)
    row = halves.packing.first
    packed = torch.zeros((2, halves.packing.size), dtype=torch.float64, device=world.device)
    replay = bench.capture(lambda: packed[0].copy_(halves.recognise(descriptor).packed))
    same, right = 0, np.zeros(2)
    for query, truth in zip(world.queries, world.truth, strict=True):
        descriptor.copy_(query)
        replay()
        packed[1].copy_(exact.recognise(query).packed)
        rows = packed[:, row].long().cpu().numpy()
        same += int(rows[0] == rows[1])
        spots = world.memory.positions[np.append(rows, int(truth))]
        right += np.hypot(*(spots[:2] - spots[2]).T) < RIGHT
    frames = len(world.queries)
    return {"frames": frames, "same_first": same / frames, "r_at_1": (right / frames).tolist()}


def measure_parts(bench: Bench, world: World) -> None:
    """Every part of a frame, then the whole, then what is beside it."""
    halves = world.recogniser(torch.float16)
    descriptor = world.queries[-1].clone()
    memory, places = halves.memory, world.places
    prepared = halves.prepare(descriptor)
    observed = places.observe(places.spread(prepared.view))
    products = memory.multiply(prepared.queries)
    triangle = world.dense.K.nbytes // 2
    bench.attempt("products", lambda: bench.time(lambda: memory.multiply(prepared.queries), memory.nbytes))
    bench.attempt("ridge", lambda: bench.time(lambda: places.observe(observed.rows), triangle))
    bench.attempt("condition's recall", lambda: bench.time(world.condition.recall))
    bench.attempt("places' rows", lambda: bench.time(lambda: places.spread(prepared.view)))
    bench.attempt("places' scores", lambda: bench.time(lambda: places.conclude(prepared.view, observed)))
    for name, steps in (("", halves.steps), ("plain: ", halves.plain)):
        asked = Asked(steps, world, descriptor, products, observed)
        bench.attempt(f"{name}prepare", partial(bench.time, asked.prepare))
        bench.attempt(f"{name}conclude", partial(bench.time, asked.conclude))
        bench.attempt(f"{name}beside the reads", partial(bench.time, asked.both))
    bench.attempt("whole", lambda: bench.time(lambda: halves.recognise(descriptor)))
    if world.device.type == "cuda":
        bench.attempt("kernels", lambda: count_kernels(lambda: halves.recognise(descriptor)))
        bench.attempt("to the host", lambda: bench.clock(carry(bench, halves, descriptor)))
    measure_beside(bench, world, halves, descriptor)
    if world.device.type == "cuda":
        measure_products(bench, halves, prepared.queries)


class Asked:
    """What a recogniser does beside the two reads and the places' own scores, of a frame for which these are known."""

    def __init__(self, steps: Steps, world: World, descriptor: Tensor, products: Tensor, observed: Observed) -> None:
        self._steps, self._descriptor, self._products, self._observed = steps, descriptor, products, observed
        self._shared = world.condition.recall()
        self._prepared = self.prepare()
        self._scores = world.places.conclude(self._prepared.view, observed)

    def prepare(self) -> Prepared:
        """What is done before them."""
        return self._steps.prepare(self._descriptor, self._shared)

    def conclude(self) -> Found:
        """What is done after them."""
        return self._steps.conclude(self._prepared, self._products, self._scores, self._observed)

    def both(self) -> None:
        """One after the other."""
        self.prepare()
        self.conclude()


def measure_beside(bench: Bench, world: World, halves: Recogniser, descriptor: Tensor) -> None:
    """The drive's condition, lessons of U, G and H; and whether halves change what is found."""
    found = halves.recognise(descriptor)
    device = world.device
    one, place = torch.zeros((), dtype=torch.float64, device=device), torch.zeros(1, dtype=torch.int64, device=device)
    bench.attempt("condition", lambda: bench.time(lambda: world.condition.note(descriptor, one)))
    bench.attempt("agreement", lambda: compare(world, halves, bench, descriptor))
    bench.attempt(
        "lesson of U, G and H", lambda: bench.time(lambda: world.places.learn(found.view, place, found.observed))
    )


def measure_products(bench: Bench, halves: Recogniser, queries: Tensor) -> None:
    """The kernel cut otherwise, and the library's product."""
    from tmapr.device.products import Cut, multiply_halves, multiply_rows

    rows, size = halves.memory.descriptors, halves.memory.nbytes
    bench.attempt("products by the library", lambda: bench.time(lambda: multiply_halves(rows, queries), size))
    for cut in (Cut(8, 512, 4, 3), Cut(8, 1024, 8, 3), Cut(16, 512, 8, 1), Cut(16, 512, 8, 4), Cut(32, 256, 8, 3)):
        work = partial(multiply_rows, rows, queries, cut)
        bench.attempt(f"products cut {tuple(cut)}", partial(bench.time, work, size))


def carry(bench: Bench, halves: Recogniser, descriptor: Tensor) -> Work:
    """A whole frame until the host has what it needs of it."""
    packed = torch.zeros(halves.packing.size, dtype=torch.float64, device=descriptor.device)
    replay = bench.capture(lambda: packed.copy_(halves.recognise(descriptor).packed))
    kept = torch.zeros(halves.packing.size, dtype=torch.float64, pin_memory=True)

    def work() -> None:
        replay()
        kept.copy_(packed, non_blocking=True)
        torch.cuda.current_stream().synchronize()

    return work


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure what recognising a frame costs on a device.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--references", type=int, default=20_000)
    parser.add_argument("--dimension", type=int, default=8448)
    parser.add_argument("--places", type=int, default=125)
    parser.add_argument("--frames", type=int, default=200, help="frames on which halves are compared with float64")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=38.0, help="no part is begun later")
    parser.add_argument("--out", type=Path, help="a JSON file of everything")
    given = parser.parse_args(arguments)
    start, device = perf_counter(), torch.device(given.device)
    bench = Bench(device, given.rounds, start + given.seconds)
    with torch.inference_mode():
        bench.attempt("copy", bench.copy)
        world = World.make(given.references, given.dimension, given.places, given.frames, device)
        bench.found["made in s"] = perf_counter() - start
        measure_parts(bench, world)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    sizes = {key: vars(given)[key] for key in ("references", "dimension", "places", "frames", "rounds")}
    notes = {"device": name, "torch": torch.__version__, "python": platform.python_version()} | sizes
    report = json.dumps({"benchmark": "device_recognition", "parts": bench.found, "notes": notes})
    if given.out:
        given.out.write_text(report)
    print(report)


if __name__ == "__main__":
    main()
