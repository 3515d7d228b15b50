"""What a frame costs to perceive on a GPU: 640×512 uint16 in host memory → unit descriptor, pose and fault.

`python benchmarks/device_perception.py` times a ViT-B/14 with both heads (random weights: no step depends on them) in
float16, bfloat16 and float32 under CUDA graphs, and in float32 as one would write it down, in one run. A stage's time
is the GPU's own, by events, of frames in a queue; `whole` is the clock's, one frame after another. Every part is
guarded: what fails is told, and the others go on. Where there is no OpenCV, the host's pictures are torch's, which
tests hold to OpenCV's.
"""

import argparse
import json
import platform
import traceback
from collections.abc import Callable, Iterable
from copy import copy, deepcopy
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor, nn

from device_scenes import OPENCV, SCENES, SIDES, SIZE, make_network, make_scenes
from tmapr.device.fused_preparation import ChoosePreparation, choose_preparation
from tmapr.device.graphs import Replayed
from tmapr.device.perceiving import DeviceEye, SeeingNetwork
from tmapr.device.precision import lower_precision
from tmapr.device.preparation import Preparation
from tmapr.perception.image import Image
from tmapr.perception.network import move_network

KINDS = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
IMAGE, DEPTH = Image(), np.dtype(np.uint16)
Sides = tuple[int, int]
Rows = dict[str, object]
Part = Callable[["Bench"], Rows]


class Bench:
    """What every part needs: the frames, the network in float32, and how time passes on the device."""

    def __init__(self, device: str, frames: int, *, small: bool) -> None:
        self.device = torch.device(device)
        self.frames = frames
        self.scenes = make_scenes()
        self.network = make_network(small=small)
        self.on_device = self.device.type == "cuda"
        self.choose: ChoosePreparation = choose_preparation

    def build_pass(self) -> SeeingNetwork:
        """The whole pass in float16."""
        prepare = self.choose(IMAGE, SIDES, DEPTH, SIZE, self.device)
        network = move_network(lower_precision(self.network, torch.float16), self.device)
        return SeeingNetwork(prepare, network).to(self.device)

    def shorten(self, share: float) -> "Bench":
        """The same with fewer frames."""
        shorter = copy(self)
        shorter.frames = max(1, round(share * self.frames))
        return shorter

    def settle(self) -> None:
        """Wait until the device has done what was asked of it."""
        if self.on_device:
            torch.cuda.synchronize()

    def time_queued(self, work: Callable[[int], object]) -> np.ndarray:
        """Milliseconds of each frame on the device, frames in a queue: no gap in it is the host's."""
        for index in range(5):
            work(index)
        if not self.on_device:
            return self.time_alone(work)
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(self.frames + 1)]
        self.settle()
        marks[0].record()
        for index in range(self.frames):
            work(index)
            marks[index + 1].record()
        self.settle()
        return np.array([before.elapsed_time(after) for before, after in pairwise(marks)])

    def time_alone(self, work: Callable[[int], object]) -> np.ndarray:
        """Milliseconds on the clock of one frame after another, until the device has done it."""
        taken = []
        for index in range(-5, self.frames):
            self.settle()
            start = perf_counter()
            work(index)
            self.settle()
            taken.append(1e3 * (perf_counter() - start))
        return np.array(taken[5:])

    def give(self, index: int) -> np.ndarray:
        """The next frame, in host memory."""
        return self.scenes[index % SCENES]

    def place(self, index: int = 0) -> Tensor:
        """A frame on the device."""
        return to_batch(self.give(index)).to(self.device)


def tell(times: np.ndarray) -> Rows:
    return {
        "median_ms": float(np.median(times)),
        "p99_ms": float(np.percentile(times, 99)),
        "worst_ms": float(times.max()),
    }


def check_pictures(bench: Bench) -> Rows:
    """Prepared there and by the host: how many pixels differ, and by how much; kernels that do not agree are left."""
    on_host = prepare_by_torch(IMAGE, SIDES, DEPTH, SIZE, torch.device("cpu"))
    pictures = [IMAGE.prepare(each, SIZE, "area") if OPENCV else on_host(to_batch(each))[0][0] for each in bench.scenes]
    expected = np.array([np.asarray(picture, int) for picture in pictures])
    found: Rows = {"host": "OpenCV" if OPENCV else "torch on the CPU"}
    for name, choose in {"torch": prepare_by_torch, "kernels": choose_preparation}.items():
        try:
            found[name] = compare_pictures(bench, choose(IMAGE, SIDES, DEPTH, SIZE, bench.device), expected)
        except Exception as error:
            traceback.print_exc()
            found[name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
    right = found["kernels"] == found["torch"]
    bench.choose = choose_preparation if right else prepare_by_torch
    return found | {"seen with": "kernels" if right else "torch"}


def compare_pictures(bench: Bench, prepare: nn.Module, expected: np.ndarray) -> Rows:
    prepare.to(bench.device)
    seen = np.concatenate([prepare(bench.place(index))[0].cpu().numpy() for index in range(SCENES)])
    apart = np.abs(seen - expected)
    flat = [np.full(SIDES, count, np.uint16) for count in (3600, 16383)]
    codes = [int(prepare(to_batch(counts).to(bench.device))[1][0]) for counts in (bench.give(0), *flat)]
    return {
        "pixels": apart.size,
        "differing": int(np.count_nonzero(apart)),
        "most_levels": int(apart.max()),
        "faults_as_expected": codes == [0, 1, 2],
    }


def prepare_by_torch(image: Image, given: Sides, depth: np.dtype, size: Sides, device: torch.device) -> nn.Module:
    return Preparation(image, given, depth, size).to(device)


def to_batch(counts: np.ndarray) -> Tensor:
    return torch.from_numpy(counts.copy())[None]


def time_preparations(bench: Bench) -> Rows:
    """By torch's verbs and by kernels, each as a graph, and by the host."""
    counts, found = bench.place(), {}
    for name, choose in {"torch": prepare_by_torch, "chosen": bench.choose}.items():
        prepare = choose(IMAGE, SIDES, DEPTH, SIZE, bench.device).to(bench.device)
        replayed = Replayed(lambda given, prepare=prepare: prepare(given)[0], counts)
        found[name] = tell(bench.time_queued(lambda _, replayed=replayed: replayed()))
    if OPENCV:
        found["OpenCV, host"] = tell(bench.time_alone(lambda index: IMAGE.prepare(bench.give(index), SIZE, "area")))
    return dict(found)


def check_waiting(bench: Bench) -> Rows:
    """A whole pass while torch refuses whatever waits for the device."""
    network = bench.build_pass()
    counts = bench.place()
    with torch.inference_mode():
        network(counts)
        bench.settle()
        if not bench.on_device:
            return {"waits": "not seen without a GPU"}
        torch.cuda.set_sync_debug_mode("error")
        try:
            network(counts)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return {"waits": "none"}


def compare_precisions(bench: Bench) -> Rows:
    """Cosines between descriptors of half the bits and of all, and poses."""
    found = {name: see_all(bench, kind) for name, kind in KINDS.items()}
    rows: Rows = {}
    for name in ("float16", "bfloat16"):
        cosines = (found[name][0] * found["float32"][0]).sum(axis=1)
        rows[f"{name}_cosine_least"] = float(cosines.min())
        rows[f"{name}_pose_apart"] = float(np.abs(found[name][1] - found["float32"][1]).max())
    among = found["float32"][0] @ found["float32"][0].T
    rows["cosine_between_scenes_largest"] = float((among - 2 * np.eye(SCENES)).max())
    return rows


def see_all(bench: Bench, kind: torch.dtype) -> tuple[np.ndarray, np.ndarray]:
    eye = DeviceEye(deepcopy(bench.network), IMAGE, SIZE, str(bench.device), kind, bench.choose)
    seen = [eye.see([counts]).outputs for counts in bench.scenes]
    poses = [np.concatenate([one.positions, one.headings], axis=1) for one in seen]
    return np.concatenate([one.descriptors for one in seen]).astype(float), np.concatenate(poses)


def compare_graph(bench: Bench) -> Rows:
    """What a replayed graph says of each scene, against the same computation called."""
    network = bench.build_pass()
    given = bench.place()
    run, apart = Replayed(network, given), 0.0
    for index in range(SCENES):
        given.copy_(bench.place(index))
        with torch.inference_mode():
            apart = max(apart, float((run() - network(bench.place(index))).abs().max()))
    return {"graph_and_call_apart": apart}


def time_eye(bench: Bench, name: str) -> Rows:
    """One precision by graphs: each stage alone in a queue, then whole frames on the clock."""
    kind, counts = KINDS[name], bench.place()
    eye = DeviceEye(deepcopy(bench.network), IMAGE, SIZE, str(bench.device), kind, bench.choose)
    network = move_network(lower_precision(deepcopy(bench.network), kind), bench.device)
    prepare = bench.choose(IMAGE, SIDES, DEPTH, SIZE, bench.device).to(bench.device)
    with torch.inference_mode():
        pictures = prepare(counts)[0].clone()
    preparing = Replayed(lambda given: prepare(given)[0], counts)
    seeing = Replayed(lambda given: torch.cat(network(given), dim=1), pictures)
    waiting = to_batch(bench.give(0)).pin_memory() if bench.on_device else to_batch(bench.give(0))
    rows = eye.launch([bench.give(0)]).descriptors
    fetched = torch.zeros(rows.shape, pin_memory=bench.on_device)
    stages: dict[str, Callable[[int], object]] = {
        "copy in": lambda _: counts.copy_(waiting, non_blocking=True),
        "preparation": lambda _: preparing(),
        "network and heads": lambda _: seeing(),
        "copy out": lambda _: fetched.copy_(rows, non_blocking=True),
        "all, queued": lambda index: eye.launch([bench.give(index)]),
    }
    found: Rows = {stage: tell(bench.time_queued(work)) for stage, work in stages.items()}
    found["host to pinned memory"] = tell(
        bench.time_alone(lambda index: np.copyto(waiting.numpy()[0], bench.give(index)))
    )
    found["whole, descriptor on the device"] = tell(bench.time_alone(lambda index: eye.launch([bench.give(index)])))
    found["whole, back on the host"] = tell(bench.time_alone(lambda index: eye.see([bench.give(index)])))
    return found


def time_eager(bench: Bench) -> Rows:
    """Float32 as one writes it down: pictures by the host, network called, results by `.cpu()`."""
    network = move_network(deepcopy(bench.network), bench.device)
    host = bench.choose(IMAGE, SIDES, DEPTH, SIZE, bench.device).to(bench.device)

    def prepare(index: int) -> Tensor:
        if not OPENCV:
            return host(bench.place(index))[0]
        return torch.from_numpy(np.asarray(IMAGE.prepare(bench.give(index), SIZE, "area")))[None].to(bench.device)

    with torch.inference_mode():
        picture = prepare(0)
        return {
            "preparation by": "OpenCV on the host" if OPENCV else "torch, called",
            "preparation and copy in": tell(bench.time_alone(prepare)),
            "network and heads, queued": tell(bench.time_queued(lambda _: network(picture))),
            "whole, back on the host": tell(bench.time_alone(lambda i: [each.cpu() for each in network(prepare(i))])),
        }


def time_batches(bench: Bench) -> Rows:
    """Images a second where many go through at once, from host memory."""
    eye, found = DeviceEye(deepcopy(bench.network), IMAGE, SIZE, str(bench.device), choose=bench.choose), {}
    for size in (8, 32) if bench.on_device else (2,):
        batch = [bench.give(index) for index in range(size)]
        eye.see(batch)
        start, rounds = perf_counter(), max(1, min(50, bench.frames // size))
        for _ in range(rounds):
            eye.see(batch)
        found[f"batches of {size}, images/s"] = rounds * size / (perf_counter() - start)
    return dict(found)


def list_kernels(bench: Bench) -> Rows:
    """Which kernels one float16 pass consists of, by the profiler: how many, and the slowest."""
    from torch.profiler import ProfilerActivity, profile

    network = bench.build_pass()
    counts, found = bench.place(), {}
    for name, work in {"preparation": network.prepare, "pass": network}.items():
        with torch.inference_mode():
            work(counts)
            bench.settle()
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
                work(counts)
                bench.settle()
        kernels = [event for event in seen.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        slowest = sorted(kernels, key=lambda event: -event.device_time_total)[:12]
        found[name] = {
            "kernels": len(kernels),
            "us": sum(event.device_time_total for event in kernels),
            "slowest": [f"{event.device_time_total:.1f} us {event.name[:70]}" for event in slowest],
        }
    return dict(found)


PARTS: dict[str, Part] = {
    "pictures": check_pictures,
    "preparation": time_preparations,
    "waiting": check_waiting,
    "graph": compare_graph,
    "float16": lambda bench: time_eye(bench, "float16"),
    "eager float32": time_eager,
    "precisions": compare_precisions,
    "bfloat16": lambda bench: time_eye(bench, "bfloat16"),
    "float32": lambda bench: time_eye(bench.shorten(0.3), "float32"),
    "batches": time_batches,
    "kernels": list_kernels,
}


def format_row(name: str, value: object) -> str:
    if isinstance(value, dict) and "median_ms" in value:
        median, late, worst = (value[f"{name}_ms"] for name in ("median", "p99", "worst"))
        return f"  {name:<34} median {median:8.4f}  P99 {late:8.4f}  worst {worst:8.4f} ms"
    if isinstance(value, dict):
        return "\n".join(format_row(f"{name}: {key}", inner) for key, inner in value.items())
    if isinstance(value, list):
        return "\n".join(f"      {line}" for line in value)
    return f"  {name:<34} {value}"


def measure(bench: Bench, parts: Iterable[str] = PARTS) -> dict[str, Rows]:
    """Every part that works, printed as soon as it is there."""
    found: dict[str, Rows] = {}
    for name in parts:
        start = perf_counter()
        try:
            found[name] = PARTS[name](bench)
        except Exception as error:
            traceback.print_exc()
            found[name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
        print(f"{name}  ({perf_counter() - start:.1f} s)")
        print(*(format_row(*row) for row in found[name].items()), sep="\n", flush=True)
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--small", action="store_true", help="a small network, for a test")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, help="the same as JSON")
    given = parser.parse_args(arguments)
    bench = Bench(given.device, given.frames, small=given.small)
    card = torch.cuda.get_device_name() if bench.on_device else platform.processor()
    print(f"{card}, torch {torch.__version__}, {given.frames} frames of {SIDES[1]}x{SIDES[0]} uint16", flush=True)
    found = measure(bench, given.parts)
    if given.out:
        notes = {"device": card, "torch": torch.__version__, "frames": given.frames, "small": given.small}
        given.out.write_text(json.dumps(notes | found, indent=1) + "\n")


if __name__ == "__main__":
    main()
