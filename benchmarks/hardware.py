"""What a frame costs in operations and bytes, measured here, and what that would mean on boards that we do not have.

Multiply-adds and bytes are counted: of the networks in their ONNX graphs, of the online half from the sizes of its
arrays. Times are of one thread in this run, beside what this thread reaches on a large product of matrices and on a
copy. A board's time is this one's, times how much slower its cores multiply or its memory moves, whichever is more; it
is taken to reach seven tenths of what is published of it. That is an estimate, and it was not run there.

    python benchmarks/hardware.py runs/demo
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import thread_time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import onnx
import onnxruntime
import typer

import tmapr
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import read_experiment
from tmapr.latency.bench import find_processor
from tmapr.perception.keypoints import SHIPPED as KEYPOINTS
from tmapr.perception.keypoints import choose_size
from tmapr.perception.onnx import INPUT
from tmapr.perception.onnx import SHIPPED as PERCEIVER

ROUNDS = 30
SIZES = {PERCEIVER: (224, 224), KEYPOINTS: choose_size(512, 640)}
"""Of the pictures that each network is given, of a camera of 640 × 512."""

REACHED = 0.7
"""Of what is published of a board."""


@dataclass(frozen=True, slots=True)
class Board:
    """What one core reaches in float32, operations (two a multiply-add) a second, and the memory, bytes a second."""

    name: str
    peak: float
    bandwidth: float


BOARDS = (
    # Cortex-A76 at 2.4 GHz and A78AE at 1.7 GHz: two 128-bit multiply-add pipes, so 16 operations a cycle.
    Board("Raspberry Pi 5", REACHED * 16 * 2.4e9, REACHED * 17.1e9),
    Board("Jetson Orin Nano (CPU)", REACHED * 16 * 1.7e9, REACHED * 102e9),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a frame's way: multiply-adds, bytes that are read and written, and seconds of one thread here."""

    name: str
    multiplied: float
    moved: float
    seconds: float

    def scale_to(self, board: Board, here: Board) -> float:
        """Seconds of one of the board's cores, about."""
        return self.seconds * max(here.peak / board.peak, here.bandwidth / board.bandwidth)


def count_network(path: Path) -> tuple[float, float]:
    """Multiply-adds of one picture, and bytes: of weights, which are read, and of results, written and read again."""
    model = onnx.load(path)
    (given,) = model.graph.input
    for dimension, size in zip(given.type.tensor_type.shape.dim, (1, *SIZES[path]), strict=True):
        dimension.dim_value = size
    model.graph.ClearField("value_info")
    for told in model.graph.output:
        told.type.tensor_type.ClearField("shape")
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    shapes = {
        info.name: [max(1, dimension.dim_value) for dimension in info.type.tensor_type.shape.dim]
        for info in (*graph.value_info, *graph.input, *graph.output)
    }
    weights = {each.name: each for each in graph.initializer}
    shapes |= {name: list(each.dims) for name, each in weights.items()}
    multiplied = sum(_count_node(node, shapes) for node in graph.node)
    stored = sum(onnx.numpy_helper.to_array(each).nbytes for each in weights.values())
    written = sum(4.0 * np.prod(shapes.get(name, [0])) for node in graph.node for name in node.output)
    return float(multiplied), float(stored + 2 * written)


def _count_node(node: onnx.NodeProto, shapes: dict[str, list[int]]) -> float:
    out = np.prod(shapes.get(node.output[0], [0]), dtype=float)
    if node.op_type == "Conv":
        return float(out * np.prod(shapes[node.input[1]][1:], dtype=float))
    if node.op_type in ("MatMul", "Gemm"):
        inner = shapes.get(node.input[0], [0])
        transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        return float(out * (inner[0] if transposed else inner[-1]))
    return 0.0


def list_stages(folder: RunFolder) -> Iterator[Stage]:
    """The parts of a frame's way: the networks, all that comes after perception, and learning a frame."""
    for name, path in (("encoder and descriptor", PERCEIVER), ("keypoints", KEYPOINTS)):
        yield Stage(name, *count_network(path), time_thread(open_network(path)))
    localizer = tmapr.load(folder.path).new_drive()
    night = Recording.load(folder.percepts(read_experiment(folder.experiment).data.test[0]))
    seen = [percept for percept in night.percepts if not percept.fault]
    ridge, memory = localizer.classifier.ridge, localizer.memory
    d, classes = ridge.weights.shape
    triangle, weights = 4.0 * d * (d + 1), 8.0 * d * classes  # float64
    lift = float(d * memory.descriptors.shape[1])  # a byte each
    views = iter(seen)
    yield Stage(
        f"localization in {len(memory)} references, {classes} places",
        d * (d + 1) / 2 + d * classes + lift + memory.descriptors.size,
        triangle + weights + lift + memory.descriptors.nbytes,
        time_thread(lambda: localizer.observe(next(views)), len(seen) - 1),
    )
    labels = iter(zip(seen, night.truth, strict=False))
    yield Stage(
        "learning a frame (three rows)",
        3 * (d * (d + 1) + 2 * d * classes + lift),
        2 * (triangle + weights) + lift,
        time_thread(lambda: localizer.learn(*next(labels)), len(seen) - 1),
    )


def open_network(path: Path) -> Callable[[], object]:
    """One picture through a network on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    picture = np.random.default_rng(0).integers(0, 255, (1, *SIZES[path]), dtype=np.uint8)
    return partial(session.run, None, {INPUT: picture})


def time_thread(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Mean seconds that this thread spends, after a first time that does not count."""
    work()
    spent = []
    for _ in range(rounds):
        began = thread_time()
        work()
        spent.append(thread_time() - began)
    return float(np.mean(spent))


def measure_here() -> Board:
    """What this thread reaches: a large product in float32, and reading while writing."""
    side, large = np.ones((1024, 1024), np.float32), np.ones(2**25, np.float32)
    target = np.empty_like(large)
    product, copy = time_thread(partial(np.dot, side, side)), time_thread(partial(np.copyto, target, large))
    return Board("here", 2 * 1024**3 / product, 2 * large.nbytes / copy)


def main(run: Path) -> None:
    here, stages = measure_here(), list(list_stages(RunFolder(run)))
    reached = f"{here.peak / 1e9:.0f} GFLOP/s in a product of matrices, {here.bandwidth / 1e9:.1f} GB/s in a copy"
    print(f"One thread here ({find_processor()}): {reached}.\n")
    names = " | ".join(f"{board.name}, about" for board in BOARDS)
    print(f"| one frame on one core | 10⁶ multiply-adds | MB moved | ms here | {names} |")
    print("|---" * (4 + len(BOARDS)) + "|")
    for stage in stages:
        there = " | ".join(f"{1e3 * stage.scale_to(board, here):.0f}" for board in BOARDS)
        counted = f"{stage.multiplied / 1e6:.1f} | {stage.moved / 1e6:.1f} | {1e3 * stage.seconds:.1f}"
        print(f"| {stage.name} | {counted} | {there} |")
    for name, parts in {"image to estimate": stages[:-1], "the same, learning": stages}.items():
        there = " | ".join(f"{1e3 * sum(part.scale_to(board, here) for part in parts):.0f}" for board in BOARDS)
        print(f"| **{name}** | | | {1e3 * sum(part.seconds for part in parts):.1f} | {there} |")


if __name__ == "__main__":
    typer.run(main)
