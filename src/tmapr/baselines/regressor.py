"""What every baseline is: a network that regresses poses from single frames or from clips of frames."""

from abc import abstractmethod
from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from tmapr.baselines.criterion import Criterion
from tmapr.baselines.rotation import Rotation
from tmapr.perception.apr import Pose
from tmapr.perception.encoder import Features


class Clip(NamedTuple):
    """What one pose is regressed from: an odd number of frames, `spacing` frames apart, around the one asked about."""

    frames: int = 1
    spacing: int = 1


Inputs = Features | Float[Tensor, "images 3 height width"]
"""Tokens of the frozen encoder, or images normalised with ImageNet's statistics for a trunk of the network's own."""


@runtime_checkable
class PoseRegressor(Protocol):
    """Inputs hold the frames of one clip after another; every implementation is an `nn.Module`."""

    clip: Clip

    def __call__(self, inputs: Inputs) -> Pose:
        """One pose for each clip: its middle frame's."""
        ...

    def loss(
        self, inputs: Inputs, positions: Float[Tensor, "images 2"], headings: Float[Tensor, " images"]
    ) -> Float[Tensor, ""]:
        """The mean over all frames; positions normalised, and a heading that was not recorded NaN.

        A frame without heading loses the rotation's terms alone. A batch in two parts, averaged by their numbers of
        clips, has the same loss: several processes rely on that.
        """
        ...


class SingleFrame(nn.Module):
    """A `PoseRegressor` whose criterion understands what `_regress` gives."""

    def __init__(self, rotation: Rotation) -> None:
        super().__init__()
        self.clip = Clip()
        self.criterion = Criterion(rotation)

    def forward(self, inputs: Inputs) -> Pose:
        """One pose for each image."""
        return self.criterion.pose(self._regress(inputs))

    def loss(
        self, inputs: Inputs, positions: Float[Tensor, "images 2"], headings: Float[Tensor, " images"]
    ) -> Float[Tensor, ""]:
        """The mean over the images."""
        return self.criterion(self._regress(inputs), positions, headings)

    @abstractmethod
    def _regress(self, inputs: Inputs) -> Float[Tensor, "images numbers"]:
        """Position and rotation of each image, in the criterion's numbers."""
