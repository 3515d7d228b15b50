"""A computation of fixed shapes that a GPU repeats by itself: captured once as a CUDA graph, then one launch a frame.

Elsewhere it is called as it is, so that what is captured is tested without a GPU.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import TypeVar

import torch
from torch import Tensor

Found = TypeVar("Found")
Parts = Generator[None, None, Found]
"""A computation that stops here and there: each part becomes a graph, and the first is at work when the next begins."""
Compute = Callable[[Tensor], Tensor | Parts[Tensor]]

_WARM_UPS = 3
"""Passes before the capture, in which libraries choose their kernels and take their workspaces."""


class Moment:
    """A moment on a GPU's current stream that the host can wait for; elsewhere everything is done already."""

    def __init__(self, device: torch.device) -> None:
        self._event = torch.cuda.Event() if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def record(self) -> None:
        """It is when all that was asked for so far is done."""
        if self._event:
            self._event.record()

    def wait(self) -> None:
        """Until it has come; if it was never recorded, not at all."""
        if self._event:
            self._event.synchronize()


def staying_on(device: torch.device) -> AbstractContextManager[object]:
    """Streams and events are those of this device meanwhile."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


class Queue:
    """Where lanes compute, one after the other: side by side two passes would end together, and then both be copied."""

    def __init__(self, device: torch.device) -> None:
        self.turn = Lock()
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        if self.stream:
            # What is there already, weights above all, was put there by somebody else's stream.
            self.stream.wait_stream(torch.cuda.current_stream(device))


class Lane:
    """Copies in and out on a stream of its own, beside what others compute in the same queue.

    Without a queue, and where there is no GPU, everything is done in order on the current stream.
    """

    def __init__(self, device: torch.device, queue: Queue | None = None) -> None:
        self._queue = queue if queue and queue.stream else None
        self._copies = torch.cuda.Stream(device) if self._queue else None  # type: ignore[no-untyped-call]

    def copying(self) -> AbstractContextManager[object]:
        """What is asked for meanwhile is done when this lane's last computing is done, whatever others compute."""
        return torch.cuda.stream(self._copies) if self._copies else nullcontext()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """What is asked for meanwhile is done when all that this lane copied is there, and others have computed."""
        if self._queue is None or self._queue.stream is None or self._copies is None:
            yield
            return
        with self._queue.turn, torch.cuda.stream(self._queue.stream):
            self._queue.stream.wait_stream(self._copies)
            yield
            self._copies.wait_stream(self._queue.stream)


def finish(parts: Parts[Found]) -> Found:
    """All parts at once, and what comes of them."""
    while (found := _take_part(parts)) is None:
        pass
    return found


def _take_part(parts: Parts[Found]) -> Found | None:
    """What comes of all, if this part was the last."""
    try:
        next(parts)
    except StopIteration as end:
        found: Found = end.value
        return found
    return None


class Replayed:
    """Reads `given` and gives the same tensor each time, overwritten; whoever keeps a result copies it.

    Of a graph with a hundred kernels the first begins when all have been handed over: a computation in parts begins
    sooner.
    """

    def __init__(self, compute: Compute, given: Tensor) -> None:
        self._compute = compute
        self._given = given
        self._graphs = list[torch.cuda.CUDAGraph]()
        if given.is_cuda:
            self._result = self._capture()

    def __call__(self) -> Tensor:
        """What comes of what is in `given` now, on the current stream; a GPU may still be at work on it."""
        if not self._graphs:
            with torch.inference_mode():
                return self._compute_now()
        for graph in self._graphs:
            graph.replay()
        return self._result

    def _compute_now(self) -> Tensor:
        found = self._compute(self._given)
        return found if isinstance(found, Tensor) else finish(found)

    def _capture(self) -> Tensor:
        with torch.cuda.device(self._given.device), torch.inference_mode():
            current = torch.cuda.current_stream()
            # Whoever has a queue is captured there: cuBLAS keeps one workspace for each stream that is captured, and
            # graphs that are at work side by side must not share it.
            own = None if current == torch.cuda.default_stream() else current
            aside = own or torch.cuda.Stream()  # type: ignore[no-untyped-call]
            aside.wait_stream(current)
            with torch.cuda.stream(aside):
                for _ in range(_WARM_UPS):
                    self._compute_now()
            current.wait_stream(aside)
            return self._capture_parts(own)

    def _capture_parts(self, own: torch.cuda.Stream | None) -> Tensor:
        pool = torch.cuda.graph_pool_handle()
        parts: Tensor | Parts[Tensor] | None = None
        found: Tensor | None = None
        while found is None:
            graph = torch.cuda.CUDAGraph()
            # Other threads may use the GPU meanwhile: what they do is none of this graph's.
            with torch.cuda.graph(graph, pool=pool, stream=own, capture_error_mode="thread_local"):
                parts = self._compute(self._given) if parts is None else parts
                found = parts if isinstance(parts, Tensor) else _take_part(parts)
            self._graphs.append(graph)
        return found


class Recorded:
    """Work on tensors that stay where they are: done the first time, recorded the second, replayed ever after.

    Recording does nothing of the work: what changes a state is changed once each time. Elsewhere than on a GPU it is
    done each time.
    """

    def __init__(self, work: Callable[[], object], device: torch.device) -> None:
        self._work, self._device = work, device
        self._graph: torch.cuda.CUDAGraph | None = None
        self._done = False

    def __call__(self) -> None:
        """Once more, on the current stream; a GPU may still be at work on it."""
        if self._graph is None:
            with torch.inference_mode():
                if not self._done or self._device.type != "cuda":
                    self._work()
                    self._done = True
                    return
                self._graph = self._record()
        self._graph.replay()

    def forget(self) -> None:
        """Tensors are other ones by now."""
        self._graph, self._done = None, False

    def _record(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.current_stream().synchronize()
        with torch.cuda.device(self._device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._work()
        return graph
