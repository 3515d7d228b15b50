"""From surfaces to pixels: three numbers per surface and pixel that both renderers share.

A ray d through a pixel meets a surface where t·d = origin + u·along + v·across, seen from the eye. With M the matrix of
columns (along, across, origin), (u/t, v/t, 1/t) = M⁻¹ d: linear in the pixel, whatever the surface. The pixel sees the
surface if 0 ≤ u/t ≤ 1/t and 0 ≤ v/t ≤ 1/t, and of all such surfaces the one with the largest 1/t. Nothing has to be
clipped at the eye's plane: behind it, 1/t is negative.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.simulation.camera import Camera

NOTHING = -1
"""The id of the sky."""

NEAR, FAR = 0.2, 900.0
"""Metres ahead: a surface that is nowhere beyond NEAR is not drawn, nor is any part of one beyond FAR."""


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """Where a camera is and where it looks."""

    eye: Float[np.ndarray, "3"]
    heading: float
    pitch: float = 0.0
    """Upwards."""
    roll: float = 0.0
    """Clockwise, as the camera sees its own motion."""

    @property
    def axes(self) -> Float[np.ndarray, "3 3"]:
        """Rows: the directions to the right, down and ahead of the camera in the world."""
        ahead = np.array(
            [
                np.cos(self.pitch) * np.cos(self.heading),
                np.cos(self.pitch) * np.sin(self.heading),
                np.sin(self.pitch),
            ]
        )
        level = np.array([np.sin(self.heading), -np.cos(self.heading), 0.0])
        down = np.cross(ahead, level)
        right = np.cos(self.roll) * level + np.sin(self.roll) * down
        return np.stack([right, np.cross(ahead, right), ahead])


def pixel_rays(camera: Camera) -> Float[np.ndarray, "3 3"]:
    """Turns (column, row, 1) of a pixel into the ray through its middle: right, down, 1 ahead."""
    across = (0.5 - camera.width / 2) / camera.focal
    down = (0.5 - camera.height / 2) / camera.focal
    return np.array([[1 / camera.focal, 0.0, across], [0.0, 1 / camera.focal, down], [0.0, 0.0, 1.0]])
