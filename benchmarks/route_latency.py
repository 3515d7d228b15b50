"""What a frame costs the route filter alone, on one thread: weigh, predict, the peak, the probable references.

    python benchmarks/route_latency.py [--references 1000,100000] [--frames N]

A long loop with a reference every two metres, made up, and evidence with one sharp peak that moves along it, sometimes
elsewhere. Lost means that the peak is in another place every time, which is what an unknown street looks like.
"""

import argparse
import os
import platform
from collections.abc import Iterator
from time import thread_time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from measure import Metric, conclude, show
from tmapr.retrieval.memory import Memory, remember
from tmapr.tracking import RouteModel
from tmapr.tracking.evidence import weigh
from tmapr.tracking.route import lay_route
from tmapr.tracking.route_filter import Motion, RouteFilter
from tmapr.types import NANOSECONDS, Comparison

BOUNDS = {"followed": 3.0, "lost": 15.0}
"""Milliseconds that a frame may cost on 100 000 references."""
SPACING, SPEED, SECONDS, RADIUS = 2.0, 8.0, 0.25, 10.0
LAPSES = 0.1
FIRST = 40
"""Frames until it is certain of a place."""


def make_loop(count: int) -> Memory:
    """A round loop."""
    turn = 2 * np.pi * np.arange(count) / count
    positions = SPACING * count / (2 * np.pi) * np.column_stack([np.cos(turn), np.sin(turn)])
    descriptors = np.random.default_rng(0).normal(size=(count, 16))
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    stamps = np.rint(np.arange(count) * SPACING / SPEED * NANOSECONDS).astype(np.int64)
    return remember(descriptors, positions, np.arange(count) // 8, stamps, frames=np.arange(count), probes=1)


def look_at(count: int, at: int) -> Comparison:
    """A view that looks like one reference and its neighbours."""
    apart = np.abs((np.arange(count) - at + count // 2) % count - count // 2)
    return Comparison(5.0 * np.exp(-0.5 * (apart / 2.0) ** 2), np.zeros(count))


def drive(count: int, frames: range, lapses: float) -> Iterator[Comparison]:
    """A drive at the mapped speed, a reference a frame; a share of the frames looks like anywhere."""
    rng = np.random.default_rng(1)
    for frame in frames:
        yield look_at(count, int(rng.integers(count)) if rng.random() < lapses else frame % count)


def time_frames(belief: RouteFilter, stream: Iterator[Comparison]) -> Float[np.ndarray, " frames"]:
    """Milliseconds of each frame, of this thread alone."""
    model, taken = belief.model, []
    metres = SPEED * SECONDS
    for compared in stream:
        began = thread_time()
        evidence = weigh(compared, belief.route, model, RADIUS)
        belief.observe(evidence, Motion(SECONDS, metres, None, metres / model.view))
        belief.find_peak(evidence, RADIUS)
        belief.weigh_references(1e-5)
        taken.append(1000.0 * (thread_time() - began))
    return np.array(taken)


def measure(count: int, frames: int) -> Iterator[Metric]:
    """Followed, and lost from a restart on."""
    belief = RouteFilter(lay_route(make_loop(count), RouteModel()), RouteModel())
    time_frames(belief, drive(count, range(FIRST), LAPSES))  # compiled, and certain of a place
    yield from _tell(count, "followed", time_frames(belief, drive(count, range(FIRST, FIRST + frames), LAPSES)))
    belief.restart()
    yield from _tell(count, "lost", time_frames(belief, drive(count, range(frames), 1.0)))


def _tell(count: int, state: str, taken: Float[np.ndarray, " frames"]) -> Iterator[Metric]:
    bound = BOUNDS[state]
    yield Metric(f"{count} references, {state}: median", float(np.median(taken)), "ms", bound=bound)
    yield Metric(f"{count} references, {state}: p95", float(np.percentile(taken, 95)), "ms", bound=bound)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--references", default="1000,100000", help="sizes of the map, separated by commas")
    parser.add_argument("--frames", type=int, default=100, help="frames of each state")
    given = parser.parse_args()
    metrics: list[Metric] = []
    with threadpool_limits(limits=1):
        for count in (int(each) for each in given.references.split(",")):
            metrics += show(f"One frame of the route filter, {count} references", measure(count, given.frames))
    conclude(
        "route latency", metrics, {"frames": given.frames, "processor": platform.machine(), "cores": os.cpu_count()}
    )


if __name__ == "__main__":
    main()
