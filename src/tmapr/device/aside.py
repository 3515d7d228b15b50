"""Work beside other work on a GPU: a stream that forks from the current one and joins it again.

Captured in a graph, the two become branches of it. What is done aside goes first wherever both could: it is meant for
small steps that would wait behind a great one. Tensors made aside are taken from memory that only what is done aside
takes, and that begins after everything before it: so nobody has to tell the allocator who else reads them.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

_FIRST = -5
"""The highest priority of streams that CUDA knows; where there are fewer, it takes the highest."""


class Aside:
    """A stream aside on a GPU; elsewhere everything is done in its order."""

    def __init__(self, device: torch.device) -> None:
        self._stream = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device, priority=_FIRST)  # type: ignore[no-untyped-call]

    def follow(self) -> None:
        """What is done aside next waits for what was asked for so far, and for nothing that is asked for later."""
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))

    @contextmanager
    def stay(self) -> Iterator[None]:
        """What is asked for inside is done aside, after all that it follows."""
        with nullcontext() if self._stream is None else torch.cuda.stream(self._stream):
            yield

    @contextmanager
    def begin(self) -> Iterator[None]:
        """What is asked for inside is done aside, after all that was asked for so far."""
        self.follow()
        with self.stay():
            yield

    def join(self) -> None:
        """What is asked for from now on is done after what is done aside."""
        if self._stream is not None:
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)
