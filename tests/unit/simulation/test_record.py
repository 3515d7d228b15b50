"""Traverses as sequences: what is seen from where and when; and data sets of them that survive interruption."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import cKDTree

from tmapr.data.folder import read_folder
from tmapr.data.health import Detector
from tmapr.data.ms2 import read_ms2
from tmapr.data.sthereo import read_sthereo
from tmapr.exceptions import InputError
from tmapr.simulation.camera import CAMERAS, Camera
from tmapr.simulation.record import FRAMES, MANIFEST, Plan, film, write_dataset
from tmapr.simulation.streets import build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Traverse, drive_lap, prepare_passage
from tmapr.simulation.weather import find_weather
from tmapr.types import NANOSECONDS, CoordinateFrame, Fault

CAMERA, TINY = Camera(width=64, height=48, focal=40.0), Camera(width=24, height=18, focal=15.0)
SILENT = CAMERA.model_copy(
    update=dict.fromkeys(("netd", "fixed_pattern", "column_noise", "row_noise", "drift", "lag", "nuc_every"), 0.0)
)
NOON = Traverse("noon", find_weather("noon"), seed=5, frames=6)
NIGHT = Traverse("night", find_weather("night"), seed=6, frames=6)
STOPPING = Traverse("noon", find_weather("noon"), seed=6, frames=300)
"""Its lap has stops."""
PLAN = Plan(layout="folder", family="campus", seed=3, aliasing=0.5, length=160.0, camera=CAMERA)


@pytest.fixture(scope="module")
def world():
    return build_world("campus", 3, aliasing=0.5, length=160.0)


@pytest.fixture(scope="module")
def worlds():
    return {family: build_world(family, 1) for family in ("campus", "city")}


@pytest.fixture(scope="module")
def texture():
    return make_texture(3)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data set of one traverse, which no test changes."""
    out = tmp_path_factory.mktemp("made") / "out"
    write_dataset(out, PLAN, [NOON])
    return out


@pytest.fixture
def seen(world, texture, made):
    """Makes the sequence that a camera sees in a corridor; something was drawn before, so that numba is loaded."""

    def see(traverse=NOON, camera=CAMERA, side=None, delay=0.0):
        return film(world, traverse, camera, texture, CoordinateFrame(), side, delay)

    return see


def images(sequence):
    return np.array([frame.image() for frame in sequence])


def positions(sequence):
    return np.array([frame.position for frame in sequence])


def content(folder):
    """Every file under a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def off_route(world, traverse):
    """Metres from the route, and metres driven, along a finely sampled traverse."""
    motion, _ = drive_lap(world, traverse)
    points, _ = motion.poses_at(np.linspace(motion.along[0], motion.along[-1], 4000))
    legs = zip(world.route[:-1], world.route[1:], strict=True)
    route = np.concatenate([np.linspace(start, stop, 500) for start, stop in legs])
    steps = np.hypot(*np.diff(points, axis=0, prepend=points[:1]).T)
    return cKDTree(route).query(points)[0], steps


def test_two_passes_see_the_same_bits(seen):
    sequence = seen()
    np.testing.assert_array_equal(images(sequence), images(sequence))


def test_night_looks_unlike_noon(seen):
    noon, night = (images(seen(replace(NOON, weather=find_weather(name)), SILENT)) for name in ("noon", "night"))
    assert np.abs(noon.astype(float) - night).max() > CAMERA.gain  # a kelvin


def test_the_two_eyes_are_a_baseline_apart_across_the_heading(world):
    camera = CAMERAS["campus"]
    left, right = (prepare_passage(world, NOON, camera, side).views for side in ("left", "right"))
    apart = np.array([a.eye - b.eye for a, b in zip(left, right, strict=True)])
    np.testing.assert_allclose(np.linalg.norm(apart, axis=1), camera.baseline)
    across = np.array([[-np.sin(view.heading), np.cos(view.heading), 0] for view in left])
    np.testing.assert_allclose(np.sum(apart * across, axis=1), camera.baseline)


def test_positions_are_the_vehicles_on_both_sides(seen):
    np.testing.assert_array_equal(positions(seen(side="left")), positions(seen(side="right")))


def test_a_delayed_camera_is_where_the_vehicle_is_by_then(seen, world):
    motion, times = drive_lap(world, NOON)
    expected, _ = motion.poses_at(motion.distance_at(times / NANOSECONDS + 0.5))
    late = list(seen(delay=0.5))
    np.testing.assert_allclose([frame.position for frame in late], expected, atol=1e-9)
    assert [frame.stamp for frame in late] == [frame.stamp + NANOSECONDS // 2 for frame in seen()]


def test_a_vehicle_that_stands_sees_one_image_but_for_noise(world, texture):
    motion, times = drive_lap(world, STOPPING)
    row = int(np.flatnonzero(np.diff(motion.distance_at(times / NANOSECONDS)) == 0)[0])
    first, second = list(film(world, STOPPING, SILENT, texture, CoordinateFrame())[row : row + 2])
    np.testing.assert_array_equal(first.image(), second.image())


def test_the_camera_pitches_and_rolls_with_the_road(world):
    motion, times = drive_lap(world, NOON)
    along, views = motion.distance_at(times / NANOSECONDS), prepare_passage(world, NOON, CAMERA).views
    np.testing.assert_allclose([view.pitch for view in views], motion.pitch.at(along))
    np.testing.assert_allclose([view.roll for view in views], motion.roll.at(along))


def test_a_shutter_repeats_images_and_the_detector_sees_it(seen):
    camera = CAMERA.model_copy(update={"nuc_every": 20.0, "nuc_freeze": 4.0})
    traverse = replace(NOON, frames=200)
    frames, detector = list(seen(traverse, camera)), Detector()
    seconds = [(frame.stamp - frames[0].stamp) / NANOSECONDS for frame in frames]
    closed = [since >= 20 and since % 20 < 4 for since in seconds]
    frozen = [detector.inspect(frame.image()) is Fault.FROZEN for frame in frames]
    assert sum(closed) > 10
    assert frozen == closed


@pytest.mark.parametrize("family", ["campus", "city"])
def test_a_traverse_stays_near_the_route(family, worlds):
    distance, _ = off_route(worlds[family], NOON)
    # Half a metre of wandering beside what rounding takes from a right angle.
    assert distance.max() < 0.5 + 0.4 * worlds[family].turn + 0.1


def test_a_detour_leaves_the_route_for_a_hundred_metres_and_returns(worlds):
    distance, steps = off_route(worlds["city"], replace(NOON, course="detour"))
    away = distance > 20
    assert steps[away].sum() > 100
    assert not away[:100].any()
    assert not away[-100:].any()


def test_a_folder_reads_back_bit_for_bit(seen, made):
    for read, drawn in zip(read_folder(made, "noon"), seen(), strict=True):
        np.testing.assert_array_equal(read.image(), drawn.image())
        np.testing.assert_array_equal(read.position, drawn.position)
        assert (read.stamp, read.heading) == (drawn.stamp, drawn.heading)


@pytest.mark.parametrize("side", ["left", "right"])
def test_ms2_reads_back_images_positions_and_headings(side, seen, tmp_path):
    write_dataset(tmp_path / "out", PLAN.model_copy(update={"layout": "ms2"}), [NOON])
    for read, drawn in zip(read_ms2(tmp_path / "out", f"noon/{side}", FRAMES["ms2"]), seen(side=side), strict=True):
        np.testing.assert_array_equal(read.image(), drawn.image())
        np.testing.assert_allclose(read.position, drawn.position, atol=1e-3)
        np.testing.assert_allclose(np.angle(np.exp(1j * (read.heading - drawn.heading))), 0, atol=1e-6)
        assert read.stamp == drawn.stamp


@pytest.fixture
def sthereo(tmp_path):
    plan = PLAN.model_copy(update={"layout": "sthereo", "family": "city", "camera": TINY})
    write_dataset(tmp_path, plan, [replace(NOON, frames=130)])
    return build_world("city", 3, aliasing=0.5, length=160.0)


def test_sthereo_has_a_pose_for_every_third_frame_and_reads_back_what_they_say(sthereo, tmp_path):
    traverse, world = replace(NOON, frames=130), sthereo
    assert len((tmp_path / "noon/pose/global_pose.csv").read_text().splitlines()) == 44
    left, right = (list(read_sthereo(tmp_path, f"noon/{side}", FRAMES["sthereo"])) for side in ("left", "right"))
    driven = prepare_passage(world, traverse, TINY)
    np.testing.assert_allclose(positions(left)[::3], driven.positions[::3], atol=1e-3)
    headings = [[frame.heading, view.heading] for frame, view in zip(left, driven.views, strict=True)][::3]
    np.testing.assert_allclose(np.angle(np.exp(1j * np.diff(headings))), 0, atol=1e-6)
    # Seven milliseconds after a pose: at the mean speed to the next one instead of the present one, some m/s apart.
    late = prepare_passage(world, traverse, TINY, delay=0.007).positions
    np.testing.assert_allclose(positions(right)[:-1:3], late[:-1:3], atol=0.02)
    # After the last pose there is no next one.
    np.testing.assert_array_equal(positions(right)[-1], positions(left)[-1])
    assert [frame.stamp - 7_000_000 for frame in right] == [frame.stamp for frame in left]


def test_a_whole_traverse_is_not_written_again(made):
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    write_dataset(made, PLAN, [NOON])
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*")} == before


def interrupt(out, plan, traverses):
    """Fail three images before the end."""

    def breaking(rows):
        yield from rows[:-3]
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_dataset(out, plan, traverses, breaking)


def test_an_interrupted_data_set_is_finished_as_if_nothing_had_happened(tmp_path):
    plan, drives = PLAN.model_copy(update={"camera": TINY}), [replace(NOON, frames=4), replace(NIGHT, frames=4)]
    interrupt(tmp_path / "broken", plan, drives)
    write_dataset(tmp_path / "broken", plan, drives)
    write_dataset(tmp_path / "whole", plan, drives)
    assert content(tmp_path / "broken") == content(tmp_path / "whole")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 4}, "plan.seed = 3"),
        ({"family": "city"}, "plan.family = campus"),
        ({"aliasing": 0.9}, "plan.aliasing = 0.5"),
        ({"length": 200.0}, "plan.length = 160"),
        ({"layout": "ms2"}, "plan.layout = folder"),
        ({"camera": Camera(width=64, height=48, focal=41.0)}, "plan.camera.focal = 40"),
        ({"made_by": "tmapr 0.0.1"}, "plan.made_by"),
    ],
)
def test_a_data_set_of_another_plan_is_refused_by_the_key_that_differs(change, named, made):
    with pytest.raises(InputError, match=rf"{named}.*; remove it, or choose another folder"):
        write_dataset(made, PLAN.model_copy(update=change), [NOON])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"frames": 9}, r"noon.frames = 6 \(now 9\)"),
        ({"weather": replace(NOON.weather, wind=3.0)}, "noon.weather.wind = 2.0"),
        ({"course": "detour"}, "noon.course = lap"),
    ],
)
def test_a_whole_traverse_that_was_driven_otherwise_is_refused(change, named, made):
    with pytest.raises(InputError, match=named):
        write_dataset(made, PLAN, [replace(NOON, **change)])


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=f"is not empty and holds no {MANIFEST}"):
        write_dataset(tmp_path, PLAN, [NOON])
    assert content(tmp_path) == {"thesis.txt": b"years of work"}


def test_a_folder_that_was_not_simulated_is_never_removed(tmp_path):
    write_dataset(tmp_path, PLAN, [NOON])
    (tmp_path / "night").mkdir()
    with pytest.raises(InputError, match="was not simulated; remove it, or choose another name"):
        write_dataset(tmp_path, PLAN, [NIGHT])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"plan": 3}'])
def test_a_broken_manifest_is_refused(text, tmp_path):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=f"{MANIFEST}: .* cannot be read; remove"):
        write_dataset(tmp_path, PLAN, [NOON])


@pytest.mark.parametrize(
    ("traverses", "said"),
    [
        ([replace(NOON, name="a/b")], "'a/b': a name has letters"),
        ([replace(NOON, name="..")], "a name has letters"),
        ([replace(NOON, name="")], "a name has letters"),
        ([replace(NOON, name="n" * 65)], "64 at most"),
        ([NOON, NOON], "'noon' is there twice"),
        ([replace(NOON, frames=0)], "frames is 0; it must be 2 to 100000"),
    ],
)
def test_a_bad_traverse_is_refused_before_anything_is_written(traverses, said, tmp_path):
    with pytest.raises(InputError, match=said):
        write_dataset(tmp_path / "out", PLAN, traverses)
    assert not (tmp_path / "out").exists()


def driven(world, course, frames=400):
    traverse = Traverse("lap", find_weather("noon"), 5, course, frames)
    motion, times = drive_lap(world, traverse)
    return motion.poses_at(motion.distance_at(times / NANOSECONDS))


@pytest.mark.parametrize("family", ["campus", "city"])
def test_the_way_back_is_the_route_in_the_other_direction(worlds, family):
    there, ahead = driven(worlds[family], "lap")
    back, returning = driven(worlds[family], "back")
    distances, nearest = cKDTree(there).query(back)
    assert distances.max() < 4.0
    opposite = np.cos(returning - ahead[nearest]) < -0.9
    # Where the route crosses or meets itself, the nearest frame may be of the other street.
    assert opposite.mean() > 0.9


@pytest.mark.parametrize("family", ["campus", "city"])
def test_a_u_turn_drives_a_quarter_of_the_route_back_and_then_on_to_the_end(worlds, family):
    there, ahead = driven(worlds[family], "lap")
    turned, heading = driven(worlds[family], "u-turn")
    distances, nearest = cKDTree(there).query(turned)
    assert distances.max() < 6.0
    against = np.cos(heading - ahead[nearest]) < -0.9
    rows = np.flatnonzero(against)
    back = against[rows[0] : rows[-1] + 1]
    assert 0.1 < len(back) / len(against) < 0.3
    assert back.mean() > 0.9
    # Half of a lap before it, and three quarters of one after it.
    assert 0.2 < rows[0] / len(against) < 0.45
    assert rows[-1] / len(against) < 0.65
