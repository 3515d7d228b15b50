"""The STheReO layout: trees written here by hand, from a drive whose every position and heading is known."""

import shutil
from dataclasses import replace
from decimal import Decimal

import cv2
import numpy as np
import pytest

from read_back import (
    emptied,
    headings_of,
    line_replaced,
    made_a_folder,
    positions_of,
    refusal_of,
    removed,
    stamps_of,
    turned_by,
    written,
)
from tmapr.data.coordinates import tangent_plane, utm_grid
from tmapr.data.sequence import from_arrays
from tmapr.data.sthereo import read_sthereo, write_sthereo
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame

MORNING, EVENING = "sthereo_07_valley_morning", "sthereo_09_valley_evening"
LEFT, RIGHT = f"{MORNING}/left", f"{MORNING}/right"
START = 1_630_115_617_076_532_226
CORNER = np.array([346_521.0, 4_023_629.0])
FRAMES, LATE = 60, 9_635_646
HOME = utm_grid("52N", *CORNER)


def images_at(count=FRAMES, late=0):
    """Ten a second, as exactly as the cameras are."""
    jitter = np.random.default_rng(7).integers(-30_000, 30_000, count)
    return START + late + 100_000_000 * np.arange(count) + jitter


def poses_at(stamps, period=20_000_000):
    """Often enough for a curve to be straight in between: 0.1 mm."""
    return np.arange(stamps.min() - 33_333_333, stamps.max() + 2 * period, period)


def driven(stamps):
    """UTM coordinates and heading along a curve that crosses the direction West, where headings jump by a turn."""
    t = (stamps - START) / NANOSECONDS
    positions = CORNER + np.stack([40 - 120 * np.sin(t / 15), 80 * np.sin(t / 10 + 1.4)], axis=1)
    return positions, np.arctan2(8 * np.cos(t / 10 + 1.4), -8 * np.cos(t / 15))


def image_of(row, side="left"):
    return (np.arange(80, dtype=np.uint16).reshape(8, 10) + 3000 + 100 * row) - np.uint16(90 * (side == "right"))


def write_camera(root, stamps, side="left", sequence=MORNING):
    folder = root / sequence / f"image/stereo_thermal_14_{side}"
    folder.mkdir(parents=True)
    for row, stamp in enumerate(stamps):
        (folder / f"{stamp}.png").write_bytes(cv2.imencode(".png", image_of(row, side))[1].tobytes())


def in_seconds(stamp):
    return str(Decimal(int(stamp)).scaleb(-9))


def euler_rows(stamps):
    """Seconds, x, y, z, roll, pitch, yaw in degrees."""
    rows = zip(stamps, *driven(stamps)[0].T, np.degrees(driven(stamps)[1]), strict=True)
    return [f"{in_seconds(stamp)},{x:.6f},{y:.6f},114.3,-0.7,1.9,{yaw:.6f}" for stamp, x, y, yaw in rows]


def matrix_rows(stamps):
    """Nanoseconds and [R t]; the car leans a little."""
    rows = []
    for stamp, (x, y), yaw in zip(stamps, *driven(stamps), strict=True):
        turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
        lean = np.array([[1, 0, 0], [0, np.cos(0.02), -np.sin(0.02)], [0, np.sin(0.02), np.cos(0.02)]])
        pose = np.column_stack([turn @ lean, [x, y, 114.3]])
        rows.append(",".join([str(stamp), *(f"{value:.9f}" for value in pose.ravel())]))
    return rows


def write_poses(root, rows, sequence=MORNING):
    folder = root / sequence / "pose"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "global_pose.csv").write_text("".join(f"{row}\n" for row in rows))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One drive with both cameras; not to be spoilt."""
    root = tmp_path_factory.mktemp("sthereo")
    write_camera(root, images_at())
    write_camera(root, images_at(late=LATE), "right")
    write_poses(root, euler_rows(poses_at(images_at())))
    return root


@pytest.fixture
def tree(whole, tmp_path):
    """A copy of it to spoil."""
    shutil.copytree(whole, tmp_path / "sthereo")
    return tmp_path / "sthereo"


@pytest.mark.parametrize("rows", [euler_rows, matrix_rows])
@pytest.mark.parametrize(("name", "late"), [(LEFT, 0), (RIGHT, LATE)])
def test_poses_are_those_of_each_cameras_own_stamps(tree, rows, name, late):
    write_poses(tree, rows(poses_at(images_at())))
    positions, headings = driven(images_at(late=late))
    found = read_sthereo(tree, name, HOME)
    assert np.abs(positions_of(found) - (positions - CORNER)).max() < 1e-3
    assert turned_by(headings_of(found), headings) < 0.1


def test_poses_at_the_rate_of_the_data_set_are_interpolated(tree):
    """2.5 poses a second at 9 m/s: the chord of the curve is 16 mm off, the nearest pose would be 1.8 m off."""
    write_poses(tree, euler_rows(poses_at(images_at(), 400_000_000)))
    positions, headings = driven(images_at())
    found = read_sthereo(tree, LEFT, HOME)
    assert np.abs(positions_of(found) - (positions - CORNER)).max() < 0.017
    assert turned_by(headings_of(found), headings) < 0.2


def test_a_stamp_in_seconds_is_read_to_the_nanosecond(tree):
    """A float64 would be up to 119 ns off; at this made-up speed that is 119 km."""
    stamps = np.array([START, START + 1_000_001])
    rows = [f"{in_seconds(stamp)},{x},4023629.0,0,0,0,0" for stamp, x in zip(stamps, (200_000, 800_000), strict=True)]
    shutil.rmtree(tree / MORNING)
    write_camera(tree, START + np.array([0, 1, 500_000, 1_000_001]))
    write_poses(tree, rows)
    found = positions_of(read_sthereo(tree, LEFT))[:, 0]
    np.testing.assert_allclose(found, 600_000 * np.array([0, 1, 500_000, 1_000_001]) / 1_000_001, atol=1e-6)


def test_without_a_frame_positions_count_from_the_whole_metres_of_the_first_pose(whole):
    first, _ = driven(poses_at(images_at())[:1])
    assert read_sthereo(whole, LEFT).frame == CoordinateFrame("utm", "52N", tuple(np.floor(first[0])))


def test_two_drives_share_the_frame_of_the_first(whole, tmp_path):
    write_camera(tmp_path, images_at(), sequence=EVENING)
    earlier = poses_at(images_at())[:1] - 1_500_000_000
    write_poses(tmp_path, euler_rows(np.append(earlier, poses_at(images_at()))), sequence=EVENING)
    mapped = read_sthereo(whole, LEFT)
    found = read_sthereo(tmp_path, f"{EVENING}/left", mapped.frame)
    assert found.frame == mapped.frame
    np.testing.assert_allclose(positions_of(found), positions_of(mapped), atol=1e-9)
    assert read_sthereo(tmp_path, f"{EVENING}/left").frame != mapped.frame


def test_a_standing_car_records_no_poses_and_has_a_position_all_the_same(tree):
    """As Valley begins: a pose, six seconds at a place, and poses at every metre from then on."""
    stop = images_at()[[5, 55]]
    write_poses(
        tree,
        [
            f"{in_seconds(stop[0])},346521.96,4023629.71,0,0,0,10",
            f"{in_seconds(stop[1])},346520.68,4023629.74,0,0,0,12",
        ],
    )
    found = read_sthereo(tree, LEFT, HOME)
    known = np.isfinite(positions_of(found)).all(axis=1)
    assert known[5:56].all()
    assert not known[:4].any()
    assert not known[57:].any()
    assert np.ptp(positions_of(found)[known], axis=0).max() <= 1.2801


def test_without_poses_there_are_neither_positions_nor_headings(tree):
    shutil.rmtree(tree / MORNING / "pose")
    sequence = read_sthereo(tree, LEFT)
    assert sequence.frame == CoordinateFrame()
    assert all(frame.position is None and frame.heading is None for frame in sequence)


IMAGES, POSES = f"{MORNING}/image/stereo_thermal_14_left", f"{MORNING}/pose/global_pose.csv"
GOOD = "1630115617.0,346521,4023629,114,0,0,90"
LAST = len(poses_at(images_at()))
MISNAMED = (
    "frame.png",
    "000012.png",
    "7.png",
    "1630115617.png",
    "1630115617.5.png",
    f"{START} (1).png",
    f"{START}.txt",
)
SPOILED = [
    # how it comes about, the place that is named, and the value or the way out
    (removed(MORNING), IMAGES, "no such folder"),
    (emptied(IMAGES), IMAGES, "NANOSECONDS.png"),
    *((written(f"{IMAGES}/{name}", b""), name, "NANOSECONDS.png") for name in MISNAMED),
    (written(f"{IMAGES}/{'9' * 30}.png", b""), IMAGES, f"'{'9' * 30}'"),
    (removed(POSES), POSES, "no such file"),
    (made_a_folder(POSES), POSES, "Is a directory"),
    (written(POSES, ""), POSES, "no pose"),
    (written(POSES, "\n\n"), POSES, "no pose"),
    (written(POSES, "t,x,y,z,roll,pitch,yaw\n" + GOOD), f"{POSES}, line 1", "'t'"),
    (line_replaced(POSES, 1, GOOD[:-3]), f"{POSES}, line 1", "6 columns"),
    (line_replaced(POSES, 9, GOOD + ",1"), f"{POSES}, line 9", "8 columns"),
    (line_replaced(POSES, 9, ""), f"{POSES}, line 9", "1 columns"),
    (line_replaced(POSES, 9, ",".join(["1"] * 13)), f"{POSES}, line 9", "13 columns"),
    (line_replaced(POSES, LAST, GOOD.split(",4023629")[0]), f"{POSES}, line {LAST}", "2 columns"),
    (line_replaced(POSES, 9, GOOD.replace("346521", "East")), f"{POSES}, line 9", "'East'"),
    (line_replaced(POSES, 9, GOOD.replace("90", "nan")), f"{POSES}, line 9", "column 7 is nan"),
    (line_replaced(POSES, 9, GOOD.replace("1630115617.0", "soon")), f"{POSES}, line 9", "'soon'"),
    (line_replaced(POSES, 1, "0,0,0,0,0,0,0"), "line 1", "easting 0, northing 0"),
    (line_replaced(POSES, 9, "1630115617.0,4023629,346521,0,0,0,0"), "line 9", "easting 4.02363e+06, northing 346521"),
    (written(POSES, "1630115617.5,1,0,0,346521,0,1,0,4023629,0,0,1,0"), "line 1", "'1630115617.5'"),
    (written(POSES, "1630115617000000000" + ",0,0,0,346521" * 2 + ",0,0,0,0"), "line 1", "length 0"),
]


@pytest.mark.parametrize(("spoil", "place", "named"), SPOILED)
def test_what_is_wrong_is_refused_in_one_line_with_its_place(tree, spoil, place, named):
    spoil(tree)
    said = refusal_of(read_sthereo, tree, LEFT)
    assert place in said
    assert named in said


@pytest.mark.parametrize("name", [MORNING, f"{MORNING}/middle", f"{MORNING}/", "/left", "left", ""])
def test_a_name_says_which_camera(whole, name):
    with pytest.raises(InputError, match="write SEQUENCE/left or SEQUENCE/right"):
        read_sthereo(whole, name)


@pytest.mark.parametrize("frame", [tangent_plane(127.3, 36.3), utm_grid("51N", 0.0, 0.0)])
def test_another_kind_of_frame_is_refused(whole, frame):
    with pytest.raises(InputError, match=r"as UTM 52N, the map as (longitude and latitude|UTM 51N); give"):
        read_sthereo(whole, LEFT, frame)


def recorded(side="left", late=0, frame=HOME, **changes):
    """The drive as a sequence in memory."""
    stamps = images_at(late=late)
    positions, headings = driven(stamps)
    sequence = from_arrays(side, frame, stamps, lambda row: image_of(row, side), positions - CORNER, headings)
    frames = [replace(frame, **{name: change(frame) for name, change in changes.items()}) for frame in sequence]
    return replace(sequence, start=lambda: iter(frames))


def test_what_is_written_is_read_back(tmp_path):
    write_sthereo(tmp_path, LEFT, recorded())
    found = read_sthereo(tmp_path, LEFT, HOME)
    positions, headings = driven(images_at())
    np.testing.assert_array_equal(stamps_of(found), images_at())
    np.testing.assert_allclose(positions_of(found), positions - CORNER, atol=1e-6)
    assert turned_by(headings_of(found), headings) < 1e-6
    for row, frame in enumerate(found):
        np.testing.assert_array_equal(frame.image(), image_of(row))


def test_what_is_written_has_the_layout_of_the_authors(tmp_path):
    """Read here as other people's loaders do."""
    write_sthereo(tmp_path, LEFT, recorded())
    table = np.loadtxt(tmp_path / MORNING / "pose/global_pose.csv", delimiter=",")
    positions, headings = driven(images_at())
    np.testing.assert_allclose(table[:, 0], images_at() / 1e9, atol=1e-6, rtol=0)
    np.testing.assert_allclose(table[:, 1:3], positions, atol=1e-6, rtol=0)
    np.testing.assert_allclose(table[:, 3:], [[0, 0, 0, yaw] for yaw in np.degrees(headings)], atol=1e-9)
    files = sorted((tmp_path / MORNING / "image/stereo_thermal_14_left").iterdir())
    assert [file.name for file in files] == [f"{stamp}.png" for stamp in images_at()]
    assert cv2.imread(str(files[0]), cv2.IMREAD_UNCHANGED).dtype == np.uint16


def test_poses_can_be_written_as_sparse_as_the_data_sets(tmp_path):
    write_sthereo(tmp_path, LEFT, recorded(), every=3)
    rows = (tmp_path / MORNING / "pose/global_pose.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == [in_seconds(stamp) for stamp in [*images_at()[::3], images_at()[-1]]]
    assert np.abs(positions_of(read_sthereo(tmp_path, LEFT, HOME)) - driven(images_at())[0] + CORNER).max() < 0.01


def tree_bytes(root):
    return {path.relative_to(root): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_the_second_camera_joins_and_disturbs_nothing(tmp_path):
    write_sthereo(tmp_path, LEFT, recorded())
    before = tree_bytes(tmp_path)
    write_sthereo(tmp_path, RIGHT, recorded("right", LATE))
    after = tree_bytes(tmp_path)
    assert {path: after[path] for path in before} == before
    assert {path.parts[2] for path in set(after) - set(before)} == {"stereo_thermal_14_right"}
    np.testing.assert_array_equal(stamps_of(read_sthereo(tmp_path, RIGHT)), images_at(late=LATE))


def test_frames_without_a_position_have_no_row(tmp_path):
    write_sthereo(tmp_path, LEFT, recorded(position=lambda frame: None if 20 <= frame.index < 50 else frame.position))
    assert len((tmp_path / MORNING / "pose/global_pose.csv").read_text().splitlines()) == 30
    known = np.isfinite(positions_of(read_sthereo(tmp_path, LEFT))).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~known), range(20, 50))


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        (recorded(frame=CoordinateFrame()), "positions are in a local frame, this layout has kind 'utm'"),
        (recorded(frame=tangent_plane(127.3, 36.3)), "positions are in the tangent plane"),
        (recorded(frame=utm_grid("51N", 0.0, 0.0)), "positions are in UTM zone 51N; STheReO's is 52N"),
        (recorded(image=lambda _: lambda: np.zeros((8, 10), np.uint8)), r"image 0 holds uint8; .* 16-bit counts"),
        (recorded()[:0], "has no frame to write"),
    ],
)
def test_what_the_layout_cannot_hold_is_not_written(tmp_path, sequence, message):
    with pytest.raises(InputError, match=message):
        write_sthereo(tmp_path, LEFT, sequence)
    assert not tree_bytes(tmp_path)


def test_a_position_without_a_heading_cannot_be_written(tmp_path):
    headless = recorded(heading=lambda frame: None if frame.index == 7 else frame.heading)
    with pytest.raises(InputError, match="frame 7 has a position and no heading"):
        write_sthereo(tmp_path, LEFT, headless)


def test_two_images_with_one_stamp_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="a second image with its stamp cannot be written"):
        write_sthereo(tmp_path, LEFT, recorded(stamp=lambda frame: START))


def test_nothing_is_overwritten(tmp_path):
    write_sthereo(tmp_path, LEFT, recorded())
    with pytest.raises(InputError, match="stereo_thermal_14_left: exists already"):
        write_sthereo(tmp_path, LEFT, recorded())
