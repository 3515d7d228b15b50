"""M₀ on the device: what `retrieval.memory` compares views with, in half the bytes.

Two products with every descriptor are needed, of the view without its drive's condition and of the view as it is, and
both come from one read: that read is what a search costs. float16 halves it; products are summed in float32. A cosine
is then good to 1e-5 and the reference's own rounding is what is lost; see the tests for what that changes.
"""

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from tmapr.device.standardising import find_middle
from tmapr.device.triangle import runs_kernels
from tmapr.retrieval.memory import Memory

_ROWS = 4096
"""Half-precision rows that a CPU turns to float32 at a time."""


class DeviceMemory:
    """The references by row, and what is fixed about them. It never changes."""

    def __init__(self, memory: Memory, device: torch.device, dtype: torch.dtype = torch.float16) -> None:
        if not len(memory):
            raise ValueError("a map without references has nothing to compare with")
        self.device, self.size = device, len(memory)
        self.descriptors = torch.as_tensor(np.array(memory.descriptors)).to(device).to(dtype)
        self.positions = torch.as_tensor(np.array(memory.positions)).to(device)
        self.places = torch.as_tensor(np.array(memory.places)).to(device)
        self.probes = torch.as_tensor(np.array(memory.probes)).to(device)
        self.probed = torch.zeros(self.size, dtype=torch.bool, device=device)
        self.probed[self.probes] = True
        self.middle = find_middle(len(self.probes), device)
        self.mean = torch.as_tensor(np.array(memory.mean)).to(device)
        self.mean_square = float(memory.mean @ memory.mean)
        self.sharing = torch.as_tensor(np.array(memory.sharing)).to(device)

    @property
    def nbytes(self) -> int:
        """What one comparison reads."""
        return self.descriptors.nbytes

    def multiply(self, queries: Float32[Tensor, "k dim"]) -> Float[Tensor, "k refs"]:
        """The product of each of one or two queries with every descriptor, in one read."""
        rows = self.descriptors
        if rows.dtype is not torch.float16:
            return queries.to(rows.dtype) @ rows.T
        if runs_kernels(self.device):
            from tmapr.device.products import multiply_rows

            return multiply_rows(rows, queries)
        parts = [queries @ part.to(torch.float32).T for part in torch.split(rows, _ROWS)]
        return torch.cat(parts, dim=1)
