"""Localizing with a device: where A_t keeps K and W, and who multiplies M₀ with a view."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from tmapr.gpu.encoder import mark_end
from tmapr.gpu.torch_matrices import TorchMatrices
from tmapr.places.matrices import MakeMatrices
from tmapr.retrieval.memory import Memory

Vector = Float32[np.ndarray, " dim"]


class GpuBackend:
    """What `--device cuda` stands for, beyond perception. Drives of one map share its references there."""

    def __init__(self, device: torch.device | str) -> None:
        self._device = torch.device(device)
        self._loaded: tuple[Memory, Memory] | None = None

    @property
    def make_matrices(self) -> MakeMatrices:
        """What keeps K and W there."""
        return partial(TorchMatrices, device=self._device)

    def load(self, memory: Memory) -> Memory:
        """The same references, multiplied on the device."""
        if self._loaded is None or self._loaded[0] is not memory:
            self._loaded = memory, replace(memory, multiply=References(memory.descriptors, self._device))
        return self._loaded[1]


class References:
    """Multiplies them with views, float32 as on the CPU; the last product is kept: a frame asks more than once."""

    def __init__(self, descriptors: Float32[np.ndarray, "refs dim"], device: torch.device) -> None:
        self._descriptors, self._device = torch.tensor(descriptors, device=device), device
        self._last: _Begun | None = None

    def begin(self, view: Vector) -> None:
        """The product that is asked for next; others may be asked for first."""
        self._last = self._launch(view)

    def __call__(self, view: Vector) -> Float32[np.ndarray, " refs"]:
        """The product with each; the caller must not change it."""
        last = self._last  # another drive of the map may begin meanwhile
        if last is None or not np.array_equal(last.view, view):
            self._last = last = self._launch(view)
        last.wait()
        return last.products.numpy()

    def _launch(self, view: Vector) -> "_Begun":
        products = (self._descriptors @ torch.from_numpy(view).to(self._device)).to("cpu", non_blocking=True)
        return _Begun(view, products, mark_end(self._device))


class _Begun(NamedTuple):
    view: Vector
    products: Float32[Tensor, " refs"]
    wait: Callable[[], object]
