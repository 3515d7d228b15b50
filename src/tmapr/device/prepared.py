"""A view under the map's condition, and all that the ridge and the memory are asked for: the first step of a frame.

By torch it is `recall`, `exchange`, `remove` and `spread`, some dozens of launches; by Triton's kernels three: what a
descriptor is to be divided by, the view with its products' queries, and the points around it. The rows depend on the
view and U's step alone, to the last bit: those that `DevicePlaces.spread` lays around the same view are the same.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Float32
from torch import Tensor

from tmapr.device.blocks import BLOCK, Blocks
from tmapr.device.condition import DeviceCondition
from tmapr.device.places import DevicePlaces
from tmapr.device.triangle import runs_kernels

_MEASURED, _FACTS, _POINTS = 4, 5, 3


class Sharing(NamedTuple):
    """What a view has to do with what its drive's views share; the numbers that recognition needs of it."""

    weight: Float[Tensor, ""]
    """Of the drive's mean: 0 where nothing is known of it."""
    known: Float[Tensor, ""]
    length: Float[Tensor, ""]
    """Of what the view has of its own."""
    mapped: Float[Tensor, ""]
    """The product of what it has of its own with the map's mean."""
    cosine: Float[Tensor, ""]
    """With the drive's mean."""


class PreparedView(NamedTuple):
    """A view under the map's condition, what the memory is multiplied with, and what the ridge is asked for."""

    view: Float[Tensor, " dim"]
    queries: Float32[Tensor, "k dim"]
    """What the descriptor has of its own, if there is a condition, and the descriptor as it is."""
    rows: Float[Tensor, "3 features"] | None
    sharing: Sharing | None


def prepare_view(
    condition: DeviceCondition | None,
    places: DevicePlaces | None,
    mapped: Float[Tensor, " dim"],
    descriptor: Float[Tensor, " dim"],
) -> PreparedView:
    """What is asked about a descriptor, with `mapped` the mean of the map's."""
    if condition is None:
        rows = places.spread(descriptor) if places else None
        return PreparedView(descriptor, descriptor[None].to(torch.float32), rows, None)
    if runs_kernels(descriptor.device):
        return _launch(condition, places, mapped, descriptor)
    shared = condition.recall()
    view, own = shared.exchange(descriptor, mapped), shared.remove(descriptor)
    length, product = torch.linalg.vector_norm(own), torch.dot(own, mapped)
    sharing = Sharing(shared.weight, shared.known, length, product, shared.measure(descriptor))
    queries = torch.stack([own, descriptor]).to(torch.float32)
    return PreparedView(view, queries, places.spread(view) if places else None, sharing)


def _launch(
    condition: DeviceCondition,
    places: DevicePlaces | None,
    mapped: Float[Tensor, " dim"],
    descriptor: Float[Tensor, " dim"],
) -> PreparedView:
    from tmapr.device import condition_kernels

    blocks = Blocks.of(len(descriptor))
    sums, points = descriptor.new_empty((_MEASURED, blocks.number)), descriptor.new_empty((_POINTS, blocks.number))
    view, facts = torch.empty_like(descriptor), descriptor.new_empty(_FACTS)
    queries = descriptor.new_empty((2, blocks.width), dtype=torch.float32)
    given = (descriptor, condition.mean, mapped, condition.state)
    condition_kernels.measure_view[(blocks.number,)](
        *given, sums, blocks.width, blocks.number, BLOCK=BLOCK, num_warps=1
    )
    step, coefficients = (places.step, places.coefficients) if places else (descriptor, descriptor)
    condition_kernels.move_view[(blocks.number,)](
        *(*given, condition.constants, sums, view, queries, facts, step, coefficients, points),
        *(blocks.width, blocks.number),
        SPREADS=places is not None,
        BLOCK=BLOCK,
        BLOCKS_UP=blocks.number_up,
        num_warps=1,
    )
    rows = places.lay(view, points) if places else None
    return PreparedView(view, queries, rows, Sharing(*facts.unbind()))
