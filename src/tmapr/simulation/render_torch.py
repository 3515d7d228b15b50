"""The same pictures by torch, for training on a GPU where numba may be missing.

Every pixel asks every surface in view; nothing is sorted. What a pixel sees and the radiance that enters it follow the
equations of `view` and of `render`, and the tests hold the two renderers against each other.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from tmapr.simulation.camera import Camera
from tmapr.simulation.light import Appearance
from tmapr.simulation.scene import Scene
from tmapr.simulation.texture import LEVELS, SIZE, TEXEL
from tmapr.simulation.view import FAR, NEAR, NOTHING, Viewpoint, pixel_rays

_ASKED = {"cuda": 1 << 27, "cpu": 1 << 22}
"""Pixels times surfaces that ask at once: what fills a GPU would fall out of a CPU's cache."""


class TorchRenderer:
    """Draws one scene on one device."""

    def __init__(self, scene: Scene, camera: Camera, device: str) -> None:
        self._device = torch.device(device)
        # Positions in float64: a determinant of three of them must survive the subtraction of the eye.
        self._corners = self._send(np.stack([scene.origin, scene.along, scene.across], axis=1))
        lengths = np.stack([np.linalg.norm(scene.along, axis=1), np.linalg.norm(scene.across, axis=1)], axis=1)
        self._texture = self._send(np.concatenate([scene.texture, lengths], axis=1)).float()
        rows, columns = np.mgrid[: camera.height, : camera.width]
        pixels = np.stack([columns.ravel(), rows.ravel(), np.ones(rows.size)], axis=1)
        self._pixels, self._rays = self._send(pixels).float(), self._send(pixel_rays(camera))
        self._shape = (camera.height, camera.width)

    def move(self, movers: Scene) -> None:
        """Put the scene's last surfaces elsewhere."""
        self._corners[-len(movers) :] = self._send(np.stack([movers.origin, movers.along, movers.across], axis=1))

    def rasterise(self, view: Viewpoint) -> tuple[Int[Tensor, "height width"], Float[Tensor, "height width"]]:
        """Which surface each pixel sees, or NOTHING, and one over its depth."""
        ids, nearness = self._trace(self._planes(view))
        return ids.reshape(self._shape), nearness.reshape(self._shape)

    def radiance(
        self, view: Viewpoint, appearance: Appearance, texture: Float[Tensor, "texels 2"]
    ) -> Float[Tensor, "height width"]:
        """The radiance that enters each pixel, in W/(m² sr)."""
        planes = self._planes(view)
        ids, nearness = self._trace(planes)
        known, depth = ids.clamp(min=0), 1 / nearness
        relief = self._sample_texture(planes[known], self._texture[known], depth, texture)
        columns = (appearance.radiance, appearance.emissive_relief, appearance.solar_relief)
        shades = self._send(np.stack(columns, axis=1)).float()[known]
        passed = torch.exp(-appearance.extinction * depth)
        value = passed * (shades[:, 0] + (relief * shades[:, 1:]).sum(dim=1)) + (1 - passed) * appearance.air
        return torch.where(ids == NOTHING, self._sky(view, appearance), value).reshape(self._shape)

    def _send(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _planes(self, view: Viewpoint) -> Float[Tensor, "surfaces 3 3"]:
        """u/t, v/t and 1/t of every surface as linear functions of (column, row, 1); 0 where it cannot be seen."""
        axes = self._send(view.axes)
        corner, along, across = self._corners.unbind(dim=1)
        corner = corner - self._send(view.eye)
        inverse = torch.stack(
            [torch.cross(across, corner, dim=1), torch.cross(corner, along, dim=1), torch.cross(along, across, dim=1)],
            dim=1,
        )
        volume = (corner * inverse[:, 2]).sum(dim=1)
        edges = torch.stack([corner, corner + along, corner + across, corner + along + across], dim=1) @ axes.T
        usable = (volume.abs() > 1e-9) & self._in_front(edges)
        planes = inverse @ (axes.T @ self._rays) / torch.where(usable, volume, 1.0)[:, None, None]
        return (planes * usable[:, None, None]).float()

    def _in_front(self, edges: Float[Tensor, "surfaces 4 3"]) -> Bool[Tensor, " surfaces"]:
        """Not all corners beyond the same side of the image, too near or too far."""
        right, down, ahead = edges.unbind(dim=2)
        wide, tall = (-float(self._rays[axis, 2]) * 1.02 for axis in (0, 1))
        inside = (ahead.amax(dim=1) > NEAR) & (ahead.amin(dim=1) < FAR)
        for across, reach in ((right, wide), (down, tall)):
            inside &= ((across < reach * ahead).any(dim=1)) & ((across > -reach * ahead).any(dim=1))
        return inside

    def _trace(self, planes: Float[Tensor, "surfaces 3 3"]) -> tuple[Int[Tensor, " pixels"], Float[Tensor, " pixels"]]:
        usable = planes.flatten(1).any(dim=1).nonzero().flatten()
        nearness = torch.full((len(self._pixels),), 1 / FAR, device=self._device)
        ids = torch.full((len(self._pixels),), NOTHING, device=self._device)
        at_once = max(1, _ASKED[self._device.type] // len(self._pixels))
        for part in torch.split(usable, at_once) if len(usable) else ():
            u, v, q = (self._pixels @ planes[part, axis].T for axis in range(3))
            # The smallest of these four is not negative where the pixel lies inside.
            inside = torch.minimum(torch.minimum(u, q - u), torch.minimum(v, q - v))
            best = torch.where(inside >= 0, q, 0.0).max(dim=1)
            nearer = best.values > nearness
            nearness = torch.where(nearer, best.values, nearness)
            ids = torch.where(nearer, part[best.indices], ids)
        return ids, nearness

    def _sample_texture(
        self,
        planes: Float[Tensor, "pixels 3 3"],
        places: Float[Tensor, "pixels 4"],
        depth: Float[Tensor, " pixels"],
        texture: Float[Tensor, "texels 2"],
    ) -> Float[Tensor, "pixels 2"]:
        """The texture's two channels, at the level of each pixel's footprint."""
        inside = (planes[:, :2] * self._pixels[:, None]).sum(dim=2) * depth[:, None]
        steps = (planes[:, :2, :2] - inside[:, :, None] * planes[:, 2:, :2]).abs().amax(dim=2)
        footprint = (steps * places[:, 2:]).amax(dim=1) * depth / TEXEL
        level = torch.log2(footprint.clamp(min=1e-6)).ceil().clamp(0, LEVELS - 1).long()
        size = SIZE >> level
        base = (4 * (SIZE * SIZE - size * size)) // 3  # texels of all finer levels: a geometric series
        metres = places[:, :2] + inside * places[:, 2:]
        at = metres * (size / (SIZE * TEXEL))[:, None] - 0.5
        low = at.floor()
        share, cell, mask = at - low, low.long(), (size - 1)[:, None]
        total = torch.zeros_like(share)
        for corner in ((0, 0), (1, 0), (0, 1), (1, 1)):
            step = torch.tensor(corner, device=self._device)
            x, y = ((cell + step) & mask).unbind(dim=1)
            weight = torch.where(step == 1, share, 1 - share).prod(dim=1)
            total += weight[:, None] * texture[base + y * size + x]
        return total

    def _sky(self, view: Viewpoint, appearance: Appearance) -> Float[Tensor, " pixels"]:
        rays = self._pixels @ (self._rays.T @ self._send(view.axes)).float()
        at = (rays[:, 2] / rays.norm(dim=1)).clamp(0, 0.999999) * (len(appearance.sky) - 1)
        sky, low = self._send(appearance.sky).float(), at.long()
        return sky[low] + (at - low) * (sky[low + 1] - sky[low])


def move_texture(texture: Float32[np.ndarray, "texels 2"], device: str) -> Float[Tensor, "texels 2"]:
    """The world's texture where the renderer is."""
    return torch.from_numpy(texture).to(device)
