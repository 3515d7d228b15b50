"""The MS2 layout: trees written here by hand, from a drive whose every position and heading is known."""

import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from read_back import headings_of, positions_of, stamps_of, turned_by

from tmapr.data.coordinates import tangent_plane, utm_grid
from tmapr.data.ms2 import read_ms2, write_ms2
from tmapr.data.sequence import from_arrays
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame

SAMPLES = Path(__file__).parents[3] / "shared/data/ms2_sample"
DAY, NIGHT = "_2021-08-06-10-59-33", "_2021-08-13-21-18-04"
LEFT = f"{DAY}/left"
START = 1_628_215_174_691_250_698
CAMPUS = (127.3653, 36.3721)
A, B = 6_378_137.0, 6_356_752.314245179
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


def degrees_of(positions, home=CAMPUS):
    """Where the vertical through a point of the tangent plane meets the ellipsoid: the root of a quadratic."""
    lon, lat = np.radians(home)
    up = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    east = np.array([-np.sin(lon), np.cos(lon), 0.0])
    axes = np.array([A, A, B])
    level = axes**2 * up / np.linalg.norm(axes * up) + positions @ np.stack([east, np.cross(up, east)])
    a, b = np.sum((up / axes) ** 2), np.sum(level * up / axes**2, axis=1)
    c = np.sum((level / axes) ** 2, axis=1) - 1
    x, y, z = (level + np.outer((-b + np.sqrt(b**2 - a * c)) / a, up)).T
    return np.degrees(np.stack([np.arctan2(y, x), np.arctan2(z * A**2, np.hypot(x, y) * B**2)], axis=1))


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
    write_gps(root, times, degrees_of(driven(times, start)[0] + offset), sequence)
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


def test_stamps_are_read_to_the_nanosecond(whole):
    np.testing.assert_array_equal(stamps_of(read_ms2(whole, LEFT)), images_at())


@pytest.mark.parametrize(("side", "late"), [("left", 0), ("right", 9_635_646)])
def test_positions_are_those_of_each_cameras_own_stamps(whole, side, late):
    truth, _ = driven(images_at() + late)
    found = positions_of(read_ms2(whole, f"{DAY}/{side}", home()))
    assert np.abs(found - truth).max() < 1e-3


def test_headings_are_those_of_the_camera(whole):
    assert turned_by(headings_of(read_ms2(whole, LEFT, home())), driven(images_at())[1]) < 0.1


def test_the_right_camera_has_the_headings_of_the_left_by_index(whole):
    left, right = (headings_of(read_ms2(whole, f"{DAY}/{side}", home())) for side in ("left", "right"))
    assert turned_by(left, right) < 0.02


def test_a_camera_that_looks_down_has_the_same_headings(tmp_path):
    root = write_drive(tmp_path, pitch=np.radians(3))
    assert turned_by(headings_of(read_ms2(root, LEFT, home())), driven(images_at())[1]) < 0.1


def test_odometry_that_measures_short_has_the_same_headings(tree):
    poses = odometry_of(*driven(images_at()))
    poses[:, :3, 3] *= 0.9
    shutil.rmtree(tree / "odom")
    write_odometry(tree, poses)
    assert turned_by(headings_of(read_ms2(tree, LEFT, home())), driven(images_at())[1]) < 0.1


@pytest.mark.parametrize("side", ["left", "right"])
def test_images_are_read_bit_for_bit_and_belong_to_their_camera(whole, side):
    for row, frame in enumerate(read_ms2(whole, f"{DAY}/{side}")):
        np.testing.assert_array_equal(frame.image(), image_of(row, side))
        assert frame.image().dtype == np.uint16


def test_frames_know_their_sequence_their_index_and_their_file(whole):
    frames = list(read_ms2(whole, LEFT))
    assert [(frame.sequence, frame.index) for frame in frames] == [(LEFT, row) for row in range(FRAMES)]
    assert frames[7].file == whole / "sync_data" / DAY / "thr/img_left/000007.png"


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


def test_without_a_shared_frame_each_drive_starts_at_its_own_zero(whole, tmp_path):
    write_drive(tmp_path, NIGHT, offset=(1500.0, -2.5))
    for sequence in (read_ms2(whole, LEFT), read_ms2(tmp_path, f"{NIGHT}/left")):
        assert np.hypot(*positions_of(sequence)[0]) < 0.5


def test_without_odometry_headings_are_the_direction_of_travel(tree):
    shutil.rmtree(tree / "odom")
    assert turned_by(headings_of(read_ms2(tree, LEFT, home())), driven(images_at())[1]) < 1.0


def stopping(tree, odometry):
    """Rewrite the drive so that it stands for the first 14 s; the odometry, if any, tells which way it looks."""
    stamps = images_at(220)
    times = fixes_at(stamps, 50_000_000)
    shutil.rmtree(tree)
    moved = [np.maximum(at, START + 14 * NANOSECONDS) for at in (stamps, times)]
    write_camera(tree, stamps)
    write_gps(tree, times, degrees_of(driven(moved[1])[0]))
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


def test_odometry_of_a_car_that_never_moved_turns_nothing(tmp_path):
    stamps = images_at()
    still = np.repeat(driven(stamps[:1])[0], FRAMES, axis=0)
    write_camera(tmp_path, stamps)
    write_gps(tmp_path, stamps, degrees_of(still))
    write_odometry(tmp_path, odometry_of(still, np.zeros(FRAMES)))
    assert np.isnan(headings_of(read_ms2(tmp_path, LEFT))).all()


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


def test_repeated_and_older_stamps_stay_as_recorded(tree):
    recorded = images_at()
    recorded[[10, 11, 12]] = recorded[[11, 11, 9]]
    write_stamps(tree / "sync_data" / DAY / "thr/img_left_timestamp.txt", recorded)
    sequence = read_ms2(tree, LEFT, home())
    np.testing.assert_array_equal(stamps_of(sequence), recorded)
    assert np.abs(positions_of(sequence) - driven(recorded)[0]).max() < 1e-3


def test_fixes_in_any_order_give_the_same_poses(tree):
    shutil.rmtree(tree / "odom")
    before = read_ms2(tree, LEFT, home())
    gps = tree / "sync_data" / DAY / "gps_imu"
    times = fixes_at(images_at())
    order = np.random.default_rng(3).permutation(len(times))
    shutil.rmtree(gps)
    write_gps(tree, times[order], degrees_of(driven(times[order])[0]))
    after = read_ms2(tree, LEFT, home())
    np.testing.assert_allclose(positions_of(after), positions_of(before), atol=1e-9)
    np.testing.assert_allclose(headings_of(after), headings_of(before), atol=1e-9)


def test_images_without_a_fix_nearby_have_no_position(tree):
    stamps, gps = images_at(), tree / "sync_data" / DAY / "gps_imu"
    times = fixes_at(stamps)
    lost = (times > stamps[8]) & (times < stamps[34]) | (times > stamps[37])
    shutil.rmtree(gps)
    write_gps(tree, times[~lost], degrees_of(driven(times[~lost])[0]))
    sequence = read_ms2(tree, LEFT, home())
    known = np.isfinite(positions_of(sequence)).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~known), [*range(8, 35), 38, 39])
    assert turned_by(headings_of(sequence), driven(stamps)[1]) < 0.1


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


def removed(path):
    return lambda sync, odom: (shutil.rmtree if (sync / path).is_dir() else Path.unlink)(sync / path)


def replaced(path, old, new):
    def spoil(sync, odom):
        text = (sync / path).read_text()
        lines = text.splitlines()
        lines[old : old + 1] = [] if new is None else [new]
        (sync / path).write_text("\n".join(lines))

    return spoil


def a_folder_instead(path):
    def spoil(sync, odom):
        (sync / path).unlink()
        (sync / path).mkdir()

    return spoil


def emptied(path):
    def spoil(sync, odom):
        for file in (sync / path).iterdir():
            file.unlink()

    return spoil


def in_odometry(name, text):
    return lambda sync, odom: (odom / name).write_text(text) if text else (odom / name).unlink()


STAMPS, IMAGES = "thr/img_left_timestamp.txt", "thr/img_left"
FIX, FIX_STAMPS = "gps_imu/data/000003.txt", "gps_imu/data_timestamp.txt"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (removed("."), rf"{DAY}: no such folder; data.root must be the folder that holds sync_data"),
        (removed(STAMPS), r"img_left_timestamp.txt: no such file"),
        (removed(IMAGES), r"img_left: no such folder"),
        (emptied(IMAGES), r"img_left: is empty; img_left_timestamp.txt has 40 stamps"),
        (removed(f"{IMAGES}/000007.png"), r"img_left: 000007.png is missing; img_left_timestamp.txt has 40 stamps"),
        (
            lambda sync, odom: (sync / IMAGES / "000012 (1).png").write_bytes(b""),
            r"img_left: 000012 \(1\).png is one too many; .* 40 stamps for 000000.png to 000039.png",
        ),
        (
            lambda sync, odom: (sync / IMAGES / "000000.png").rename(sync / IMAGES / "000040.png"),
            r"img_left: 000000.png is missing; .* 40 stamps for 000000.png to 000039.png",
        ),
        (replaced(STAMPS, 4, None), r"img_left: 000039.png is one too many; img_left_timestamp.txt has 39 stamps"),
        (replaced(STAMPS, 40, "1628215999000000000"), r"img_left: 000040.png is missing; .* has 41 stamps"),
        (replaced(STAMPS, 4, "soon"), r"img_left_timestamp.txt, line 5: 'soon' is not a stamp in integer nanoseconds"),
        (replaced(STAMPS, 4, ""), r"img_left_timestamp.txt, line 5: '' is not a stamp"),
        (replaced(STAMPS, 4, "1628215174.69"), r"img_left_timestamp.txt, line 5: '1628215174.69' is not a stamp"),
        (replaced(STAMPS, 4, "-5"), r"line 5: '-5' is not a stamp"),
        (replaced(STAMPS, 4, "9" * 5000), r"line 5: '9{40}' is not a stamp"),
        (lambda sync, odom: (sync / STAMPS).write_text("\n"), r"img_left_timestamp.txt: lists no stamp"),
        (lambda sync, odom: (sync / STAMPS).write_bytes(b"\xff\xfe\x00"), r"img_left_timestamp.txt: is not a TXT file"),
        (a_folder_instead(STAMPS), r"img_left_timestamp.txt: cannot be read \(Is a directory\)"),
        (
            lambda sync, odom: (sync / FIX).write_text("127.36\n36.37\n"),
            r"000003.txt: has 2 lines; a fix has longitude",
        ),
        (replaced(FIX, 1, "nan"), r"data/000003.txt, line 2: latitude is nan"),
        (replaced(FIX, 0, "inf"), r"data/000003.txt, line 1: longitude is inf"),
        (replaced(FIX, 0, "East"), r"data/000003.txt, line 1: longitude is 'East', not a number"),
        (
            lambda sync, odom: (sync / FIX).write_text("36.3721\n127.3653\n70\n"),
            r"data/000003.txt: longitude 36.3721 and latitude 127.365 are no fix; are lines 1 and 2 swapped\?",
        ),
        (lambda sync, odom: (sync / FIX).write_text("0\n0\n0\n"), r"000003.txt: longitude 0 and latitude 0 are no fix"),
        (a_folder_instead(FIX), r"data/000003.txt: cannot be read \(Is a directory\)"),
        (removed(FIX), r"gps_imu/data: 000003.txt is missing; data_timestamp.txt has \d+ stamps"),
        (removed(FIX_STAMPS), r"data_timestamp.txt: no such file"),
        (replaced(FIX_STAMPS, 8, "later"), r"data_timestamp.txt, line 9: 'later' is not a stamp"),
        (in_odometry("000002.txt", "1 0 0 0 " * 3 + "0 0 0"), r"thr/000002.txt: holds 15 numbers; a 4×4 pose has 16"),
        (in_odometry("000002.txt", "1 0 0 nan " * 4), r"thr/000002.txt: number 4 is nan"),
        (in_odometry("000002.txt", "1 0 0 x " * 4), r"thr/000002.txt: number 4 is 'x', not a number"),
        (in_odometry("000002.txt", "0 " * 16), r"thr/000002.txt: is no pose; a column .* has length 0 instead of 1"),
        (in_odometry("000039.txt", None), rf"odom/{DAY}/thr: 000039.txt is missing; img_left has 40 images"),
        (in_odometry("000040.txt", "0"), rf"odom/{DAY}/thr: 000040.txt is one too many; img_left has 40 images"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line_with_its_place(tree, spoil, message):
    spoil(tree / "sync_data" / DAY, tree / "odom" / DAY / "thr")
    with pytest.raises(InputError, match=message) as refusal:
        read_ms2(tree, LEFT)
    assert "\n" not in str(refusal.value)


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
    assert np.abs((fixes - degrees_of(driven(images_at())[0])) * metres).max() < 1e-4
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


def test_part_of_a_sequence_is_written_from_zero(tmp_path):
    write_ms2(tmp_path, LEFT, recorded()[10:30])
    found = read_ms2(tmp_path, LEFT, home())
    np.testing.assert_array_equal(stamps_of(found), images_at()[10:30])
    assert turned_by(headings_of(found), driven(images_at())[1][10:30]) < 1e-3


def test_frames_without_a_position_have_no_fix_and_leave_out_the_odometry(tmp_path):
    def unless_lost(frame):
        return None if 8 <= frame.index < 34 else frame.position

    write_ms2(tmp_path, LEFT, recorded(position=unless_lost))
    assert len(list((tmp_path / "sync_data" / DAY / "gps_imu/data").iterdir())) == 14
    assert not (tmp_path / "odom").exists()
    known = np.isfinite(positions_of(read_ms2(tmp_path, LEFT))).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~known), range(8, 34))


def test_a_sequence_without_any_position_is_written_without_gps(tmp_path):
    write_ms2(tmp_path, LEFT, recorded(frame=CoordinateFrame(), position=lambda _: None, heading=lambda _: None))
    assert all(frame.position is None for frame in read_ms2(tmp_path, LEFT))


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
