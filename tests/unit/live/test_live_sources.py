"""Where frames come from: a recording at a rate, a folder that somebody writes into, a camera's pictures."""

import os
import shutil
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

import tmapr
from tmapr.artifacts.images import write_frame
from tmapr.data.bag import GUESSED
from tmapr.exceptions import InputError
from tmapr.live.opening import Wanted, open_source
from tmapr.live.sources.camera import Camera, unpack_picture
from tmapr.live.sources.growing import Growing
from tmapr.live.sources.recorded import Recorded

NIGHT = tmapr.locate_sample() / "night"
COUNTS = np.arange(48 * 64, dtype=np.uint16).reshape(48, 64) * 13 + 1000


class Watching:
    """A source, iterated in a thread of its own as the pipeline does."""

    def __init__(self, source):
        self.source, self.events = source, []
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self):
        for event in self.source:
            self.events.append(event)

    def wait_for(self, count):
        while len(self.events) < count:
            time.sleep(0.005)

    def end(self):
        self.source.close()
        self._thread.join()
        return self.events


def test_a_recording_is_what_it_is_offline():
    live, offline = list(Recorded(NIGHT, GUESSED)), list(tmapr.open_sequence(NIGHT))
    assert [event.frame.stamp for event in live] == [frame.stamp for frame in offline]
    np.testing.assert_array_equal(live[7].frame.image(), offline[7].image())
    assert {event.arrived for event in live} == {None}


def test_a_rate_keeps_frames_back_until_they_are_due():
    frames = list(tmapr.open_sequence(NIGHT))
    lasting = (frames[-1].stamp - frames[0].stamp) / 1e9
    source = Recorded(NIGHT, GUESSED, rate=50.0)
    began = time.monotonic()
    assert len(list(source)) == len(frames)
    assert time.monotonic() - began >= lasting / 50
    assert not source.waits
    assert Recorded(NIGHT, GUESSED).waits


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(InputError, match="--rate"):
        Recorded(NIGHT, GUESSED, rate=rate)


def test_a_recording_at_its_rate_can_be_left_before_its_end():
    watching = Watching(Recorded(NIGHT, GUESSED, rate=1e-3))
    watching.wait_for(1)
    assert len(watching.end()) == 1


def test_a_folder_gives_what_comes_into_it_in_the_order_of_names(tmp_path):
    write_frame(tmp_path / "000.png", COUNTS)
    watching = Watching(Growing(tmp_path))
    for number in (1, 2, 3):
        write_frame(tmp_path / "aside.part", COUNTS + number)
        (tmp_path / "aside.part").rename(tmp_path / f"{number:03d}.png")
        watching.wait_for(number)
    events = watching.end()
    assert [event.frame.file.name for event in events] == ["001.png", "002.png", "003.png"]
    np.testing.assert_array_equal(events[1].frame.image(), COUNTS + 2)
    assert events[0].frame.stamp == os.stat(tmp_path / "001.png").st_mtime_ns


def test_a_name_that_is_a_stamp_is_the_stamp(tmp_path):
    watching = Watching(Growing(tmp_path))
    write_frame(tmp_path / "1790000000123456789.png", COUNTS)
    watching.wait_for(1)
    assert watching.end()[0].frame.stamp == 1_790_000_000_123_456_789


def test_a_file_that_is_being_written_is_waited_for(tmp_path):
    write_frame(tmp_path / "whole.bin", COUNTS)
    content = (tmp_path / "whole.bin").read_bytes()
    watching = Watching(Growing(tmp_path))
    with (tmp_path / "001.png").open("wb") as stream:
        for start in range(0, len(content), 200):
            stream.write(content[start : start + 200])
            stream.flush()
            time.sleep(0.01)
    watching.wait_for(1)
    np.testing.assert_array_equal(watching.end()[0].frame.image(), COUNTS)


def test_a_file_that_stays_damaged_is_a_frame_that_cannot_be_read(tmp_path):
    watching = Watching(Growing(tmp_path))
    (tmp_path / "001.png").write_bytes(b"\x89PNG\r\n\x1a\nand no more")
    os.utime(tmp_path / "001.png", (1, 1))
    write_frame(tmp_path / "002.png", COUNTS)
    watching.wait_for(2)
    damaged, whole = watching.end()
    with pytest.raises(InputError):
        damaged.frame.image()
    np.testing.assert_array_equal(whole.frame.image(), COUNTS)


def test_a_folder_that_goes_away_and_comes_back(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    watching = Watching(Growing(folder))
    write_frame(folder / "001.png", COUNTS)
    watching.wait_for(1)
    shutil.rmtree(folder)
    time.sleep(0.1)
    folder.mkdir()
    write_frame(folder / "002.png", COUNTS)
    watching.wait_for(2)
    assert [event.frame.file.name for event in watching.end()] == ["001.png", "002.png"]


GRAY = (COUNTS // 256).astype(np.uint8)


@pytest.mark.parametrize(
    ("picture", "counts"),
    [
        (COUNTS, COUNTS),
        (COUNTS.view(np.uint8), COUNTS),
        (COUNTS.view(np.uint8).reshape(1, -1), COUNTS),
        (GRAY, GRAY),
        (np.stack([GRAY, np.full_like(GRAY, 128)], axis=2), GRAY),
        (cv2.cvtColor(GRAY, cv2.COLOR_GRAY2BGR), GRAY),
    ],
    ids=["Y16", "Y16 as bytes", "Y16 in a row", "GREY", "YUYV", "BGR"],
)
def test_what_a_driver_hands_over_becomes_counts(picture, counts):
    np.testing.assert_array_equal(unpack_picture(picture, 64, 48, "/dev/video0"), counts)


@pytest.mark.parametrize(
    "picture",
    [
        cv2.applyColorMap(np.linspace(0, 255, 48 * 64).astype(np.uint8).reshape(48, 64), cv2.COLORMAP_INFERNO),
        np.zeros((48, 64)),
        np.zeros((1, 777), np.uint8),
        np.zeros((48, 64, 4), np.uint8),
    ],
    ids=["false colours", "numbers", "MJPG", "four planes"],
)
def test_what_is_no_counts_is_refused(picture):
    with pytest.raises(InputError, match="/dev/video0"):
        unpack_picture(picture, 64, 48, "/dev/video0")


def test_no_camera_is_refused_in_a_line(tmp_path):
    with pytest.raises(InputError, match="cannot be opened as a camera"):
        Camera(tmp_path / "video0")


def open_named(source, **options):
    return open_source(Wanted(source, **options))[0]


def test_a_folder_is_watched_unless_a_rate_is_given():
    assert isinstance(open_named(str(NIGHT)), Growing)
    assert isinstance(open_named(str(NIGHT), rate=0.0), Recorded)


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("nowhere", {}, "nowhere: no such"),
        ("/dev/video99", {}, "cannot be opened as a camera"),
        ("camera:99", {}, "/dev/video99"),
        ("/dev/video0", {"rate": 2.0}, "--rate 2: is for recordings"),
        ("ros2:/thermal", {}, "ros2 launch tmapr_ros localize.launch.py map:=MAP image:=/thermal"),
        ("ros1:/thermal", {"rate": 2.0}, "--rate 2: is for recordings"),
        ("ros1:/thermal", {"image": "/other"}, "--image /other"),
        ("ros1:not a topic", {}, "no name of a topic"),
        (str(NIGHT), {"odometry": "/odom"}, "--odometry /odom"),
        (str(NIGHT), {"imu": "/imu", "rate": 0.0}, "--imu /imu"),
        (str(Path(__file__)), {}, "is no recording"),
    ],
)
def test_what_is_no_source_is_refused_in_a_line(source, options, said):
    with pytest.raises(InputError) as refused:
        open_named(source, **options)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
