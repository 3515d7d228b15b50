"""What baselines share that read the pose off one frame."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from tmapr.baselines.criterion import Criterion
from tmapr.baselines.regressor import Clip, Inputs
from tmapr.baselines.rotation import Rotation
from tmapr.perception.apr import Pose


class SingleFrame(nn.Module):
    """A `PoseRegressor` whose criterion understands what `_outputs` gives."""

    def __init__(self, rotation: Rotation) -> None:
        super().__init__()
        self.clip = Clip()
        self.criterion = Criterion(rotation)

    def forward(self, inputs: Inputs) -> Pose:
        """Poses of a batch."""
        return self.criterion.pose(self._outputs(inputs))

    def loss(
        self, inputs: Inputs, positions: Float[Tensor, "images 2"], headings: Float[Tensor, " images"]
    ) -> Float[Tensor, ""]:
        """The mean over the images."""
        return self.criterion(self._outputs(inputs), positions, headings)

    @abstractmethod
    def _outputs(self, inputs: Inputs) -> Float[Tensor, "images numbers"]:
        """Position and rotation of each image, in the criterion's numbers."""
