"""Bags: what is read is what was recorded, to the bit and the nanosecond; what cannot be read is refused in a line."""

import os
import shutil
import sqlite3
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode

from bags import (
    GPS,
    GRAY,
    LOCAL,
    ODOMETRY,
    PLUGINS,
    SCENE,
    SECOND,
    START,
    STORES,
    TENTH,
    THERMAL,
    fix,
    go_through,
    image,
    images,
    odometry,
    pose,
    refusal,
    scenes,
    uncertain,
    written,
)
from tmapr.data.bag import Topics, read_bag
from tmapr.data.coordinates import from_degrees, tangent_plane
from tmapr.data.poses import Poses, wrap_angles
from tmapr.exceptions import InputError

EVERY_KIND = pytest.mark.parametrize("kind", STORES)
EVERY_LAYOUT = pytest.mark.parametrize("kind", ["bag", "mcap"])  # of messages: ROS 1 aligns nothing


@pytest.fixture
def kind():
    """Of bag, where it does not matter."""
    return "bag"


def compressed(content, layout):
    fields = {"format": layout, "data": np.frombuffer(content, np.uint8)}
    return "sensor_msgs/msg/CompressedImage", lambda types: fields


def png(counts):
    return cv2.imencode(".png", counts)[1].tobytes()


def pose_stamped(*where):
    return "geometry_msgs/msg/PoseStamped", lambda types: {"pose": pose(types, *where)}


def pose_with_covariance(*where):
    return "geometry_msgs/msg/PoseWithCovarianceStamped", lambda types: {"pose": uncertain(types, *where)}


@pytest.fixture
def record(tmp_path, kind):
    """Writes a bag: a file in ROS 1, a folder in ROS 2."""
    path = tmp_path / ("run.bag" if kind == "bag" else "run")
    return lambda *entries, **options: written(path, kind, entries, **options)


ONE = images([SCENE])


def lone_file(path):
    """The file with the messages: that in the folder of a ROS 2 bag, or the ROS 1 bag itself."""
    return path if path.is_file() else next(each for each in path.iterdir() if each.suffix != ".yaml")


def change(path, statement):
    """Change a bag's database."""
    with closing(sqlite3.connect(lone_file(path))) as database, database:
        database.execute(statement)


def opened(path):
    """The files at or under a path that this process has open."""
    held = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists this folder
            held.append(os.readlink(each))
    return [each for each in held if each.startswith(str(path))]


@EVERY_KIND
def test_images_are_read_as_they_were_recorded(record, rng):
    recorded = scenes(rng, 4, (512, 640))
    sequence = read_bag(record(*images(recorded)), "night")
    assert (sequence.name, len(sequence)) == ("night", 4)
    for row, (frame, counts) in enumerate(zip(sequence, recorded, strict=True)):
        assert (frame.sequence, frame.index, frame.stamp) == ("night", row, START + row * TENTH)
        assert frame.image().dtype == np.uint16
        np.testing.assert_array_equal(frame.image(), counts)


@EVERY_KIND
def test_stamps_are_exact_to_the_nanosecond(record):
    stamps = [START, START + 1, START + SECOND - 1, 2**31 * SECOND - 1]
    path = record(*((THERMAL, stamp, image(SCENE)) for stamp in stamps))
    assert [frame.stamp for frame in read_bag(path, "run")] == stamps


@pytest.mark.parametrize("kind", PLUGINS)
def test_the_file_of_a_bag_is_read_as_its_folder_is(record, rng):
    path = record(*images(scenes(rng, 3)))
    alone, folder = read_bag(lone_file(path), "run"), read_bag(path, "run")
    assert len(alone) == 3
    assert [frame.stamp for frame in alone] == [frame.stamp for frame in folder]
    np.testing.assert_array_equal([frame.image() for frame in alone], [frame.image() for frame in folder])


@pytest.mark.parametrize(
    ("kind", "compression"),
    [
        ("bag", (Writer1.CompressionFormat.BZ2,)),
        ("bag", (Writer1.CompressionFormat.LZ4,)),
        ("db3", (CompressionMode.FILE, CompressionFormat.ZSTD)),
        ("db3", (CompressionMode.MESSAGE, CompressionFormat.ZSTD)),
        ("mcap", (CompressionMode.STORAGE, CompressionFormat.ZSTD)),
    ],
)
def test_a_compressed_bag_is_read(compression, record, rng):
    recorded = scenes(rng, 3)
    path = record(*images(recorded), compression=compression)
    np.testing.assert_array_equal([frame.image() for frame in read_bag(path, "run")], recorded)


def padded(counts, width):
    """The bytes of rows, each followed by so many that are not zero."""
    return np.pad(counts.view(np.uint8), ((0, 0), (0, width)), constant_values=0xAB).reshape(-1)


ENCODED = {
    "mono16": (SCENE, image(SCENE)),
    "16UC1": (SCENE, image(SCENE, "16UC1")),
    "mono8": (GRAY, image(GRAY, "mono8")),
    "8UC1": (GRAY, image(GRAY, "8UC1")),
    "big-endian": (SCENE, image(SCENE.astype(">u2"), is_bigendian=1)),
    "8 bits called big-endian": (GRAY, image(GRAY, "mono8", is_bigendian=1)),
    "padded": (SCENE, image(SCENE, step=22, data=padded(SCENE, 6))),
    "padded by an odd number": (SCENE, image(SCENE, step=19, data=padded(SCENE, 3))),
    "padded and big-endian": (SCENE, image(SCENE, step=20, data=padded(SCENE.byteswap(), 4), is_bigendian=1)),
    "padded 8 bits": (GRAY, image(GRAY, "mono8", step=11, data=padded(GRAY, 3))),
    "more data than rows": (SCENE, image(SCENE, data=padded(SCENE.reshape(1, -1), 9))),
    "16-bit PNG": (SCENE, compressed(png(SCENE), "mono16; png compressed ")),
    "16-bit PNG of 16UC1": (SCENE, compressed(png(SCENE), "16UC1; png compressed ")),
    "8-bit PNG": (GRAY, compressed(png(GRAY), "png")),
}


@EVERY_LAYOUT
@pytest.mark.parametrize("encoding", ENCODED)
def test_every_encoding_gives_the_counts(encoding, record):
    counts, message = ENCODED[encoding]
    (frame,) = read_bag(record((THERMAL, START, message), camera="x"), "run")
    read = frame.image()
    assert read.dtype == counts.dtype
    assert read.flags.c_contiguous
    np.testing.assert_array_equal(read, counts)


@EVERY_LAYOUT
def test_a_jpeg_is_read_up_to_its_rounding(record):
    gray = cv2.resize(np.array([[10, 200], [120, 60]], np.uint8), (64, 48))
    jpeg = cv2.imencode(".jpg", gray)[1].tobytes()
    (frame,) = read_bag(record((THERMAL, START, compressed(jpeg, "mono8; jpeg compressed mono8"))), "run")
    assert np.abs(frame.image().astype(int) - gray).max() <= 6


@EVERY_KIND
def test_images_outlive_their_bag(record, rng, tmp_path):
    recorded = scenes(rng, 20)
    path = record(*images(recorded))
    frames = list(read_bag(path, "run"))
    shutil.move(path, tmp_path / "elsewhere")
    np.testing.assert_array_equal([frame.image() for frame in frames], recorded)


@pytest.mark.parametrize("encoding", ["mono16", "padded", "big-endian", "16-bit PNG"])
def test_nobody_can_change_an_image_for_others(encoding, record):
    (frame,) = read_bag(record((THERMAL, START, ENCODED[encoding][1])), "run")
    given = frame.image()
    with suppress(ValueError):
        given[:] = 0
    np.testing.assert_array_equal(frame.image(), SCENE)


@EVERY_KIND
def test_frames_come_in_the_order_of_recording(record):
    late, early = START + TENTH, START
    path = record((THERMAL, late, image(SCENE), START), (THERMAL, early, image(SCENE), START + TENTH))
    assert [frame.stamp for frame in read_bag(path, "run")] == [late, early]


@EVERY_KIND
def test_without_a_stamp_the_time_of_recording_counts(record):
    path = record((THERMAL, 0, image(SCENE), START), (ODOMETRY, 0, odometry(1.0, 2.0, 0.0), START))
    assert [(frame.stamp, *frame.position) for frame in read_bag(path, "run")] == [(START, 1.0, 2.0)]


@EVERY_KIND
def test_two_passes_at_once_do_not_disturb_one_another(record, rng):
    sequence = read_bag(record(*images(scenes(rng, 5))), "run")
    pairs = [(one.index, other.index) for one, other in zip(sequence, sequence, strict=True)]
    assert pairs == [(index, index) for index in range(5)]


@EVERY_KIND
def test_a_pass_may_take_place_in_another_thread(record, rng):
    recorded = scenes(rng, 6)
    passing = iter(read_bag(record(*images(recorded)), "run"))
    with ThreadPoolExecutor(max_workers=1) as reader:
        read = reader.submit(lambda: [frame.image() for frame in passing]).result()
    np.testing.assert_array_equal(read, recorded)


@EVERY_KIND
def test_a_pass_that_is_given_up_leaves_no_file_open(record, rng):
    path = record(*images(scenes(rng, 8)))
    passing = iter(read_bag(path, "run"))
    next(passing)
    assert opened(path)
    passing.close()
    assert not opened(path)


@EVERY_KIND
@pytest.mark.parametrize(
    "refused", [(ODOMETRY, START, odometry(np.nan, 0.0, 0.0)), (THERMAL, START, image(SCENE, "rgb8"))]
)
def test_what_is_refused_is_closed_while_the_error_is_held(refused, record):
    path = record(*ONE, refused, *images([SCENE] * 3))
    with pytest.raises(InputError) as caught:
        go_through(path)
    assert caught.value
    assert not opened(path)


@EVERY_KIND
def test_a_pass_takes_the_memory_of_a_few_images(record, rng):
    recorded = scenes(rng, 1, (512, 640))
    sequence = read_bag(record(*images(recorded * 18)), "run")
    next(iter(sequence)).image()
    tracemalloc.start()
    for frame in sequence:
        frame.image()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * recorded[0].nbytes  # a chunk of two is there as it was read, unpacked and cut into messages


@EVERY_LAYOUT
@pytest.mark.parametrize("message", [odometry, pose_stamped, pose_with_covariance])
def test_positions_are_interpolated(message, record):
    poses = [("/pose", START, message(1.0, 2.0, 0.2)), ("/pose", START + 2 * TENTH, message(3.0, -2.0, 0.6))]
    sequence = read_bag(record(*images([SCENE] * 3), *poses), "run")
    assert sequence.frame == LOCAL
    frames = list(sequence)
    np.testing.assert_allclose([frame.position for frame in frames], [(1, 2), (2, 0), (3, -2)], atol=1e-12)
    np.testing.assert_allclose([frame.heading for frame in frames], [0.2, 0.4, 0.6], atol=1e-12)


@pytest.mark.parametrize("yaw", [-3.0, -1.5, 0.0, 0.7, 2.5])
@pytest.mark.parametrize("length", [1.0, 0.3, 1e-9])
def test_a_quaternion_need_not_have_unit_length(yaw, length, record):
    (frame,) = read_bag(record(*ONE, (ODOMETRY, START, odometry(0.0, 0.0, yaw, length))), "run")
    assert frame.heading == pytest.approx(yaw, abs=1e-12)


@pytest.mark.parametrize("length", [0.0, np.nan])
def test_without_a_quaternion_there_is_a_position_and_no_heading(length, record):
    (frame,) = read_bag(record(*ONE, (ODOMETRY, START, odometry(4.0, 5.0, 0.3, length))), "run")
    assert frame.position.tolist() == [4.0, 5.0]
    assert frame.heading is None


def test_images_have_the_poses_that_all_poses_together_give_them(record, rng):
    """Gaps of all lengths, poses without a heading, repeated and unordered stamps; images on poses and between them."""
    stamps = START + np.cumsum(rng.choice([TENTH // 10, TENTH, 5 * TENTH, 19 * TENTH, 21 * TENTH, 60 * TENTH], 60))
    stamps[20] = stamps[19]
    places, yaws, headed = rng.normal(0, 9, (60, 2)), rng.uniform(-np.pi, np.pi, 60), rng.random(60) < 0.6
    headed[[0, -1]] = True
    order = rng.permutation(60)
    taken = np.concatenate([stamps, rng.integers(stamps[0] - TENTH, stamps[-1] + 2 * TENTH, 300)])
    poses = [(ODOMETRY, int(stamps[i]), odometry(*places[i], yaws[i], float(headed[i]))) for i in order]
    entries = [*poses, *((THERMAL, stamp, image(SCENE)) for stamp in taken.tolist())]
    path = record(*((*entry, START + row) for row, entry in enumerate(entries)))

    expected = Poses(stamps[order], places[order], np.where(headed, yaws, np.nan)[order]).at(taken)
    frames = list(read_bag(path, "run"))
    found = np.array([(np.nan, np.nan) if frame.position is None else frame.position for frame in frames])
    headings = np.array([np.nan if frame.heading is None else frame.heading for frame in frames])
    np.testing.assert_allclose(found, expected.positions, atol=1e-9)
    np.testing.assert_array_equal(np.isnan(headings), np.isnan(expected.headings))
    known = np.isfinite(headings)
    np.testing.assert_allclose(wrap_angles(headings[known] - expected.headings[known]), 0, atol=1e-9)
    assert 30 < known.sum() < np.isfinite(found[:, 0]).sum() < len(taken)


def test_a_bag_without_positions_is_read(record):
    sequence = read_bag(record(*ONE), "run")
    assert sequence.frame == LOCAL
    assert [(frame.position, frame.heading) for frame in sequence] == [(None, None)]


ORIGIN = (127.3, 36.3)
ELSEWHERE = tangent_plane(127.29, 36.32)
LONGITUDES = ORIGIN[0] + 1e-4 * np.arange(4)  # steps of 9 m there
DRIVE = [(GPS, START + row * TENTH, fix(longitude, ORIGIN[1])) for row, longitude in enumerate(LONGITUDES.tolist())]


@EVERY_LAYOUT
def test_fixes_are_placed_around_the_first_of_them_and_head_along_their_track(record):
    sequence = read_bag(record(*images([SCENE] * 4), *DRIVE), "run")
    assert sequence.frame == tangent_plane(*ORIGIN)
    frames = list(sequence)
    expected = from_degrees(LONGITUDES, np.full(4, ORIGIN[1]), sequence.frame)
    np.testing.assert_allclose([frame.position for frame in frames], expected, atol=1e-6)
    np.testing.assert_allclose([frame.heading for frame in frames], 0, atol=1e-3)
    assert expected[1, 0] == pytest.approx(9.0, abs=0.1)


def test_fixes_are_placed_in_the_frame_of_another_sequence(record):
    sequence = read_bag(record(*ONE, *DRIVE), "run", ELSEWHERE)
    assert sequence.frame == ELSEWHERE
    expected = from_degrees(np.array(ORIGIN[:1]), np.array(ORIGIN[1:]), ELSEWHERE)[0]
    np.testing.assert_allclose(next(iter(sequence)).position, expected, atol=1e-6)
    assert expected[0] > 800
    assert expected[1] < -2000


@pytest.mark.parametrize("lost", [fix(10.0, 10.0, status=-1), fix(np.nan, ORIGIN[1]), fix(ORIGIN[0], np.nan)])
def test_a_fix_that_is_none_is_passed_over(lost, record):
    sequence = read_bag(record((GPS, START - TENTH, lost), *ONE, *DRIVE), "run")
    assert sequence.frame == tangent_plane(*ORIGIN)
    np.testing.assert_allclose(next(iter(sequence)).position, 0, atol=1e-6)


@pytest.mark.parametrize(("frame", "expected"), [(None, LOCAL), (ELSEWHERE, ELSEWHERE)])
def test_a_receiver_that_never_had_a_fix_gives_no_positions(frame, expected, record):
    sequence = read_bag(record(*ONE, (GPS, START, fix(np.nan, np.nan, status=-1))), "run", frame)
    assert sequence.frame == expected
    assert [each.position for each in sequence] == [None]


def test_fixes_cannot_be_placed_in_a_local_frame(record):
    message = refusal(record(*ONE, *DRIVE), frame=LOCAL)
    assert f"topic {GPS}: has positions as longitude and latitude, the map as x,y in a frame of their own" in message


def test_local_positions_cannot_be_placed_in_a_tangent_plane_and_may_be_left_out(record):
    path = record(*ONE, (ODOMETRY, START, odometry(0.0, 0.0, 0.0)))
    message = refusal(path, frame=ELSEWHERE)
    assert f"topic {ODOMETRY}: has positions as x,y in a frame of their own, the map as longitude and" in message
    assert message.endswith('or map with x,y, or go without: data.topics.position = ""')
    sequence = read_bag(path, "run", ELSEWHERE, Topics(position=""))
    assert sequence.frame == ELSEWHERE
    assert [frame.position for frame in sequence] == [None]


@pytest.fixture
def crowded(record):
    """Two cameras, one of them twice, and two sources of positions."""
    again = (f"{THERMAL}/compressed", START, compressed(png(SCENE), "mono16; png compressed "))
    entries = [*images([SCENE] * 3), *images([SCENE] * 2, "/rgb"), again]
    return record(*entries, *DRIVE, (ODOMETRY, START, odometry(7.0, 8.0, 0.0)))


def test_one_of_several_image_topics_must_be_chosen(crowded):
    message = refusal(crowded)
    assert 'choose one, as in data.topics.image = "/rgb": /rgb (sensor_msgs/msg/Image, 2 messages), ' in message
    assert f"{THERMAL} (sensor_msgs/msg/Image, 3 messages)" in message
    assert f"{THERMAL}/compressed (sensor_msgs/msg/CompressedImage, 1 messages)" in message


def test_one_of_several_position_topics_must_be_chosen(crowded):
    message = refusal(crowded, Topics(image=THERMAL))
    assert f'choose one, as in data.topics.position = "{GPS}"' in message
    assert f"{ODOMETRY} (nav_msgs/msg/Odometry, 1 messages)" in message


@EVERY_KIND
@pytest.mark.parametrize(("topic", "frames"), [(THERMAL, 3), ("/rgb", 2), (f"{THERMAL}/compressed", 1)])
def test_the_chosen_topics_are_read(topic, frames, crowded):
    sequence = read_bag(crowded, "run", topics=Topics(image=topic, position=ODOMETRY))
    assert len(sequence) == len(list(sequence)) == frames
    assert next(iter(sequence)).position.tolist() == [7.0, 8.0]


@pytest.mark.parametrize("wanted", ["/thermal", ODOMETRY, ""])
def test_a_topic_without_images_cannot_be_chosen_for_them(wanted, crowded):
    message = refusal(crowded, Topics(image=wanted))
    assert f"data.topics.image is {wanted!r}; topics with images are /rgb (sensor_msgs" in message


def test_a_topic_without_positions_cannot_be_chosen_for_them(record):
    message = refusal(record(*ONE), Topics(position=THERMAL))
    assert message.endswith(f"data.topics.position is {THERMAL!r}; topics with positions are none")


@EVERY_KIND
def test_a_topic_without_messages_is_no_candidate(record):
    path = record(*ONE, idle=[("/idle", "sensor_msgs/msg/Image"), (ODOMETRY, "nav_msgs/msg/Odometry")])
    assert [(frame.stamp, frame.position) for frame in read_bag(path, "run")] == [(START, None)]


def test_the_publishers_of_a_topic_are_read_together(tmp_path):
    store = STORES["bag"]
    with Writer1(tmp_path / "run.bag") as writer:
        for row, caller in enumerate(("/left", "/right")):
            used = writer.add_connection(THERMAL, "sensor_msgs/msg/Image", typestore=store, callerid=caller)
            time = store.types["builtin_interfaces/msg/Time"](*divmod(START + row, SECOND))
            header = store.types["std_msgs/msg/Header"](seq=0, stamp=time, frame_id="thermal")
            made = store.types[used.msgtype](header=header, **image(SCENE)[1](store.types))
            writer.write(used, START + row, store.serialize_ros1(made, used.msgtype))
    sequence = read_bag(tmp_path / "run.bag", "run")
    assert len(sequence) == 2
    assert [frame.stamp for frame in sequence] == [START, START + 1]


def test_without_the_bag_library_the_way_to_it_is_said(record, monkeypatch):
    path = record(*ONE)
    monkeypatch.setitem(sys.modules, "rosbags", None)
    assert refusal(path).endswith("pip install 'tmapr[bags]'")


@pytest.mark.parametrize("name", ["run", "run.bag", "run.db3", "run.mcap"])
def test_a_missing_bag_is_refused(name, tmp_path):
    assert refusal(tmp_path / name).endswith(": no such bag")


@pytest.mark.parametrize("kind", PLUGINS)
def test_a_folder_without_metadata_is_refused(record):
    path = record(*ONE)
    (path / "metadata.yaml").unlink()
    assert "has no metadata.yaml; make one with `ros2 bag reindex`, or name the .db3 or .mcap file" in refusal(path)


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "run.zip").write_bytes(b"PK")
    assert "is no bag; give a file that ends in .bag, .db3, .mcap or a ROS" in refusal(tmp_path / "run.zip")


@EVERY_KIND
@pytest.mark.parametrize("content", [b"", b"stamp,x,y\n1,2,3\n", b"\x00" * 5000, b"\xff\xfe\n" * 3000])
def test_another_file_by_the_name_of_a_bag_is_refused(kind, content, tmp_path):
    path = tmp_path / f"run.{kind}"
    path.write_bytes(content)
    assert "cannot be read (" in refusal(path)


@pytest.mark.parametrize("content", ["", "}{", "rosbag2_bagfile_information: 3", "a:\n  - b\n c\n"])
def test_broken_metadata_are_refused(content, tmp_path):
    path = written(tmp_path / "run", "mcap", ONE)
    (path / "metadata.yaml").write_text(content)
    assert "repair it with `ros2 bag reindex`" in refusal(path)


@EVERY_KIND
def test_a_bag_without_images_is_refused_with_what_it_holds(record):
    message = refusal(record((ODOMETRY, START, odometry(0.0, 0.0, 0.0))))
    assert message.endswith(f"but {ODOMETRY} (nav_msgs/msg/Odometry, 1 messages)")


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8", "32FC1", "bayer_rggb8", "mono12", ""])
def test_another_encoding_is_refused_before_the_image_is_asked_for(encoding, record):
    passing = iter(read_bag(record((THERMAL, START, image(SCENE, encoding))), "run"))
    with pytest.raises(InputError, match=f"topic {THERMAL}, message 1: its encoding is {encoding!r}; .* to mono16$"):
        next(passing)


@pytest.mark.parametrize("layout", ["16UC1; compressedDepth png", "16UC1; compressedDepth", "16UC1; rvl", "h264", ""])
def test_another_compression_is_refused_before_the_image_is_asked_for(layout, record):
    passing = iter(read_bag(record((THERMAL, START, compressed(bytes(12) + png(SCENE), layout))), "run"))
    with pytest.raises(InputError, match=f"topic {THERMAL}, message 1: its format is {layout!r}; read are plain png"):
        next(passing)


UNFITTING = {
    "data cut off": {"data": np.zeros(95, np.uint8)},
    "no data": {"data": np.zeros(0, np.uint8)},
    "rows shorter than their pixels": {"step": 15},
    "no step": {"step": 0},
    "no rows": {"height": 0},
    "no columns": {"width": 0},
    "a giant": {"height": 2**32 - 1, "width": 2**30, "step": 2**31},
}


@EVERY_LAYOUT
@pytest.mark.parametrize("fault", UNFITTING)
def test_an_image_that_does_not_fit_its_data_is_refused_alone(fault, record):
    good, bad = image(SCENE), image(SCENE, **UNFITTING[fault])
    path = record(*((THERMAL, START + row, each) for row, each in enumerate((good, bad, good))))
    frames = list(read_bag(path, "run"))
    with pytest.raises(InputError, match=r"message 2: \d+ bytes cannot hold \d+ rows of \d+ bytes with"):
        frames[1].image()
    np.testing.assert_array_equal([frames[0].image(), frames[2].image()], [SCENE] * 2)


@pytest.mark.parametrize(("end", "reason"), [(0, "is empty"), (20, "is cut off or dam"), (-5, "is cut off or dam")])
def test_a_damaged_compressed_image_is_refused_alone(end, reason, record):
    (frame,) = read_bag(record((THERMAL, START, compressed(png(SCENE)[:end], "png"))), "run")
    with pytest.raises(InputError, match=f"topic {THERMAL}, message 1: {reason}"):
        frame.image()


def test_a_picture_in_colours_is_refused(record):
    colours = png(cv2.applyColorMap(GRAY, cv2.COLORMAP_JET))
    path = record((THERMAL, START, compressed(colours, "bgr8; png compressed bgr8")))
    assert f"topic {THERMAL}, message 1: is a false-colour picture" in refusal(path)


@pytest.mark.parametrize("place", [(np.nan, 1.0), (1.0, np.nan), (np.inf, 0.0)])
def test_a_position_that_is_no_number_is_refused(place, record):
    good, bad = (ODOMETRY, START, odometry(0.0, 0.0, 0.0)), (ODOMETRY, START + 1, odometry(*place, 0.0))
    message = refusal(record(*ONE, good, bad))
    assert f"topic {ODOMETRY}, message 2: its position is ({place[0]}, {place[1]})" in message
    assert message.endswith('data.topics.position = ""')


def cuts(length):
    """Some at the ends, where headers and indices are, and some between."""
    return sorted({*range(0, 60, 12), *range(length - 60, length, 12), *range(0, length, length // 12)})


@EVERY_KIND
def test_a_bag_cut_anywhere_is_refused(record, rng, tmp_path):
    poses = [(ODOMETRY, START + row * TENTH, odometry(float(row), 0.0, 0.0)) for row in range(12)]
    pairs = zip(images(scenes(rng, 12, (64, 80))), poses, strict=True)
    whole = lone_file(record(*(each for pair in pairs for each in pair)))
    content = whole.read_bytes()
    cut_off = tmp_path / f"cut{whole.suffix}"
    for cut in cuts(len(content)):
        cut_off.write_bytes(content[:cut])
        assert refusal(cut_off), cut


@EVERY_KIND
def test_a_bag_damaged_anywhere_gives_frames_or_a_refusal(record, rng, tmp_path):
    whole = lone_file(record(*images(scenes(rng, 6, (64, 80)))))
    content = whole.read_bytes()
    damaged = tmp_path / f"damaged{whole.suffix}"
    for start in rng.integers(0, len(content) - 40, 20):
        damaged.write_bytes(content[:start] + rng.bytes(40) + content[start + 40 :])
        with suppress(InputError):
            go_through(damaged)


@pytest.mark.parametrize("kind", ["db3"])
def test_frames_before_the_damage_are_given(record, rng):
    path = record(*images(scenes(rng, 9)))
    change(path, "UPDATE messages SET data = x'0001000011' WHERE id = 6")
    passing = iter(read_bag(path, "run"))
    assert [frame.index for frame in islice(passing, 5)] == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match=f"topic {THERMAL}, message 6: cannot be read .*copy it again, or repair it"):
        next(passing)


@pytest.mark.parametrize("kind", ["db3"])
def test_messages_that_are_listed_must_be_there(record, rng):
    path = record(*images(scenes(rng, 5)))
    change(path, "DELETE FROM messages WHERE id > 3")
    assert f"topic {THERMAL}: 5 messages are listed, 3 are there; copy it again" in refusal(path)


@pytest.mark.parametrize("kind", ["db3"])
def test_the_definitions_in_a_bag_do_not_matter(record):
    path = record(*ONE, (ODOMETRY, START, odometry(1.0, 2.0, 0.0)))
    change(path, "UPDATE message_definitions SET encoded_message_definition = '}{'")
    assert next(iter(read_bag(path, "run"))).position.tolist() == [1.0, 2.0]


@EVERY_KIND
@pytest.mark.parametrize("name", ["run #3", "100 %", "what?", "größe °C [1]*"])
def test_the_name_of_a_bag_does_not_matter_or_is_refused(kind, name, record, tmp_path):
    path = record(*ONE).rename(tmp_path / f"{name}.{kind}")
    if kind == "db3" and "°" not in name:
        assert "a database cannot be opened under a path with ?, # or %; rename it" in refusal(path)
    else:
        assert len(list(read_bag(path, "run"))) == 1


@pytest.mark.parametrize("lone", [False, True])
@pytest.mark.parametrize("journal", ["wal", "journal"])
def test_a_database_whose_journal_was_left_is_refused(journal, lone, tmp_path):
    folder = written(tmp_path / "run [1]", "db3", ONE)
    file = lone_file(folder)
    file.with_name(f"{file.name}-{journal}").write_bytes(b"not yet in the database")
    message = refusal(file if lone else folder)
    assert message.endswith(f"finish it with `sqlite3 {file} 'PRAGMA journal_mode = DELETE'`")
