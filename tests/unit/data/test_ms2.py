"""The MS2 layout: trees written here by hand, from a drive whose every position and heading is known."""

import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest

from read_back import (
    degrees_of,
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
from repository import SHARED
from tmapr.data.coordinates import tangent_plane, utm_grid
from tmapr.data.ms2 import read_ms2, write_ms2
from tmapr.data.sequence import from_arrays
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame

SAMPLES = SHARED / "ms2_sample"
DAY, NIGHT = "_2021-08-06-10-59-33", "_2021-08-13-21-18-04"
LEFT = f"{DAY}/left"
START = 1_628_215_174_691_250_698
CAMPUS = (127.3653, 36.3721)
FRAMES = 40


def images_at(count=FRAMES, start=START):
    """The cameras' rhythm: 66 and 132 ms in turn, to an odd nanosecond."""
    gaps = np.tile([66_123_457, 132_246_913], count)[: count - 1]
    return start + np.concatenate([[0], np.cumsum(gaps)])


def fixes_at(stamps, period=40_000_000):
    """Fixes have a clock of their own, often enough for a curve to be straight in between: 0.2 mm."""
    return np.arange(stamps.min() - 33_333_333, stamps.max() + 2 * period, period)


def driven(stamps, start=START):
    """Metres East and North of CAMPUS, and the heading, along a curve at some 9 m/s."""
    t = (stamps - start) / NANOSECONDS
    positions = np.stack([40 + 120 * np.sin(t / 15), 80 * np.sin(t / 10 + 0.3)], axis=1)
    return positions, np.arctan2(8 * np.cos(t / 10 + 0.3), 8 * np.cos(t / 15))


def odometry_of(positions, headings, pitch=0.0):
    """Camera poses in the axes of the first camera: right, down, forward; mounted `pitch` below the horizon."""
    poses = np.tile(np.eye(4), (len(positions), 1, 1))
    for pose, (x, y), yaw in zip(poses, positions, headings, strict=True):
        forward = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), -np.sin(pitch)])
        right = np.array([np.sin(yaw), -np.cos(yaw), 0.0])
        pose[:3] = np.stack([right, np.cross(forward, right), forward, [x, y, 0.0]], axis=1)
    return np.linalg.inv(poses[0]) @ poses


def image_of(row, side="left"):
    return (np.arange(80, dtype=np.uint16).reshape(8, 10) + 3000 + 100 * row) - np.uint16(90 * (side == "right"))


def write_numbered(folder, suffix, contents):
    folder.mkdir(parents=True)
    for row, content in enumerate(contents):
        (folder / f"{row:06d}.{suffix}").write_bytes(content)


def write_stamps(path, stamps):
    path.write_text("".join(f"{stamp}\n" for stamp in stamps))


def write_camera(root, stamps, side="left", sequence=DAY):
    thermal = root / "sync_data" / sequence / "thr"
    pictures = (cv2.imencode(".png", image_of(row, side))[1].tobytes() for row in range(len(stamps)))
    write_numbered(thermal / f"img_{side}", "png", pictures)
    write_stamps(thermal / f"img_{side}_timestamp.txt", stamps)


def write_gps(root, stamps, degrees, sequence=DAY):
    gps = root / "sync_data" / sequence / "gps_imu"
    texts = (f"{lon:.11f}\n{lat:.11f}\n71.3\n0.1\n0.2\n0.3\n1.0\n" for lon, lat in degrees)
    write_numbered(gps / "data", "txt", (text.encode() for text in texts))
    write_stamps(gps / "data_timestamp.txt", stamps)


def write_odometry(root, poses, sequence=DAY):
    texts = ("\n".join(" ".join(f"{value:.12e}" for value in row) for row in pose) for pose in poses)
    write_numbered(root / "odom" / sequence / "thr", "txt", (text.encode() for text in texts))


def write_drive(root, sequence=DAY, stamps=None, offset=(0.0, 0.0), pitch=0.0):
    """A whole tree with the left camera; `offset` moves the drive on the ground."""
    stamps = images_at() if stamps is None else stamps
    start = int(stamps.min())
    times = fixes_at(stamps)
    write_camera(root, stamps, "left", sequence)
    write_gps(root, times, degrees_of(driven(times, start)[0] + offset, CAMPUS), sequence)
    write_odometry(root, odometry_of(*driven(stamps, start), pitch), sequence)
    return root


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One drive with both cameras; not to be spoilt."""
    root = write_drive(tmp_path_factory.mktemp("ms2"))
    write_camera(root, images_at() + 9_635_646, "right")
    return root


@pytest.fixture
def tree(whole, tmp_path):
    """A copy of it to spoil."""
    shutil.copytree(whole, tmp_path / "ms2", ignore=shutil.ignore_patterns("img_right*"))
    return tmp_path / "ms2"


def home():
    """The frame in which the truth is known."""
    return tangent_plane(*CAMPUS)


@pytest.mark.parametrize(("side", "late"), [("left", 0), ("right", 9_635_646)])
def test_positions_are_those_of_each_cameras_own_stamps(whole, side, late):
    truth, _ = driven(images_at() + late)
    found = positions_of(read_ms2(whole, f"{DAY}/{side}", home()))
    assert np.abs(found - truth).max() < 1e-3


def test_headings_are_those_of_the_camera(whole):
    assert turned_by(headings_of(read_ms2(whole, LEFT, home())), driven(images_at())[1]) < 0.1


def test_a_camera_that_looks_down_has_the_same_headings(tmp_path):
    root = write_drive(tmp_path, pitch=np.radians(3))
    assert turned_by(headings_of(read_ms2(root, LEFT, home())), driven(images_at())[1]) < 0.1


@pytest.mark.parametrize("side", ["left", "right"])
def test_images_are_read_bit_for_bit_and_belong_to_their_camera(whole, side):
    for row, frame in enumerate(read_ms2(whole, f"{DAY}/{side}")):
        np.testing.assert_array_equal(frame.image(), image_of(row, side))
        assert frame.image().dtype == np.uint16


def test_without_a_frame_positions_are_relative_to_the_first_fix(whole):
    lines = (whole / "sync_data" / DAY / "gps_imu/data/000000.txt").read_text().split()
    assert read_ms2(whole, LEFT).frame == CoordinateFrame("enu", None, (float(lines[0]), float(lines[1])))


def test_two_drives_of_one_route_share_the_frame_of_the_first(whole, tmp_path):
    aside = (1500.0, -2.5)
    night = images_at(start=START + 644_000 * NANOSECONDS)
    write_drive(tmp_path, NIGHT, night, offset=aside)
    mapped = read_ms2(whole, LEFT, home())
    found = read_ms2(tmp_path, f"{NIGHT}/left", mapped.frame)
    assert found.frame == mapped.frame
    assert np.abs(positions_of(found) - positions_of(mapped) - aside).max() < 1e-3
    assert turned_by(headings_of(found), headings_of(mapped)) < 0.1


def test_without_odometry_headings_are_the_direction_of_travel(tree):
    shutil.rmtree(tree / "odom")
    assert turned_by(headings_of(read_ms2(tree, LEFT, home())), driven(images_at())[1]) < 1.0


def stopping(tree, odometry):
    """Rewrite the drive so that it stands for the first 14 s; the odometry, if any, tells which way it looks."""
    stamps = images_at(160)
    times = fixes_at(stamps, 50_000_000)
    shutil.rmtree(tree)
    moved = [np.maximum(at, START + 14 * NANOSECONDS) for at in (stamps, times)]
    write_camera(tree, stamps)
    write_gps(tree, times, degrees_of(driven(moved[1])[0], CAMPUS))
    if odometry:
        write_odometry(tree, odometry_of(*driven(moved[0])))
    return (stamps - START) / NANOSECONDS, headings_of(read_ms2(tree, LEFT, home())), driven(moved[0])[1]


def test_a_standing_car_without_odometry_has_no_heading(tree):
    t, found, truth = stopping(tree, odometry=False)
    assert np.isnan(found[t < 8]).all()
    assert turned_by(found[t > 15], truth[t > 15]) < 2.0


def test_a_standing_car_with_odometry_has_one(tree):
    _, found, truth = stopping(tree, odometry=True)
    assert turned_by(found, truth) < 0.1


def test_without_gps_there_are_neither_positions_nor_headings(tree):
    shutil.rmtree(tree / "sync_data" / DAY / "gps_imu")
    sequence = read_ms2(tree, LEFT)
    assert sequence.frame == CoordinateFrame()
    assert all(frame.position is None and frame.heading is None for frame in sequence)


def test_no_image_is_opened_before_it_is_asked_for(tree):
    for image in (tree / "sync_data" / DAY / "thr/img_left").iterdir():
        image.write_bytes(b"")
    frame, *_ = read_ms2(tree, LEFT)
    with pytest.raises(InputError, match=r"000000\.png: is empty"):
        frame.image()


def test_hidden_files_are_none_of_it(tree):
    for folder in ("thr/img_left", "gps_imu/data"):
        (tree / "sync_data" / DAY / folder / ".DS_Store").write_bytes(b"Bud1")
        (tree / "sync_data" / DAY / folder / "._000000.png").write_bytes(b"")
    assert len(read_ms2(tree, LEFT)) == FRAMES


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n\n\n"])
def test_the_last_line_may_end_in_any_way(tree, ending):
    path = tree / "sync_data" / DAY / "thr/img_left_timestamp.txt"
    path.write_bytes((path.read_text().strip().replace("\n", "\r\n") + ending).encode())
    np.testing.assert_array_equal(stamps_of(read_ms2(tree, LEFT)), images_at())


@pytest.mark.parametrize("side", ["left", "right"])
def test_real_frames_are_read_bit_for_bit(tmp_path, side):
    if not SAMPLES.is_dir():
        pytest.skip("no MS2 samples beside the repository")
    real = sorted(SAMPLES.glob(f"{side}_*_thr.png"))
    write_numbered(tmp_path / "sync_data" / DAY / f"thr/img_{side}", "png", (file.read_bytes() for file in real))
    write_stamps(tmp_path / "sync_data" / DAY / f"thr/img_{side}_timestamp.txt", images_at(len(real)))
    for frame, file in zip(read_ms2(tmp_path, f"{DAY}/{side}"), real, strict=True):
        image = frame.image()
        assert (image.shape, image.dtype) == ((256, 640), np.uint16)
        np.testing.assert_array_equal(image, cv2.imread(str(file), cv2.IMREAD_UNCHANGED))


SYNC, ODOM = f"sync_data/{DAY}", f"odom/{DAY}/thr"
STAMPS, IMAGES = f"{SYNC}/thr/img_left_timestamp.txt", f"{SYNC}/thr/img_left"
FIX, FIX_STAMPS = f"{SYNC}/gps_imu/data/000003.txt", f"{SYNC}/gps_imu/data_timestamp.txt"
POSE = f"{ODOM}/000002.txt"
SPOILED = [
    # how it comes about, the place that is named, and the value or the way out
    (removed(SYNC), DAY, "data.root"),
    (removed(STAMPS), STAMPS, "no such file"),
    (removed(IMAGES), IMAGES, "no such folder"),
    (emptied(IMAGES), IMAGES, "empty"),
    (removed(f"{IMAGES}/000007.png"), IMAGES, "000007.png"),
    (written(f"{IMAGES}/000012 (1).png", b""), IMAGES, "000012 (1).png"),
    (line_replaced(STAMPS, 5, None), IMAGES, "000039.png"),
    (line_replaced(STAMPS, 41, "1628215999000000000"), IMAGES, "000040.png"),
    (line_replaced(STAMPS, 5, "soon"), f"{STAMPS}, line 5", "'soon'"),
    (line_replaced(STAMPS, 5, ""), f"{STAMPS}, line 5", "''"),
    (line_replaced(STAMPS, 5, "1628215174.69"), f"{STAMPS}, line 5", "'1628215174.69'"),
    (line_replaced(STAMPS, 5, "-5"), f"{STAMPS}, line 5", "'-5'"),
    (line_replaced(STAMPS, 5, "9" * 5000), f"{STAMPS}, line 5", f"'{'9' * 40}'"),
    (written(STAMPS, "\n"), STAMPS, "no stamp"),
    (written(STAMPS, b"\xff\xfe\x00"), STAMPS, "TXT"),
    (made_a_folder(STAMPS), STAMPS, "Is a directory"),
    (written(FIX, "127.36\n36.37\n"), FIX, "2 lines"),
    (line_replaced(FIX, 2, "nan"), f"{FIX}, line 2", "latitude is nan"),
    (line_replaced(FIX, 1, "inf"), f"{FIX}, line 1", "longitude is inf"),
    (line_replaced(FIX, 1, "East"), f"{FIX}, line 1", "'East'"),
    (written(FIX, "36.3721\n127.3653\n70\n"), FIX, "swapped"),
    (written(FIX, "0\n0\n0\n"), FIX, "no fix"),
    (removed(FIX), f"{SYNC}/gps_imu/data", "000003.txt"),
    (removed(FIX_STAMPS), FIX_STAMPS, "no such file"),
    (line_replaced(FIX_STAMPS, 9, "later"), f"{FIX_STAMPS}, line 9", "'later'"),
    (written(POSE, "1 0 0 0 " * 3 + "0 0 0"), POSE, "15 numbers"),
    (written(POSE, "1 0 0 nan " * 4), POSE, "number 4 is nan"),
    (written(POSE, "1 0 0 x " * 4), POSE, "'x'"),
    (written(POSE, "0 " * 16), POSE, "length 0"),
    (removed(f"{ODOM}/000039.txt"), ODOM, "000039.txt"),
    (written(f"{ODOM}/000040.txt", "0"), ODOM, "000040.txt"),
]


@pytest.mark.parametrize(("spoil", "place", "named"), SPOILED)
def test_what_is_wrong_is_refused_in_one_line_with_its_place(tree, spoil, place, named):
    spoil(tree)
    said = refusal_of(read_ms2, tree, LEFT)
    assert place in said
    assert named in said


@pytest.mark.parametrize("name", [DAY, f"{DAY}/middle", f"{DAY}/", "/left", "left", "", f"{DAY}/thr/left"])
def test_a_name_says_which_camera(whole, name):
    with pytest.raises(InputError, match="write SEQUENCE/left or SEQUENCE/right"):
        read_ms2(whole, name)


def test_another_kind_of_frame_is_refused(whole):
    with pytest.raises(InputError, match="as longitude and latitude, the map as UTM 52N; give easting,northing,zone"):
        read_ms2(whole, LEFT, utm_grid("52N", 353_315.0, 4_026_668.0))


def recorded(side="left", late=0, frame=None, **changes):
    """The drive as a sequence in memory."""
    stamps = images_at() + late
    positions, headings = driven(stamps)
    sequence = from_arrays(side, frame or home(), stamps, lambda row: image_of(row, side), positions, headings)
    frames = [replace(frame, **{name: change(frame) for name, change in changes.items()}) for frame in sequence]
    return replace(sequence, start=lambda: iter(frames))


def test_what_is_written_is_read_back(tmp_path):
    write_ms2(tmp_path, LEFT, recorded())
    found = read_ms2(tmp_path, LEFT, home())
    positions, headings = driven(images_at())
    np.testing.assert_array_equal(stamps_of(found), images_at())
    assert np.abs(positions_of(found) - positions).max() < 1e-4
    assert turned_by(headings_of(found), headings) < 1e-3
    for row, frame in enumerate(found):
        np.testing.assert_array_equal(frame.image(), image_of(row))


def test_what_is_written_has_the_layout_of_the_authors(tmp_path):
    """Read here as other people's loaders do: by index, with the odometry's plane (z, −x)."""
    write_ms2(tmp_path, LEFT, recorded())
    sync, odom = tmp_path / "sync_data" / DAY, tmp_path / "odom" / DAY / "thr"
    assert sorted(path.name for path in sync.iterdir()) == ["gps_imu", "thr"]
    assert sorted(path.name for path in (sync / "thr").iterdir()) == ["img_left", "img_left_timestamp.txt"]
    assert sorted(path.name for path in (sync / "gps_imu").iterdir()) == ["data", "data_timestamp.txt"]
    assert [int(line) for line in (sync / "thr/img_left_timestamp.txt").read_text().splitlines()] == [*images_at()]
    names = [f"{row:06d}" for row in range(FRAMES)]
    for folder, suffix in ((sync / "thr/img_left", ".png"), (sync / "gps_imu/data", ".txt"), (odom, ".txt")):
        assert sorted(path.name for path in folder.iterdir()) == [name + suffix for name in names]
    assert cv2.imread(str(sync / "thr/img_left/000005.png"), cv2.IMREAD_UNCHANGED).dtype == np.uint16
    fixes = np.array([np.loadtxt(sync / f"gps_imu/data/{name}.txt")[:2] for name in names])
    metres = np.radians(1) * 6_371_000
    assert np.abs((fixes - degrees_of(driven(images_at())[0], CAMPUS)) * metres).max() < 1e-4
    poses = np.array([np.loadtxt(odom / f"{name}.txt").reshape(4, 4) for name in names])
    np.testing.assert_allclose(poses[0], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(poses, odometry_of(*driven(images_at())), atol=1e-9)


def tree_bytes(root):
    return {path.relative_to(root): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_the_second_camera_joins_and_disturbs_nothing(tmp_path):
    write_ms2(tmp_path, LEFT, recorded())
    before = tree_bytes(tmp_path)
    write_ms2(tmp_path, f"{DAY}/right", recorded("right", 9_635_646))
    after = tree_bytes(tmp_path)
    assert {path: after[path] for path in before} == before
    assert {path.parts[2:4] for path in set(after) - set(before)} == {
        ("thr", "img_right"),
        ("thr", "img_right_timestamp.txt"),
    }
    right = read_ms2(tmp_path, f"{DAY}/right", home())
    np.testing.assert_array_equal(stamps_of(right), images_at() + 9_635_646)
    np.testing.assert_array_equal(next(iter(right)).image(), image_of(0, "right"))


def test_frames_without_a_position_have_no_fix_and_leave_out_the_odometry(tmp_path):
    def unless_lost(frame):
        return None if 8 <= frame.index < 34 else frame.position

    write_ms2(tmp_path, LEFT, recorded(position=unless_lost))
    assert len(list((tmp_path / "sync_data" / DAY / "gps_imu/data").iterdir())) == 14
    assert not (tmp_path / "odom").exists()
    known = np.isfinite(positions_of(read_ms2(tmp_path, LEFT))).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~known), range(8, 34))


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        (recorded(frame=CoordinateFrame()), "positions are in a local frame, this layout has kind 'enu'"),
        (recorded(frame=utm_grid("52N", 0.0, 0.0)), "positions are in UTM 52N"),
        (recorded(image=lambda _: lambda: np.zeros((8, 10), np.uint8)), "image 0 holds uint8; .* 16-bit counts"),
        (recorded()[:0], "has no frame to write"),
    ],
)
def test_what_the_layout_cannot_hold_is_not_written(tmp_path, sequence, message):
    with pytest.raises(InputError, match=message):
        write_ms2(tmp_path, LEFT, sequence)
    assert not tree_bytes(tmp_path)


def test_nothing_is_overwritten(tmp_path):
    write_ms2(tmp_path, LEFT, recorded())
    with pytest.raises(InputError, match="img_left: exists already"):
        write_ms2(tmp_path, LEFT, recorded())


def test_a_second_camera_with_fewer_images_is_refused(tmp_path):
    write_ms2(tmp_path, LEFT, recorded())
    with pytest.raises(InputError, match=r"has the poses of 40 images, and .*/right has 39"):
        write_ms2(tmp_path, f"{DAY}/right", recorded("right")[:39])


def test_a_tree_whose_writing_was_cut_short_is_refused(tmp_path):
    frames = list(recorded())

    def cut():
        yield from frames[:20]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_ms2(tmp_path, LEFT, replace(recorded(), start=cut))
    with pytest.raises(InputError, match=r"img_left_timestamp.txt: no such file"):
        read_ms2(tmp_path, LEFT)
