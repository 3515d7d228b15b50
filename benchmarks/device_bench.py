"""A place to measure the device's update at: graphs and events of a GPU, or a CPU's clock; and frames to learn."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from time import perf_counter

import numpy as np
import torch

from tmapr.device.ridge import DeviceRidge
from tmapr.device.triangle import UPDATES
from tmapr.places.triangle import RANK

WEIGHTS = (1.0, 0.35, 0.35)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how much is measured."""

    device: torch.device
    dim: int
    classes: int
    updates: int
    check: int
    check_dim: int
    check_long: int

    @property
    def on_gpu(self) -> bool:
        """Whether there are graphs and events."""
        return self.device.type == "cuda"

    @property
    def triangle(self) -> int:
        """The bytes of the tiles."""
        panels = -(-self.dim // 64)
        return panels * (panels + 1) // 2 * 64 * 64 * 8

    def capture(self, work: Callable[[], object]) -> Callable[[], object]:
        """The same as a graph; a CPU has none."""
        if not self.on_gpu:
            return work
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(2):
                work()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return graph.replay

    def time(self, work: Callable[[], object], times: int, before: Callable[[], object] = lambda: None) -> np.ndarray:
        """Milliseconds of each call, without what is done before it."""
        if not self.on_gpu:
            return np.array([self._time_once(work, before) for _ in range(times)])
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(times)]
        for start, end in events:
            before()
            start.record()
            work()
            end.record()
        torch.cuda.synchronize()
        return np.array([start.elapsed_time(end) for start, end in events])

    @staticmethod
    def _time_once(work: Callable[[], object], before: Callable[[], object]) -> float:
        before()
        start = perf_counter()
        work()
        return 1e3 * (perf_counter() - start)

    def rows(self, count: int, dim: int, seed: int = 0) -> np.ndarray:
        """Three unit rows a frame, rectified, of a kind."""
        rng = np.random.default_rng(seed)
        rows = np.maximum(rng.normal(size=(count, 1, dim)) + 0.3 * rng.normal(size=(count, RANK, dim)), 0.0)
        return rows / np.linalg.norm(rows, axis=2, keepdims=True)


class Frames:
    """Rows and places that are put, one after the other, where a graph looks for them."""

    def __init__(self, bench: Bench, dim: int, count: int) -> None:
        rows = torch.from_numpy(bench.rows(count, dim)).to(bench.device)
        places = torch.arange(count, device=bench.device) * 7 % bench.classes
        self._all = cycle(zip(rows, places, strict=True))
        self.rows, self.place = rows[0].clone(), places[0].clone()
        self.weights = torch.tensor(WEIGHTS, dtype=torch.float64, device=bench.device)

    def advance(self) -> None:
        """The next frame."""
        rows, place = next(self._all)
        self.rows.copy_(rows)
        self.place.copy_(place)

    def learn(self, state: DeviceRidge) -> None:
        """What a graph holds."""
        state.observe(self.rows)
        state.absorb_place(self.place, self.weights)
        state.flush(UPDATES)
