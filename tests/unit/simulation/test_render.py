"""The rasteriser against rays cast one by one in float64, and its shading against equations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from tmapr.simulation.blocks import Builder, Finish
from tmapr.simulation.camera import Camera
from tmapr.simulation.light import Appearance
from tmapr.simulation.materials import Stuff
from tmapr.simulation.render import Renderer
from tmapr.simulation.scene import Scene
from tmapr.simulation.texture import LEVELS, SIZE, TEXEL, make_texture
from tmapr.simulation.view import FAR, NEAR, NOTHING, Viewpoint, pixel_rays

CAMERA = Camera(width=80, height=64, focal=50.0)
TEXTURE = make_texture(3)
ANYTHING = Finish(Stuff.BRICK)
EYE = np.array([4.0, -3.0, 1.7])
VIEWS = [
    Viewpoint(EYE, heading, pitch, roll)
    for heading, pitch, roll in ((0.3, 0.0, 0.0), (2.0, 0.2, -0.4), (5.0, -0.3, 1.0))
]


def quads(origin, along, across):
    """A scene of parallelograms, all of one finish."""
    builder = Builder()
    for corner, first, second in zip(origin, along, across, strict=True):
        builder.quad(corner, first, second, ANYTHING)
    return builder.scene()


def clutter(rng, count=120):
    """Parallelograms of any size and direction around the eye, some of them across its plane."""
    origin = EYE + rng.normal(scale=12, size=(count, 3))
    return quads(origin, *rng.normal(scale=3, size=(2, count, 3)))


def wall(distance, size=400.0, texture=(0.0, 0.0), aside=0.0):
    """Due East of the origin, square, around the optical axis of a level camera there."""
    builder = Builder(texture=texture)
    builder.quad((distance, aside - size / 2, -size / 2), (0, size, 0), (0, 0, size), ANYTHING)
    return builder.scene()


def shine(scene, radiance=50.0, emissive=0.0, solar=0.0, extinction=0.0):
    """All surfaces alike under a sky that gets darker upwards; the air is brighter than they are."""
    each = np.ones(len(scene))
    sky = np.linspace(40.0, 10.0, 9)
    return Appearance(radiance * each, emissive * each, solar * each, sky, 60.0, extinction)


def rays(view, camera=CAMERA):
    """World directions through the pixels, one metre ahead each."""
    rows, columns = np.mgrid[: camera.height, : camera.width]
    return np.stack([columns, rows, np.ones_like(rows)], axis=-1) @ pixel_rays(camera).T @ view.axes


def cast(scene, view):
    """Ids and depths by solving eye + t·ray = origin + u·along + v·across for every ray and surface."""
    direction = rays(view)
    ids, depths = np.full(direction.shape[:2], NOTHING), np.full(direction.shape[:2], FAR)
    for number in range(len(scene)):
        edges = (np.broadcast_to(edge[number], direction.shape) for edge in (scene.along, scene.across))
        matrix = np.stack([*edges, -direction], axis=-1)
        u, v, t = np.moveaxis(np.linalg.solve(matrix, (view.eye - scene.origin[number])[:, None])[..., 0], -1, 0)
        hit = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1) & (t > 0) & (t < depths)
        ids[hit], depths[hit] = number, t[hit]
    return ids, depths


@pytest.mark.parametrize("view", VIEWS)
def test_pixels_see_what_rays_hit(view, rng):
    scene = clutter(rng)
    ids, _ = cast(scene, view)
    assert len(np.unique(ids)) > 8
    # A ray through an edge may fall to either side of it by rounding.
    assert np.mean(Renderer(scene, CAMERA).rasterise(view).ids == ids) > 0.999


@pytest.mark.parametrize("view", VIEWS)
def test_depths_are_those_of_the_rays(view, rng):
    scene = clutter(rng)
    ids, depths = cast(scene, view)
    seen = Renderer(scene, CAMERA).rasterise(view)
    # 1/depth is a sum of three float32: where they cancel, some units of the last place remain of a larger one.
    known = (seen.ids == ids) & (ids != NOTHING)
    np.testing.assert_allclose(1 / seen.nearness[known], depths[known], rtol=1e-4)


def test_a_floor_that_begins_behind_the_camera_needs_no_clipping():
    floor, view = quads([(-30.0, -40.0, 0.0)], [(60.0, 0.0, 0.0)], [(0.0, 80.0, 0.0)]), Viewpoint(EYE, 0.3, -0.1, 0.2)
    ids, _ = cast(floor, view)
    assert 0.2 < np.mean(ids == 0) < 0.9
    assert np.mean(Renderer(floor, CAMERA).rasterise(view).ids == ids) > 0.999


@pytest.mark.parametrize("view", VIEWS)
def test_the_order_of_the_surfaces_does_not_matter(view, rng):
    scene = clutter(rng)
    order = rng.permutation(len(scene))
    shuffled = replace(scene, origin=scene.origin[order], along=scene.along[order], across=scene.across[order])
    one, other = (Renderer(each, CAMERA).rasterise(view) for each in (scene, shuffled))
    np.testing.assert_array_equal(one.nearness, other.nearness)
    np.testing.assert_array_equal(one.ids, np.where(other.ids == NOTHING, NOTHING, order[other.ids]))


def test_a_renderer_remembers_nothing_of_the_frame_before(rng):
    scene = clutter(rng)
    look, renderer = shine(scene, emissive=5.0), Renderer(scene, CAMERA)
    first = renderer.radiance(VIEWS[0], look, TEXTURE)
    renderer.radiance(VIEWS[1], look, TEXTURE)
    np.testing.assert_array_equal(renderer.radiance(VIEWS[0], look, TEXTURE), first)


@pytest.mark.parametrize(("distance", "seen"), [(0.9 * NEAR, False), (1.1 * NEAR, True), (0.99 * FAR, True)])
def test_surfaces_are_drawn_from_near_to_far(distance, seen):
    ids = Renderer(wall(distance, size=4000.0), CAMERA).rasterise(Viewpoint(np.zeros(3), 0.0)).ids
    assert np.all((ids == 0) == seen)


def test_what_is_beyond_far_is_sky():
    """A floor ends there, though it goes on."""
    floor = quads([(-10.0, -3000.0, 0.0)], [(5000.0, 0.0, 0.0)], [(0.0, 6000.0, 0.0)])
    sharp = Camera(width=80, height=64, focal=5000.0)
    view = Viewpoint(EYE, 0.0)
    down = -rays(view, sharp)[:, :, 2]
    np.testing.assert_array_equal(Renderer(floor, sharp).rasterise(view).ids == 0, down > EYE[2] / FAR)


def test_a_point_is_found_where_it_projects_to(rng):
    for view in VIEWS:
        right, down, ahead = rng.uniform(-3, 3), rng.uniform(-2, 2), rng.uniform(5, 9)
        point = view.eye + np.array([right, down, ahead]) @ view.axes
        small = 1.5 * ahead / CAMERA.focal
        speck = quads(
            [point - small / 2 * (view.axes[0] + view.axes[1])], [small * view.axes[0]], [small * view.axes[1]]
        )
        rows, columns = np.nonzero(Renderer(speck, CAMERA).rasterise(view).ids == 0)
        middle = (
            CAMERA.width / 2 + CAMERA.focal * right / ahead - 0.5,
            CAMERA.height / 2 + CAMERA.focal * down / ahead - 0.5,
        )
        np.testing.assert_allclose((columns.mean(), rows.mean()), middle, atol=0.75)


def test_axes_are_right_handed_and_at_right_angles():
    for view in VIEWS:
        np.testing.assert_allclose(view.axes @ view.axes.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(view.axes) == pytest.approx(1)


def test_the_camera_looks_along_its_heading_and_up_by_its_pitch():
    ahead = Viewpoint(EYE, 0.8, 0.3, 0.5).axes[2]
    np.testing.assert_allclose((np.arctan2(ahead[1], ahead[0]), np.arcsin(ahead[2])), (0.8, 0.3))


@pytest.mark.parametrize(
    "view", [Viewpoint(EYE, 0.3, 0.4, 0.0), Viewpoint(EYE, 0.3, 1.1, 0.3), Viewpoint(EYE, 2.0, -0.1, -0.3)]
)
def test_the_sky_shines_by_its_elevation(view):
    behind, look = wall(-5.0), shine(wall(-5.0))
    direction = rays(view)
    sine = np.maximum(direction[:, :, 2] / np.linalg.norm(direction, axis=2), 0)
    expected = np.interp(sine, np.linspace(0, 1, len(look.sky)), look.sky)
    turned = replace(behind, origin=behind.origin - 1e4 * view.axes[2])
    np.testing.assert_allclose(Renderer(turned, CAMERA).radiance(view, look, TEXTURE), expected, rtol=1e-5)


@pytest.mark.parametrize("distance", [1.0, 30.0, 300.0, 800.0])
def test_air_hides_a_wall_by_its_distance(distance):
    look = shine(wall(distance), extinction=0.01)
    passed = np.exp(-0.01 * distance)
    found = Renderer(wall(distance, size=2000.0), CAMERA).radiance(Viewpoint(np.zeros(3), 0.0), look, TEXTURE)
    np.testing.assert_allclose(found, passed * 50 + (1 - passed) * 60, rtol=1e-5)


def textured(scene: Scene, view, emissive=0.0, solar=0.0):
    """What the texture adds to every pixel."""
    return Renderer(scene, CAMERA).radiance(view, shine(scene, emissive=emissive, solar=solar), TEXTURE) - 50.0


def level_of(number):
    side = SIZE >> number
    start = sum((SIZE >> finer) ** 2 for finer in range(number))
    return TEXTURE[start : start + side**2].reshape(side, side, 2)


@pytest.mark.parametrize(("distance", "level"), [(2.0, 0), (2.6, 1), (9.0, 2), (60.0, 5), (800.0, LEVELS - 1)])
@pytest.mark.parametrize("channel", [0, 1])
def test_the_texture_lies_on_a_wall_in_metres(distance, level, channel):
    """Bilinear between the texels of the level at which a pixel is no larger than one, repeated without end."""
    scene = wall(distance, size=2000.0 if distance > 100 else 300.0, texture=(3.0, 8.0))
    view = Viewpoint(np.zeros(3), 0.0)
    points = rays(view) * distance - scene.origin[0] + np.array([0, 3.0, 8.0])
    texels = [points[:, :, axis] / (TEXEL * 2**level) - 0.5 for axis in (2, 1)]
    expected = map_coordinates(level_of(level)[:, :, channel].astype(float), texels, order=1, mode="grid-wrap")
    found = textured(scene, view, *((1.0, 0.0) if channel == 0 else (0.0, 1.0)))
    # 150 m in float32 are known to 15 µm: 0.0003 of a texel; 50 W/(m² sr) to 4e-6.
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("order", [1, -1])
def test_a_floor_is_as_coarse_as_its_pixels_are_long(order):
    """From h above it, a pixel at the distance z is z²/(h·focal) long, whichever edge leads there."""
    floor = quads([(-10.0, -300.0, 0.0)], *[[(600.0, 0.0, 0.0)], [(0.0, 600.0, 0.0)]][::order])
    view, height, column = Viewpoint(np.array([0.0, 0.0, 1.7]), 0.0), 1.7, CAMERA.width // 2
    found = textured(floor, view, emissive=1.0)
    for row in range(CAMERA.height // 2 + 1, CAMERA.height):
        distance = height * CAMERA.focal / (row + 0.5 - CAMERA.height / 2)
        level = int(np.clip(np.ceil(np.log2(distance**2 / (height * CAMERA.focal) / TEXEL)), 0, LEVELS - 1))
        point = np.array([distance + 10.0, 300.0 - 0.5 / CAMERA.focal * distance])[::order]
        texel = point[::-1, None] / (TEXEL * 2**level) - 0.5
        expected = map_coordinates(level_of(level)[:, :, 0].astype(float), texel, order=1, mode="grid-wrap")
        assert found[row, column] == pytest.approx(expected[0], abs=5e-3)
