"""Several processes that train one network, as `torchrun` starts them; without it there is one, which does everything.

Each takes its share of every batch and all gradients are summed, so all do what one process would with the whole
batch. (But batch norms: each process has the statistics of its share, and the first one's are kept.)
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as processes
from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Worker:
    """One process, this one: its number among so many."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes and talks."""
        return self.rank == 0

    def share(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, " share"]:
        """The rows of a batch that this process takes."""
        return rows[self.rank :: self.size]

    def sum_gradients(self, weights: Iterable[nn.Parameter]) -> None:
        """All processes' gradients, summed into everyone's; one that had no share has none to add."""
        if self.size == 1:
            return
        trained = [weight for weight in weights if weight.requires_grad]
        flat = torch.cat([_gradient_of(weight).flatten() for weight in trained])
        processes.all_reduce(flat)
        sizes = [weight.numel() for weight in trained]
        for weight, summed in zip(trained, torch.split(flat, sizes), strict=True):
            weight.grad = summed.view_as(weight)

    def sum(self, values: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The sum over all processes, in everyone's."""
        if self.size > 1:
            processes.all_reduce(values)
        return values

    def synchronise_buffers(self, network: nn.Module) -> None:
        """Take over what is no weight from the first process: the running statistics of batch norms."""
        if self.size > 1:
            for buffer in network.buffers():
                processes.broadcast(buffer, src=0)

    @contextmanager
    def leading(self) -> Iterator[None]:
        """The first process does this alone, the others do it after it: they find what it has made."""
        if self.size > 1 and not self.leads:
            processes.barrier()
        yield
        if self.size > 1 and self.leads:
            processes.barrier()


@contextmanager
def join_workers(device: str) -> Iterator[tuple[Worker, str]]:
    """Meet the other processes that `torchrun` has started; gives this one and its device."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Worker(), device
        return
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    processes.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Worker(processes.get_rank(), processes.get_world_size()), device
        processes.barrier()  # who leaves while another still receives from it takes that one down
    finally:
        processes.destroy_process_group()


def _gradient_of(weight: nn.Parameter) -> Tensor:
    return torch.zeros_like(weight) if weight.grad is None else weight.grad
