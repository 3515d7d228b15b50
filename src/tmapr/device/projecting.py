"""From descriptors to the classifier's input on the device: the three projections as a matrix product, or none."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tmapr.places.lift import VARIANCE
from tmapr.places.projection import Identity, Lift, Projector, Subspace

_BLOCK = 512
"""Columns that a lift's bytes are laid out by: see `places.lift`."""


@dataclass(frozen=True, slots=True)
class DeviceProjection:
    """z = d · axes − offset, z = max(0, d · axes), or d itself."""

    axes: Float[Tensor, "width dimension"] | None
    offset: Float[Tensor, " dimension"] | None = None

    @classmethod
    def of(cls, projector: Projector, device: torch.device) -> "DeviceProjection":
        """The same as a projector of the CPU."""
        if isinstance(projector, Identity):
            return cls(None)
        if isinstance(projector, Subspace):
            # Line by line, as kernels read it: those of a decomposition lie column by column.
            axes = torch.as_tensor(np.array(projector.axes, order="C"))
            offset = torch.as_tensor(projector.mean @ projector.axes)
            return cls(axes.to(device), offset.to(device))
        scale = np.sqrt(2.0 / (projector.dimension * VARIANCE))
        return cls(torch.as_tensor(scale * unfold(projector)).to(device))

    def __call__(self, descriptors: Float[Tensor, "k width"]) -> Float[Tensor, "k dimension"]:
        """Project rows."""
        if self.axes is None:
            return descriptors
        if self.offset is not None:
            return torch.addmm(self.offset, descriptors, self.axes, beta=-1)
        return (descriptors @ self.axes).clamp_min(0.0)


def unfold(lift: Lift) -> Float[np.ndarray, "width dimension"]:
    """A lift's bytes as the matrix they stand for, unscaled."""
    height = lift.matrix.size // lift.dimension
    blocks = []
    for start in range(0, lift.dimension, _BLOCK):
        columns = min(_BLOCK, lift.dimension - start)
        bytes_ = lift.matrix[start * height : (start + columns) * height]
        blocks.append(bytes_.reshape(height, columns)[: lift.width])
    return np.concatenate(blocks, axis=1) + 0.5
