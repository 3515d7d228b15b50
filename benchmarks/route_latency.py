"""What a view costs the route filter alone: predict, update and the peak, on one thread.

    python benchmarks/route_latency.py [--references 1000,100000] [--views N]

A long loop with a reference every two metres, made up, and evidence with one sharp peak that moves along it, sometimes
elsewhere. Off the map the evidence has a peak in another place every time, which is what an unknown street looks like.
The first views are those from a restart on, until a place is certain.
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
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from measure import Metric, conclude, show
from tmapr.tracking.filter import RouteFilter
from tmapr.tracking.route import Route
from tmapr.tracking.speeds import Step

BOUNDS = {1_000: 1.0, 100_000: 4.0}
"""Milliseconds that a view may cost, by references."""
SPACING, SPEED, CELL, RADIUS = 2.0, 8.0, 15.0, 10.0
FLOOR, LAPSES = 0.05, 0.1
FIRST = 8
"""Views after a restart."""


def make_loop(count: int) -> Route:
    """A winding loop whose views are four metres long."""
    turn = 2 * np.pi * np.arange(count) / count
    radius = SPACING * count / (2 * np.pi) * np.column_stack([np.cos(turn), np.sin(turn)])
    _, places = np.unique(np.floor(radius / CELL), axis=0, return_inverse=True)
    rng = np.random.default_rng(0)
    return Route(
        rows=np.arange(count),
        positions=radius,
        places=places.ravel(),
        first=np.array([0]),
        edges=SPACING * (np.arange(count + 1) - 0.5),
        closed=np.array([True]),
        lengths=2.0 * SPACING * np.exp(0.3 * rng.normal(size=count)),
        view=0.2,
        speed=SPEED,
        spacing=SPACING,
        headings=np.full(count, np.nan),
        likeness=np.full(count, 0.5),
        links=np.zeros((0, 2), dtype=np.int64),
        tree=cKDTree(radius),
    )


def look_at(count: int, at: int) -> Float[np.ndarray, " refs"]:
    """Log-evidence of a view that looks like one reference and its neighbours."""
    apart = np.abs((np.arange(count) - at + count // 2) % count - count // 2)
    seen = np.exp(-0.5 * (apart / 2.0) ** 2)
    evidence: Float[np.ndarray, " refs"] = np.log(FLOOR + (1 - FLOOR) * seen / seen.mean())
    return evidence


def drive(count: int, views: int, lapses: float) -> Iterator[Float[np.ndarray, " refs"]]:
    """Evidence of a drive at the mapped speed, two references a view; a share of the views looks like anywhere."""
    rng = np.random.default_rng(1)
    for view in range(views):
        anywhere = int(rng.integers(count))
        yield look_at(count, anywhere if rng.random() < lapses else (2 * view) % count)


def time_views(
    belief: RouteFilter, stream: Iterator[Float[np.ndarray, " refs"]], begins: bool = False
) -> Float[np.ndarray, " views"]:
    """Milliseconds of each view, of this thread alone; the view that a drive begins with follows no motion."""
    step, taken = Step(2 * SPACING / SPEED, 1.3), []
    for evidence in stream:
        began = thread_time()
        begun = begins and not taken
        belief.update(evidence, np.zeros(len(evidence)) if begun else belief.predict(step))
        belief.find_peak(RADIUS)
        taken.append(1000.0 * (thread_time() - began))
    return np.array(taken)


def measure(count: int, views: int) -> Iterator[Metric]:
    """Tracking, lost, and the first views."""
    belief = RouteFilter(make_loop(count))
    time_views(belief, drive(count, 2 * FIRST, LAPSES))  # compiled, and certain of a place
    yield from _tell(count, "tracking", time_views(belief, drive(count, views, LAPSES)))
    time_views(belief, drive(count, 2 * FIRST, 1.0))
    yield from _tell(count, "off the map", time_views(belief, drive(count, views, 1.0)))
    first = []
    for _ in range(max(3, views // (4 * FIRST))):
        belief.restart()
        first.append(time_views(belief, drive(count, FIRST, LAPSES), begins=True))
    yield from _tell(count, "first views", np.concatenate(first))


def _tell(count: int, state: str, taken: Float[np.ndarray, " views"]) -> Iterator[Metric]:
    bound = BOUNDS.get(count)
    yield Metric(f"{count} references, {state}: median", float(np.median(taken)), "ms", bound=bound)
    yield Metric(f"{count} references, {state}: p95", float(np.percentile(taken, 95)), "ms", bound=bound)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--references", default="1000,100000", help="sizes of the map, separated by commas")
    parser.add_argument("--views", type=int, default=100, help="views of each state")
    given = parser.parse_args()
    metrics: list[Metric] = []
    with threadpool_limits(limits=1):
        for count in (int(each) for each in given.references.split(",")):
            metrics += show(f"One view of the route filter, {count} references", measure(count, given.views))
    conclude("route latency", metrics, {"views": given.views, "processor": platform.machine(), "cores": os.cpu_count()})


if __name__ == "__main__":
    main()
