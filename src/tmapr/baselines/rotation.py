"""How a heading ψ is written as the numbers that a network learns, and read back from whatever it gives.

As published, a network gives the logarithm of a unit quaternion with w ≥ 0: the rotation's axis times half its angle,
which in the plane is (0, 0, ψ/2) for ψ in (−π, π]. On both sides of ±π the same heading has two distant targets, which
is the coding's own weakness; cosine and sine have none.
"""

from collections.abc import Callable
from math import pi
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from tmapr.baselines.settings import Coding


class Rotation(NamedTuple):
    """A coding of headings: `write` makes a row of so many numbers of each, `read` makes a unit vector of each row."""

    numbers: int
    write: Callable[[Float[Tensor, " images"]], Float[Tensor, "images numbers"]]
    read: Callable[[Float[Tensor, "images numbers"]], Float[Tensor, "images 2"]]


def write_log_quaternion(headings: Float[Tensor, " images"]) -> Float[Tensor, "images 3"]:
    """The logarithm of a rotation about the vertical."""
    # Within (−π, π] the quaternion of the half angle has w ≥ 0 by itself.
    turned = torch.atan2(headings.sin(), headings.cos())
    return torch.stack([torch.zeros_like(turned), torch.zeros_like(turned), turned / 2], dim=1)


def read_log_quaternion(logarithms: Float[Tensor, "images 3"]) -> Float[Tensor, "images 2"]:
    """Where the rotated first axis points, seen from above: a network may well tilt it."""
    half = logarithms.norm(dim=1)
    w = half.cos()
    x, y, z = (torch.sinc(half / pi)[:, None] * logarithms).unbind(dim=1)
    return normalize(torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z)], dim=1), dim=1)


def write_direction(headings: Float[Tensor, " images"]) -> Float[Tensor, "images 2"]:
    """Cosine and sine."""
    return torch.stack([headings.cos(), headings.sin()], dim=1)


ROTATIONS: dict[Coding, Rotation] = {
    "log-quaternion": Rotation(3, write_log_quaternion, read_log_quaternion),
    "planar": Rotation(2, write_direction, normalize),
}
