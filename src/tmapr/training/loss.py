"""The loss of the pose head, eq. (1): Smooth L1 of the normalised position and of the unit heading vector."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from tmapr.baselines.rotation import write_direction
from tmapr.perception.apr import Pose


def pose_loss(
    pose: Pose, positions: Float[Tensor, "images 2"], headings: Float[Tensor, " images"], heading_weight: float
) -> Float[Tensor, ""]:
    """The mean over the images, and over both components, of position loss + weight · heading loss.

    An image whose heading is NaN has the first term alone and counts in the mean all the same, so that every frame
    weighs as much in a batch with few headings as in one with many.
    """
    known = ~headings.isnan()
    # Indexed, not multiplied by 0: a NaN survives that, in the gradient too.
    directions = write_direction(headings[known])
    turned = smooth_l1_loss(pose.heading[known], directions, reduction="sum") / pose.heading.numel()
    return smooth_l1_loss(pose.position, positions) + heading_weight * turned
