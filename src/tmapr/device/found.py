"""What recognition on the device is asked with and what it finds: values that stay there."""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from tmapr.device.condition import DeviceShared
from tmapr.device.places import DeviceScores, Observed


@dataclass(frozen=True, slots=True)
class Found:
    """What a frame looks like. All of it stays on the device but `packed`, of which `Packing` makes a `Recognition`."""

    packed: Float[Tensor, " numbers"]
    view: Float[Tensor, " dim"]
    """The descriptor under the map's condition: what is learned of the frame."""
    similarity: Float[Tensor, " refs"]
    place: Float[Tensor, " refs"]
    cosine: Float[Tensor, " refs"]
    scores: DeviceScores | None
    observed: Observed | None
    """What the ridge said of the view, for who learns it before anything else."""


class Prepared(NamedTuple):
    """A view under the map's condition, what the memory is multiplied with, and what its drive shares."""

    view: Float[Tensor, " dim"]
    queries: Float[Tensor, "k dim"]
    shared: DeviceShared | None
    measures: Float[Tensor, "3"] | None
    """Where something is shared: the view's own part along the map's mean, that part's length, the view's likeness."""
