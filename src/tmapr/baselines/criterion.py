"""The loss that all baselines share: L1 of position and rotation, each weighed by a number that is learned with them.

A term of mean error e counts e · exp(−s) + s, so that at its least exp(s) is the error itself. As published s starts
at 0 for positions and at −3 for rotations. Networks give rows of x, y, z and the rotation's numbers; z is 0 here.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from tmapr.baselines.rotation import Rotation
from tmapr.perception.apr import Pose

SPACE = 3
"""Numbers of a position: networks are built as published, for space."""


class Criterion(nn.Module):
    """Owns s_x and s_q, and knows what a network's numbers mean."""

    def __init__(self, rotation: Rotation) -> None:
        super().__init__()
        self.numbers = SPACE + rotation.numbers
        self.s_x = nn.Parameter(torch.tensor(0.0))
        self.s_q = nn.Parameter(torch.tensor(-3.0))
        self._rotation = rotation

    def forward(
        self,
        outputs: Float[Tensor, "images {self.numbers}"],
        positions: Float[Tensor, "images 2"],
        headings: Float[Tensor, " images"],
    ) -> Float[Tensor, ""]:
        """The mean over the images; one whose heading is NaN has no rotation term but counts in the mean."""
        moved = weigh((outputs[:, :SPACE] - to_space(positions)).abs().mean(), self.s_x)
        # Indexed, not multiplied by 0: a NaN survives that. And s_q goes with its term: were it to stay, frames
        # without heading would count as frames without error.
        known = ~headings.isnan()
        errors = (outputs[known, SPACE:] - self._rotation.write(headings[known])).abs().mean(dim=1)
        return moved + weigh(errors, self.s_q).sum() / len(headings)

    def pose(self, outputs: Float[Tensor, "images {self.numbers}"]) -> Pose:
        """The plane's part of what a network gives."""
        outputs = outputs.to(self.s_x.dtype)  # under autocast they come with half the digits, which no array holds
        return Pose(outputs[:, :2], self._rotation.read(outputs[:, SPACE:]))


def weigh(error: Float[Tensor, "*terms"], s: Float[Tensor, ""]) -> Float[Tensor, "*terms"]:
    """An error, or several, by the exponential of what is learned; the second term keeps that from running away."""
    return error * torch.exp(-s) + s


def to_space(positions: Float[Tensor, "images 2"]) -> Float[Tensor, "images 3"]:
    """The same positions with z = 0."""
    return pad(positions, (0, SPACE - 2))
