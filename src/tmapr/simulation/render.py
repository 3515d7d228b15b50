"""The rasteriser: a scanline z-buffer compiled with numba, and shading with texture and air in one more pass.

For every row of the image the pixels that see a surface form one interval, the intersection of five linear
inequalities (see `view`), so that there is nothing to clip and no corner to sort.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int32

from tmapr.compiled import compiled
from tmapr.simulation.camera import Camera
from tmapr.simulation.light import Appearance
from tmapr.simulation.scene import Scene
from tmapr.simulation.texture import LEVELS, SIZE, TEXEL
from tmapr.simulation.view import FAR, NEAR, NOTHING, Viewpoint, pixel_rays

kernel: Any = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})


@dataclass(frozen=True, slots=True)
class Buffers:
    """What each pixel sees: the surface's number or NOTHING, and one over its depth along the optical axis."""

    ids: Int32[np.ndarray, "height width"]
    nearness: Float32[np.ndarray, "height width"]
    planes: Float32[np.ndarray, "surfaces 3 3"]
    """For each surface u/t, v/t and 1/t as linear functions of (column, row, 1)."""


class Renderer:
    """Draws one scene. It owns its buffers, which every call overwrites."""

    def __init__(self, scene: Scene, camera: Camera) -> None:
        self._camera = camera
        # Shading indexes by surface, in the order of pixels: what it needs of one lies together.
        self._corners = np.concatenate([scene.origin, scene.along, scene.across], axis=1)
        self._balls = _enclose(scene)
        self._texture = np.stack(
            [*scene.texture.T, np.linalg.norm(scene.along, axis=1), np.linalg.norm(scene.across, axis=1)], axis=1
        ).astype(np.float32)
        self._planes = np.zeros((len(scene), 3, 3), np.float32)
        self._ids = np.zeros((camera.height, camera.width), np.int32)
        self._nearness = np.zeros((camera.height, camera.width), np.float32)
        self._rays = pixel_rays(camera)

    def move(self, movers: Scene) -> None:
        """Put the scene's last surfaces elsewhere."""
        self._corners[-len(movers) :] = np.concatenate([movers.origin, movers.along, movers.across], axis=1)
        self._balls[-len(movers) :] = _enclose(movers)

    def rasterise(self, view: Viewpoint) -> Buffers:
        """Which surface each pixel sees."""
        turned = view.axes
        _rasterise(self._corners, self._balls, view.eye, turned, self._rays, self._planes, self._ids, self._nearness)
        return Buffers(self._ids, self._nearness, self._planes)

    def radiance(
        self, view: Viewpoint, appearance: Appearance, texture: Float32[np.ndarray, "texels 2"]
    ) -> Float32[np.ndarray, "height width"]:
        """The radiance that enters each pixel, in W/(m² sr)."""
        seen = self.rasterise(view)
        out = np.empty_like(self._nearness)
        shades = np.stack(
            [appearance.radiance, appearance.emissive_relief, appearance.solar_relief], axis=1, dtype=np.float32
        )
        rising = view.axes.T[2] @ self._rays  # the height gained along a pixel's ray, as a linear function of it
        air = np.array([appearance.air, appearance.extinction], np.float32)
        sky = appearance.sky.astype(np.float32)
        _shade(seen.ids, seen.nearness, self._planes, self._texture, shades, texture, rising, self._rays, sky, air, out)
        return out


def _enclose(scene: Scene) -> Float[np.ndarray, "surfaces 4"]:
    """Balls around surfaces: middles and radii."""
    diagonals = np.stack([scene.along + scene.across, scene.along - scene.across])
    return np.column_stack([scene.centers, np.linalg.norm(diagonals, axis=2).max(axis=0) / 2])


@kernel
def _rasterise(corners, balls, eye, axes, rays, planes, ids, nearness):
    height, width = ids.shape
    ids[:] = NOTHING
    nearness[:] = 1.0 / FAR
    m = np.empty((3, 3))
    edges = np.empty((5, 3))
    wide, tall = -rays[0, 2], -rays[1, 2]
    slant_wide, slant_tall = np.sqrt(1.0 + wide * wide), np.sqrt(1.0 + tall * tall)
    for k in range(len(corners)):
        # Most surfaces lie beside the image: a ball tells it for a tenth of what its rows would.
        x, y, z = balls[k, 0] - eye[0], balls[k, 1] - eye[1], balls[k, 2] - eye[2]
        ahead = axes[2, 0] * x + axes[2, 1] * y + axes[2, 2] * z
        right = abs(axes[0, 0] * x + axes[0, 1] * y + axes[0, 2] * z)
        down = abs(axes[1, 0] * x + axes[1, 1] * y + axes[1, 2] * z)
        reach = 1.001 * balls[k, 3]
        if ahead < -reach or right - wide * ahead > slant_wide * reach or down - tall * ahead > slant_tall * reach:
            continue
        if not _planes_of(corners[k], eye, axes, rays, m):
            continue
        for i in range(3):
            for j in range(3):
                planes[k, i, j] = m[i, j]
        for j in range(3):
            edges[0, j] = m[0, j]
            edges[1, j] = m[2, j] - m[0, j]
            edges[2, j] = m[1, j]
            edges[3, j] = m[2, j] - m[1, j]
            edges[4, j] = m[2, j]
        edges[4, 2] -= 1.0 / FAR
        first, last = _rows(corners[k], eye, axes, rays, height)
        slope = np.float32(m[2, 0])
        for row in range(first, last):
            start, stop = _interval(edges, row, width)
            base = np.float32(m[2, 1] * row + m[2, 2])
            for column in range(start, stop):
                q = base + slope * np.float32(column)
                if q > nearness[row, column]:
                    nearness[row, column] = q
                    ids[row, column] = k


@kernel
def _planes_of(corner, eye, axes, rays, m):
    """M⁻¹ · rays; False if the surface is too far, behind, or seen edge-on."""
    o0, o1, o2 = corner[0] - eye[0], corner[1] - eye[1], corner[2] - eye[2]
    ahead = axes[2, 0] * o0 + axes[2, 1] * o1 + axes[2, 2] * o2
    along = axes[2, 0] * corner[3] + axes[2, 1] * corner[4] + axes[2, 2] * corner[5]
    across = axes[2, 0] * corner[6] + axes[2, 1] * corner[7] + axes[2, 2] * corner[8]
    farthest = ahead + max(along, 0.0) + max(across, 0.0)
    nearest = ahead + min(along, 0.0) + min(across, 0.0)
    if farthest < NEAR or nearest > FAR:
        return False
    # Rows of the inverse of (a b o): cross products of the others, over the determinant.
    a0, a1, a2, b0, b1, b2 = corner[3], corner[4], corner[5], corner[6], corner[7], corner[8]
    u0, u1, u2 = b1 * o2 - b2 * o1, b2 * o0 - b0 * o2, b0 * o1 - b1 * o0
    v0, v1, v2 = o1 * a2 - o2 * a1, o2 * a0 - o0 * a2, o0 * a1 - o1 * a0
    w0, w1, w2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    volume = o0 * w0 + o1 * w1 + o2 * w2
    if abs(volume) < 1e-9:
        return False
    for j in range(3):
        r0, r1, r2 = 0.0, 0.0, 0.0  # the j-th pixel axis in the world
        for i in range(3):
            r0 += axes[i, 0] * rays[i, j]
            r1 += axes[i, 1] * rays[i, j]
            r2 += axes[i, 2] * rays[i, j]
        m[0, j] = (u0 * r0 + u1 * r1 + u2 * r2) / volume
        m[1, j] = (v0 * r0 + v1 * r1 + v2 * r2) / volume
        m[2, j] = (w0 * r0 + w1 * r1 + w2 * r2) / volume
    return True


@kernel
def _rows(corner, eye, axes, rays, height):
    """The rows that can see the surface: between its corners, or all if one lies behind the camera."""
    low, high = np.inf, -np.inf
    for i in range(4):
        x, y, z = corner[0] - eye[0], corner[1] - eye[1], corner[2] - eye[2]
        if i & 1:
            x, y, z = x + corner[3], y + corner[4], z + corner[5]
        if i & 2:
            x, y, z = x + corner[6], y + corner[7], z + corner[8]
        depth = axes[2, 0] * x + axes[2, 1] * y + axes[2, 2] * z
        if depth < NEAR:
            return 0, height
        row = ((axes[1, 0] * x + axes[1, 1] * y + axes[1, 2] * z) / depth - rays[1, 2]) / rays[1, 1]
        low, high = min(low, row), max(high, row)
    return max(0, int(np.ceil(min(low, height)))), min(height, int(np.floor(max(high, -1.0))) + 1)


@kernel
def _interval(edges, row, width):
    """The columns of a row in which all five linear functions are positive."""
    start, stop = 0.0, float(width - 1)
    for i in range(5):
        slope, value = edges[i, 0], edges[i, 1] * row + edges[i, 2]
        if slope > 0:
            start = max(start, -value / slope)
        elif slope < 0:
            stop = min(stop, -value / slope)
        elif value < 0:
            return 0, 0
    if start > stop:
        return 0, 0
    return int(np.ceil(start)), int(np.floor(stop)) + 1


@kernel
def _shade(ids, nearness, planes, places, shades, texture, rising, rays, sky, air, out):  # noqa: PLR0913
    height, width = ids.shape
    steps = len(sky) - 1
    for row in range(height):
        for column in range(width):
            k = ids[row, column]
            if k < 0:
                x, y = rays[0, 0] * column + rays[0, 2], rays[1, 1] * row + rays[1, 2]
                sine = (rising[0] * column + rising[1] * row + rising[2]) / np.sqrt(x * x + y * y + 1.0)
                at = min(max(sine, 0.0), 0.999999) * steps
                i = int(at)
                out[row, column] = sky[i] + np.float32(at - i) * (sky[i + 1] - sky[i])
                continue
            depth = np.float32(1.0) / nearness[row, column]
            emissive, solar = _sample_texture(planes[k], places[k], texture, row, column, depth)
            value = shades[k, 0] + emissive * shades[k, 1] + solar * shades[k, 2]
            passed = np.exp(-air[1] * depth)
            out[row, column] = passed * value + (np.float32(1.0) - passed) * air[0]


@kernel
def _sample_texture(plane, place, texture, row, column, depth):
    """The texture's two channels where the pixel meets the surface, at the level of the pixel's footprint."""
    r, c = np.float32(row), np.float32(column)
    u = (plane[0, 0] * c + plane[0, 1] * r + plane[0, 2]) * depth
    v = (plane[1, 0] * c + plane[1, 1] * r + plane[1, 2]) * depth
    wide = max(abs(plane[0, 0] - u * plane[2, 0]), abs(plane[0, 1] - u * plane[2, 1])) * place[2]
    high = max(abs(plane[1, 0] - v * plane[2, 0]), abs(plane[1, 1] - v * plane[2, 1])) * place[3]
    footprint = max(wide, high) * depth * np.float32(1.0 / TEXEL)
    size, base, level = SIZE, 0, 0
    while footprint > 1.0 and level < LEVELS - 1:
        base += size * size
        size >>= 1
        footprint *= np.float32(0.5)
        level += 1
    scale = np.float32(size / (SIZE * TEXEL))
    x, y = (place[0] + u * place[2]) * scale - np.float32(0.5), (place[1] + v * place[3]) * scale - np.float32(0.5)
    left, low = np.floor(x), np.floor(y)
    fx, fy = x - left, y - low
    mask = size - 1
    i0, j0 = int(left) & mask, int(low) & mask
    i1, j1 = (i0 + 1) & mask, (j0 + 1) & mask
    a, b = base + j0 * size + i0, base + j0 * size + i1
    c0, d = base + j1 * size + i0, base + j1 * size + i1
    wa, wb = (np.float32(1.0) - fx) * (np.float32(1.0) - fy), fx * (np.float32(1.0) - fy)
    wc, wd = (np.float32(1.0) - fx) * fy, fx * fy
    return (
        wa * texture[a, 0] + wb * texture[b, 0] + wc * texture[c0, 0] + wd * texture[d, 0],
        wa * texture[a, 1] + wb * texture[b, 1] + wc * texture[c0, 1] + wd * texture[d, 1],
    )
