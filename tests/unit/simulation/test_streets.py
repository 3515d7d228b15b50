"""Worlds from seeds: what stands there is sound, one can drive through it, and it is as repetitive as asked for."""

from dataclasses import astuple
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.spatial import cKDTree

from tmapr.exceptions import InputError
from tmapr.simulation.camera import CAMERAS, Camera
from tmapr.simulation.materials import MATERIALS
from tmapr.simulation.render import Renderer
from tmapr.simulation.route import Way
from tmapr.simulation.scene import Behind
from tmapr.simulation.streets import FAMILIES, LEAST, build_world
from tmapr.simulation.view import NOTHING, Viewpoint

SMALL = Camera(width=80, height=64, focal=50.0)
CLEARANCE = 0.8
"""Metres: half a vehicle."""

LENGTHS = {"campus": 160.0, "city": 200.0, "valley": 500.0}


@pytest.fixture(scope="module")
def worlds():
    return {family: built(family, 1) for family in FAMILIES}


def built(family, seed, aliasing=0.3):
    """A small world."""
    return build_world(family, seed, aliasing=aliasing, length=LENGTHS[family])


def same(scene, other):
    return all(np.array_equal(*columns) for columns in zip(*map(astuple, (scene, other)), strict=True))


def along(way, turn, step=1.0):
    """Points and headings of a way as it is taken."""
    taken = Way(way, turn)
    points, velocity, _ = taken.round_corners(np.arange(0, taken.legs.sum(), step))
    return points, np.arctan2(velocity[:, 1], velocity[:, 0])


def standing_at(scene, level):
    """Points, 0.2 m apart or less, of the lines in which surfaces cross a level."""
    starts = np.stack([scene.origin, scene.origin + scene.along, scene.origin, scene.origin + scene.across])
    edges = np.stack([scene.along, scene.across, scene.across, scene.along])
    share = (level - starts[:, :, 2]) / np.where(edges[:, :, 2] == 0, np.nan, edges[:, :, 2])
    crossing = (share >= 0) & (share <= 1)
    points = starts + share[:, :, None] * edges
    found = []
    for surface in np.flatnonzero(crossing.sum(axis=0) >= 2):
        ends = points[crossing[:, surface], surface, :2]
        start, stop = ends[0], ends[np.argmax(np.hypot(*(ends - ends[0]).T))]
        count = 2 + int(np.hypot(*(stop - start)) / 0.2)
        found.append(start + np.linspace(0, 1, count)[:, None] * (stop - start))
    return np.concatenate(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_builds_the_same_world_bit_for_bit(worlds, family):
    again = built(family, 1)
    assert same(again.scene(3), worlds[family].scene(3))
    np.testing.assert_array_equal(again.route, worlds[family].route)


@pytest.mark.parametrize("family", FAMILIES)
def test_surfaces_are_finite_and_none_is_a_line(worlds, family):
    scene = worlds[family].scene(0)
    assert all(np.isfinite(column).all() for column in astuple(scene))
    areas = np.linalg.norm(np.cross(scene.along, scene.across), axis=1)
    assert areas.min() > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_every_surface_is_of_known_stuff_before_and_behind(worlds, family):
    scene = worlds[family].scene(0)
    assert set(scene.material.tolist()) <= set(range(len(MATERIALS)))
    assert set(scene.behind.tolist()) <= {kind.value for kind in Behind}
    assert scene.sky_view.min() >= 0
    assert scene.sky_view.max() <= 1
    assert scene.power.min() >= 0


@pytest.mark.parametrize(
    ("family", "seed", "length"),
    [
        ("campus", 1, None),
        ("campus", 4, 80.0),
        ("city", 1, None),
        ("city", 5, 160.0),
        ("valley", 4, None),
        ("valley", 2, None),
        ("valley", 1, 400.0),
        ("valley", 1, 2000.0),
    ],
)
def test_nothing_that_is_fixed_stands_in_the_way(family, seed, length):
    world = build_world(family, seed, length=length)
    standing = cKDTree(standing_at(world.fixed, CAMERAS[family].mount))
    for way in (world.route, world.detour):
        assert standing.query(along(way, world.turn, 0.5)[0])[0].min() > CLEARANCE


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_fixed_comes_first_and_stays_from_traverse_to_traverse(worlds, family):
    world = worlds[family]
    for traverse in (1, 2):
        scene = world.scene(traverse)
        np.testing.assert_array_equal(scene.origin[: len(world.fixed)], world.fixed.origin)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_detour_leaves_the_route_and_returns(worlds, family):
    world = worlds[family]
    route = cKDTree(along(world.route, world.turn)[0])
    away = route.query(along(world.detour, world.turn)[0])[0]
    assert away.max() > 10
    assert np.mean(away < 3) > 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_routes_are_about_as_long_as_asked_for(family):
    for length in (LEAST[family], 2 * LEAST[family]):
        world = build_world(family, 3, length=length)
        assert Way(world.route, world.turn).legs.sum() == pytest.approx(length, rel=0.15)


@pytest.mark.parametrize("family", FAMILIES)
def test_more_aliasing_leaves_fewer_kinds_of_surfaces(family):
    same, different = (kinds(built(family, 1, aliasing=aliasing).fixed) for aliasing in (1.0, 0.0))
    assert same < 0.75 * different


def kinds(scene):
    """How many surfaces differ in stuff, size, height or texture, in whatever places they are."""
    lengths = [np.linalg.norm(edge, axis=1) for edge in (scene.along, scene.across)]
    rows = np.column_stack([scene.material, *lengths, scene.origin[:, 2], scene.texture])
    return len(np.unique(rows.round(6), axis=0))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_turned_world_is_the_same_seen_from_a_turned_place(worlds, family):
    """Seed, things that pass and ways turn together: a camera that turns along sees the same surfaces."""
    world, angle = worlds[family], 1.1
    turned = world.rotate(angle)
    pictures = []
    for each in (world, turned):
        points, headings = along(each.route, each.turn)
        view = Viewpoint(np.append(points[40], CAMERAS[family].mount), float(headings[40]), 0.05, -0.03)
        pictures.append(Renderer(each.scene(5), SMALL).rasterise(view).ids)
    assert np.mean(pictures[0] == pictures[1]) > 0.998


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_ray_leaves_a_campus(seed):
    world = build_world("campus", seed)
    renderer = Renderer(world.scene(1), SMALL)
    points, headings = along(world.detour, world.turn, step=10.0)
    for point, heading in zip(points, headings, strict=True):
        for turn in (0.0, 2.1, 4.2):
            view = Viewpoint(np.append(point, 1.1), float(heading) + turn, 0.02, 0.02)
            assert NOTHING not in renderer.rasterise(view).ids


@pytest.mark.parametrize("aliasing", [-0.1, 1.1, float("nan")])
def test_aliasing_is_a_share(aliasing):
    with pytest.raises(InputError, match="it is a share, 0 to 1"):
        build_world("city", 1, aliasing=aliasing)


def test_an_unknown_family_is_refused_with_those_there_are():
    with pytest.raises(InputError, match="'moon' is no family of worlds; there are campus, city, valley"):
        build_world("moon", 1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("length", [-1.0, 0.0, 70.0, float("inf"), float("nan")])
def test_a_length_that_has_no_room_is_refused_with_the_least(family, length):
    with pytest.raises(InputError, match=f"the least is .*{LEAST[family]:g} for {family}"):
        build_world(family, 1, length=length)


def facades(world, start, stop):
    """The textures of what stands beside a street; copies have the same."""
    ahead = (stop - start) / np.hypot(*(stop - start))
    far, aside = np.array([ahead, [-ahead[1], ahead[0]]]) @ (world.fixed.centers[:, :2] - start).T
    upright = np.abs(world.fixed.normals[:, 2]) < 0.1
    beside = upright & (far > 0) & (far < np.hypot(*(stop - start))) & (np.abs(aside) < 9.0)
    return {tuple(texture) for texture in world.fixed.texture[beside].round(6).tolist()}


@pytest.mark.parametrize(("seed", "count"), [(1, 0), (2, 1), (21, 1), (23, 2)])
def test_twins_look_like_a_street_of_the_route_and_are_not_on_it(seed, count):
    world = build_world("city", seed)
    assert len(world.twins) == count
    legs = list(pairwise(world.route))
    for start, stop in world.twins:
        middle = (start + stop) / 2
        assert min(np.hypot(*(points - middle).T).min() for points, _ in [along(world.route, world.turn)]) > 30.0
        twin = facades(world, start, stop)
        # Blocks differ in length, so a few houses at the ends do.
        assert max(len(twin & facades(world, *leg)) for leg in legs) > 0.5 * len(twin)


def test_passages_of_one_look_have_the_same_facades():
    world = build_world("city", 23, aliasing=0.6)
    sides = [facades(world, *each.ends) for each in world.passages]
    shared = {True: [], False: []}
    for (one, here), (other, there) in combinations(zip(world.passages, sides, strict=True), 2):
        shared[one.look == other.look].append(len(here & there) / len(here))
    # Blocks differ in length, so houses at the ends do; and the same houses from the other end are another look.
    assert min(shared[True]) > 0.35
    assert np.median(shared[True]) > 2 * np.median(shared[False])
