"""A drive's condition on the device: `retrieval.condition` with the mean where the views are.

The mean of what a drive's views share is as long as a descriptor, and each view enters it by a share that the route
filter finds: kept on the host it would cost a crossing in each direction. Stamps stay on the host, which knows them
before the frame: whether it belongs to the drive is one number, written to the device only when it changes.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tmapr.artifacts.arrays import Arrays
from tmapr.device.blocks import BLOCK, Blocks
from tmapr.device.triangle import runs_kernels
from tmapr.retrieval.condition import ANOTHER_DRIVE, FEW, MOST, REMEMBERED, SHORTEST


class DeviceShared(NamedTuple):
    """What the views of a drive share; `known` is 0 and the weight too where nothing is known of them."""

    mean: Float[Tensor, " dim"]
    length: Float[Tensor, ""]
    weight: Float[Tensor, ""]
    known: Float[Tensor, ""]

    def remove(self, descriptor: Float[Tensor, " dim"]) -> Float[Tensor, " dim"]:
        """What a view has of its own; of no particular length."""
        return torch.addcmul(descriptor, self.weight, self.mean, value=-1)

    def exchange(self, descriptor: Float[Tensor, " dim"], mapped: Float[Tensor, " dim"]) -> Float[Tensor, " dim"]:
        """The view as it would be where views share the map's mean instead, at length 1."""
        moved = descriptor - self.weight * (self.mean - mapped)
        length = torch.linalg.vector_norm(moved)
        return torch.where(self.known * length > SHORTEST, moved / length, descriptor)

    def measure(self, descriptor: Float[Tensor, " dim"]) -> Float[Tensor, ""]:
        """How like it a view looks: the cosine."""
        return torch.dot(descriptor, self.mean) / self.length


class DeviceCondition:
    """Owns the mean of the views of one drive after another."""

    def __init__(self, dimension: int, device: torch.device) -> None:
        self.mean = torch.zeros(dimension, dtype=torch.float64, device=device)
        # What a frame needs of them is found when a view is noted, which nobody waits for.
        self.state = torch.zeros(4, dtype=torch.float64, device=device)
        self._views, self._weight, self._length, self._known = self.state[:, None].unbind()
        self.constants = self.mean.new_tensor([FEW, MOST, REMEMBERED, SHORTEST])
        self._compiled = runs_kernels(device)
        self._blocks = Blocks.of(dimension)
        self._sums = self.mean.new_empty(self._blocks.number)
        self._measure()
        self._believed = False
        self._stamp: int | None = None

    def turn_to(self, stamp: int) -> bool:
        """Before a frame, on the host: whether the frame belongs to the drive so far."""
        known = self._stamp is not None and 0 <= stamp - self._stamp <= ANOTHER_DRIVE
        if known != self._believed:
            self._known.fill_(float(known))
            self._believed = known
        return known

    def keep(self, stamp: int) -> None:
        """After a frame was noted, on the host: the drive is known from this stamp on."""
        self._stamp = stamp

    def recall(self) -> DeviceShared:
        """What the views share, of the drive that was turned to."""
        return DeviceShared(self.mean, self._length[0], (self._known * self._weight)[0], self._known[0])

    def note(self, descriptor: Float[Tensor, " dim"], share: Float[Tensor, ""]) -> None:
        """Count a view, as far as it is a new one of the map; without a share only time goes on."""
        if self._compiled:
            self._launch_note(descriptor, share)
            return
        before = self._known * self.mean
        self._views.copy_((self._known * self._views + share).clamp_max(REMEMBERED))
        rate = torch.where(share > 0, share / self._views, 0.0)
        self.mean.copy_(before + rate * (descriptor - before))
        self._measure()

    def _launch_note(self, descriptor: Float[Tensor, " dim"], share: Float[Tensor, ""]) -> None:
        from tmapr.device import condition_kernels

        condition_kernels.note_view[(self._blocks.number,)](
            *(descriptor, share, self.state, self.constants, self.mean, self._sums),
            *(self._blocks.width, self._blocks.number),
            BLOCK=BLOCK,
            num_warps=1,
        )
        self._launch_measure(share)

    def _launch_measure(self, share: Float[Tensor, ""] | None) -> None:
        from tmapr.device import condition_kernels

        condition_kernels.measure_mean[(1,)](
            *(self.state if share is None else share, self.state, self.constants, self._sums, self._blocks.number),
            COUNTS=share is not None,
            BLOCKS_UP=self._blocks.number_up,
            num_warps=1,
        )

    def _measure(self) -> None:
        if self._compiled:
            from tmapr.device import block_sums

            block_sums.square_blocks[(self._blocks.number,)](
                self.mean, self._sums, self._blocks.width, self._blocks.number, BLOCK=BLOCK, num_warps=1
            )
            self._launch_measure(None)
            return
        self._weight.copy_(MOST * self._views / (self._views + FEW))
        self._length.copy_(torch.linalg.vector_norm(self.mean).clamp_min(SHORTEST))

    def arrays(self) -> dict[str, np.ndarray]:
        """As `Condition.arrays` gives it; reads the device."""
        if self._stamp is None:
            return {}
        mean, views = self.mean.cpu().numpy().copy(), np.array(self._views.item())
        return {"mean": mean, "views": views, "stamp": np.array(self._stamp, dtype=np.int64)}

    def restore(self, arrays: Arrays) -> None:
        """Continue from where `arrays` of this or of `Condition` were taken; without any, from nothing."""
        self._stamp = int(arrays["stamp"]) if arrays else None
        self._known.zero_()
        self._believed = False
        self.mean.copy_(torch.as_tensor(np.array(arrays["mean"])) if arrays else torch.zeros_like(self.mean))
        self._views.fill_(float(arrays["views"]) if arrays else 0.0)
        self._measure()
