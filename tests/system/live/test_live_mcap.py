"""The log of a drive, read by others: the mcap library, its ROS 2 decoder, and rosbags."""

import sys
from dataclasses import replace

import cv2
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader as BagReader
from rosbags.typesys import Stores, get_typestore

from answered import HEALTH, say
from tmapr.exceptions import InputError
from tmapr.live.definitions import load_types
from tmapr.live.messages import Frames
from tmapr.live.outputs.mcap import McapSink
from tmapr.live.speaker import Speaker

SECOND = 1_000_000_000


def write(path, scene, answers, **options):
    sink = McapSink(path, **options)
    sink.begin(scene)
    for answer in answers:
        sink.take(answer)
    sink.report(HEALTH)
    sink.close()
    return sink.path


def decode(path, *topics):
    """By the mcap library and its own ROS 2 decoder: each message's time, stamp and content."""
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        return [
            (message.log_time, message.publish_time, content)
            for _, _, message, content in reader.iter_decoded_messages(topics=topics)
        ]


def read_stamp(header):
    return header.stamp.sec * SECOND + header.stamp.nanosec


def test_the_mcap_library_decodes_every_answer(tmp_path, scene, answers):
    path = write(tmp_path / "drive.mcap", scene, answers)
    tracked = decode(path, "/tmapr/odometry")
    assert [read_stamp(content.header) for _, _, content in tracked] == [answer.stamp for answer in answers]
    for (logged, published, content), answer in zip(tracked, answers, strict=True):
        assert (logged, published) == (answer.estimate.stamp, answer.stamp)
        position = content.pose.pose.position
        assert [position.x, position.y] == answer.estimate.position.tolist()
    accepted = [answer for answer in answers if answer.estimate.status == "localized"]
    placed = decode(path, "/tmapr/fix")
    assert [content.pose.pose.position.x for _, _, content in placed] == [
        answer.estimate.candidate.position[0] for answer in accepted
    ]
    ((_, _, diagnostics),) = decode(path, "/diagnostics")
    assert [status.name for status in diagnostics.status][:2] == ["tmapr", "tmapr: source"]


def test_rosbags_reads_the_same_as_was_said(tmp_path, scene, answers):
    path = write(tmp_path / "drive.mcap", scene, answers[:20], frames=Frames(map="world"))
    types, speaker = get_typestore(Stores.ROS2_HUMBLE), Speaker(Frames(map="world"))
    said = [message.value for answer in answers[:20] for message in speaker.speak(answer) if message.topic == "/tf"]
    with BagReader(path) as reader:
        wanted = [each for each in reader.connections if each.topic == "/tf"]
        read = [types.deserialize_cdr(raw, each.msgtype) for each, _, raw in reader.messages(wanted)]
    assert len(read) == len(said) > 0
    for message, value in zip(read, said, strict=True):
        (transform,), (told,) = message.transforms, value["transforms"]
        assert (transform.header.frame_id, transform.child_frame_id) == ("world", "base_link")
        assert read_stamp(transform.header) == told["header"]["stamp"]
        assert transform.transform.rotation.z == told["transform"]["rotation"]["z"]


def test_the_file_says_what_it_is_of(tmp_path, scene, answers):
    path = write(tmp_path / "drive.mcap", scene, answers[:3])
    with path.open("rb") as file:
        reader = make_reader(file)
        (note,) = reader.iter_metadata()
        assert reader.get_header().profile == "ros2"
        assert note.metadata["source"] == "night"
        assert note.metadata["coordinates"] == "enu"
        longitude, latitude = map(float, note.metadata["origin"].split())
    assert (longitude, latitude) == scene.localizer.frame.origin


def deepen(answer):
    """The same from a camera with 16 bits, whose image is no block of memory."""
    counts = answer.frame.image().astype(np.uint16) * 7 + 21_000
    return replace(answer, frame=replace(answer.frame, image=lambda: counts[:, 3:-2]))


def test_raw_pictures_are_the_cameras_counts(tmp_path, scene, answers):
    taken = [answers[0], deepen(answers[1])]
    path = write(tmp_path / "drive.mcap", scene, taken, pictures="raw")
    for (_, _, content), answer, depth in zip(decode(path, "/tmapr/image"), taken, (np.uint8, np.uint16), strict=True):
        counts = answer.frame.image()
        assert content.encoding == {np.uint8: "mono8", np.uint16: "mono16"}[depth]
        assert read_stamp(content.header) == answer.stamp
        read = np.frombuffer(content.data, depth).reshape(content.height, content.width)
        np.testing.assert_array_equal(read, counts)


def test_small_pictures_are_jpegs_in_which_what_is_warm_is_bright(tmp_path, scene, answers):
    answer = deepen(answers[0])
    path = write(tmp_path / "drive.mcap", scene, [answer])
    ((_, _, content),) = decode(path, "/tmapr/image/compressed")
    assert content.format == "jpeg"
    picture = cv2.imdecode(np.frombuffer(content.data, np.uint8), cv2.IMREAD_COLOR)
    counts = answer.frame.image()
    assert picture.shape == (*counts.shape, 3)
    assert np.corrcoef(picture.sum(axis=2).ravel(), counts.ravel())[0, 1] > 0.8
    assert len(content.data) < counts.nbytes / 8


def refuse_image():
    raise InputError("no picture")


@pytest.mark.parametrize(
    "image",
    [refuse_image, lambda: np.zeros((64, 64, 3), np.uint8), lambda: np.full((64, 64), 9, np.uint8), lambda: np.eye(4)],
)
def test_a_frame_without_a_picture_is_logged_without(tmp_path, scene, answers, image):
    blind = replace(answers[0], frame=replace(answers[0].frame, image=image))
    path = write(tmp_path / "drive.mcap", scene, [blind])
    assert decode(path, "/tmapr/image/compressed") == []
    assert len(decode(path, "/tmapr/odometry")) == 1


def test_without_pictures_a_log_has_none(tmp_path, scene, answers):
    path = write(tmp_path / "drive.mcap", scene, answers[:3], pictures="none")
    with path.open("rb") as file:
        topics = {channel.topic for channel in make_reader(file).get_summary().channels.values()}
    assert topics == {"/tmapr/fix", "/tmapr/odometry", "/tmapr/gps", "/tf", "/diagnostics"}


def test_a_log_that_is_there_stays(tmp_path, scene, answers, caplog):
    first = write(tmp_path / "drive.mcap", scene, answers[:2])
    kept = first.read_bytes()
    second, third = (write(tmp_path / "drive.mcap", scene, answers[:3]) for _ in range(2))
    assert [path.name for path in (first, second, third)] == ["drive.mcap", "drive-2.mcap", "drive-3.mcap"]
    assert first.read_bytes() == kept
    assert "drive.mcap: is there already; the log goes to" in caplog.text


def test_a_file_that_is_large_is_ended_and_the_next_one_begun(tmp_path, scene, answers):
    sink = McapSink(tmp_path / "drive.mcap", largest=20_000)
    sink.begin(scene)
    for answer in answers[:12]:
        sink.take(answer)
        sink.report(HEALTH)
    sink.close()
    files = sorted(tmp_path.iterdir(), key=lambda path: (len(path.name), path.name))
    assert len(files) > 2
    assert all(path.stat().st_size < 60_000 for path in files)
    stamps = [published for path in files for _, published, _ in decode(path, "/tmapr/odometry")]
    assert stamps == [answer.stamp for answer in answers[:12]]


def test_a_file_whose_index_grows_is_ended_after_an_hour_of_reports(tmp_path, scene, answers):
    sink = McapSink(tmp_path / "drive.mcap", pictures="none")
    sink.begin(scene)
    sink.take(answers[0])
    for _ in range(3600):
        sink.report(replace(HEALTH, parts=()))
    sink.close()
    first, second = (tmp_path / name for name in ("drive.mcap", "drive-2.mcap"))
    assert len(decode(first, "/diagnostics")) + len(decode(second, "/diagnostics")) == 3600


def test_a_clock_that_was_set_back_does_not_turn_the_log_back(tmp_path, scene, answers):
    set_back = replace(answers[1], frame=replace(answers[1].frame, stamp=5))
    path = write(tmp_path / "drive.mcap", scene, [answers[0], set_back])
    (_, _, first), (logged, published, second) = decode(path, "/tmapr/odometry")
    assert read_stamp(first.header) == answers[0].stamp
    assert (read_stamp(second.header), published, logged) == (5, 5, answers[1].estimate.stamp)


def test_a_time_that_mcap_cannot_hold_is_refused_and_the_next_answer_logged(tmp_path, scene, answers):
    sink = McapSink(tmp_path / "drive.mcap")
    sink.begin(scene)
    with pytest.raises(InputError, match="stamp -1: MCAP knows no time before 1970"):
        sink.take(say(answers[0], stamp=-1))
    sink.take(answers[1])
    sink.close()
    assert len(decode(sink.path, "/tmapr/odometry")) == 1


def test_what_is_no_place_for_a_log_is_refused_before_the_drive(tmp_path, scene):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"drive.bag: a log's name ends in .mcap"):
        McapSink(tmp_path / "drive.bag")
    with pytest.raises(InputError, match=r"drive.mcap: cannot be written \(.*\); name another file"):
        McapSink(tmp_path / "file" / "drive.mcap").begin(scene)


@pytest.mark.parametrize(("missing", "extra"), [("mcap", "live"), ("rosbags.typesys", "bags")])
def test_without_its_packages_a_log_is_refused_and_no_file_begun(tmp_path, scene, monkeypatch, missing, extra):
    load_types.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=rf"pip install 'tmapr\[{extra}\]'"):
        McapSink(tmp_path / "drive.mcap").begin(scene)
    assert list(tmp_path.iterdir()) == []
