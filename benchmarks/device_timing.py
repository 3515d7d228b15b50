"""Time on a device: work recorded as a CUDA graph and timed by events, its launches counted; on a CPU by the clock."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

WARM_UPS = 3
Row = dict[str, object]
Work = Callable[[], object]
_VIEWS = {
    "expand", "view", "_unsafe_view", "select", "slice", "unsqueeze", "squeeze", "t", "transpose", "permute", "unbind",
    "split_with_sizes", "alias", "detach", "as_strided", "_reshape_alias", "empty", "empty_like", "split",
    "scalar_tensor",
}  # fmt: skip


class Counted(TorchDispatchMode):
    """Operations that are more than another look at the same memory: about the launches of a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, operation, types, given=(), named=None):  # type: ignore[no-untyped-def]
        """Count, and call."""
        self.count += operation._schema.name.split("::")[1] not in _VIEWS
        return operation(*given, **(named or {}))


class Clock:
    """Repeats work on a device, so many rounds."""

    def __init__(self, device: torch.device, rounds: int) -> None:
        self.rounds, self.on_gpu = rounds, device.type == "cuda"

    def time(self, work: Work) -> dict[str, float]:
        """Microseconds of one call: under a graph, by events; on a CPU by the clock."""
        repeat = self.capture(work) if self.on_gpu else work
        taken = []
        for _ in range(self.rounds):
            if self.on_gpu:
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                repeat()
                end.record()
                end.synchronize()
                taken.append(1e3 * begin.elapsed_time(end))
            else:
                began = perf_counter()
                repeat()
                taken.append(1e6 * (perf_counter() - began))
        return {"median_us": float(np.median(taken)), "p99_us": float(np.percentile(taken, 99))}

    def capture(self, work: Work) -> Work:
        """The work as a graph; a wait for the device in it is refused here."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UPS):
                work()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = work()

        def replay() -> object:
            graph.replay()
            return kept

        return replay

    def count_launches(self, work: Work) -> int:
        """Kernels that the profiler saw; where it sees none, operations that would be some."""
        seen = self._profile(work) if self.on_gpu else 0
        if seen:
            return seen
        with Counted() as counted:
            work()
        return counted.count

    def _profile(self, work: Work) -> int:
        from torch.profiler import ProfilerActivity, profile

        try:
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
                work()
                torch.cuda.synchronize()
        except RuntimeError:  # not every machine lets itself be profiled
            return 0
        return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in found.events())

    def measure(self, work: Work, moved: float, bandwidth: float) -> Row:
        """Its time, its launches, and the time of moving so many bytes."""
        return self.time(work) | {"launches": self.count_launches(work), "floor_us": 1e6 * moved / bandwidth}
