"""What crosses from the device to the host for a frame: several tensors, written into one, fetched by one copy."""

from collections.abc import Mapping
from itertools import accumulate, pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tmapr.device.graphs import Moment


class Crossing:
    """One tensor of float64 on the device, and where in it each part lies."""

    def __init__(self, sizes: Mapping[str, int], device: torch.device) -> None:
        bounds = pairwise(accumulate(sizes.values(), initial=0))
        self._parts = dict(zip(sizes, bounds, strict=True))
        self._there = torch.zeros(sum(sizes.values()), dtype=torch.float64, device=device)

    def __getitem__(self, name: str) -> Float[Tensor, " numbers"]:
        """A part on the device, to be written."""
        begin, end = self._parts[name]
        return self._there[begin:end]

    @property
    def nbytes(self) -> int:
        """Of all that crosses."""
        return self._there.nbytes

    def write(self, parts: Mapping[str, Tensor]) -> None:
        """Fill some parts, in few launches."""
        torch._foreach_copy_([self[name] for name in parts], [each.flatten() for each in parts.values()])

    def fetch(self, awaited: bool = True) -> "Fetched":
        """Begin to copy all of it, once it is written, into memory of its own: an estimate may keep it for ever.

        What nobody has to wait for is there when something is that was fetched later.
        """
        here = torch.empty(self._there.shape, dtype=torch.float64, pin_memory=self._there.is_cuda)
        here.copy_(self._there, non_blocking=True)
        done = Moment(self._there.device) if awaited else None
        if done:
            done.record()
        return Fetched(here, self._parts, done)


class Fetched:
    """What crossed, or is about to."""

    def __init__(
        self, here: Float[Tensor, " numbers"], parts: Mapping[str, tuple[int, int]], done: Moment | None
    ) -> None:
        self._here, self._parts, self._done = here.numpy(), parts, done

    def wait(self) -> None:
        """Until it is here."""
        if self._done is None:
            raise ValueError("it was fetched to be here when something else is")
        self._done.wait()

    def __getitem__(self, name: str) -> Float[np.ndarray, " numbers"]:
        begin, end = self._parts[name]
        return self._here[begin:end]
