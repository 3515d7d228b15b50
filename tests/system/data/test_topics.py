"""The topics of a bag, as `check` lists them: what each holds, what is read of it, and why others are not."""

import cv2
import numpy as np
import pytest

from bags import GPS, ODOMETRY, SCENE, START, TENTH, THERMAL, fix, image, odometry, written
from commandline import command
from tmapr.data.bag import Topics, read_bag
from tmapr.data.topics import list_topics

COLOUR = np.zeros((6, 8, 3), np.uint8)
VIEW = (SCENE // 5 + 3000).astype(np.uint16)
KINDS = pytest.mark.parametrize("kind", ["bag", "mcap"])


def compressed(counts, form="png", suffix=".png"):
    content = cv2.imencode(suffix, counts)[1]
    return "sensor_msgs/msg/CompressedImage", lambda types: {"format": form, "data": content.ravel()}


def drive(*others):
    """Twelve thermal images with odometry, and whatever else."""
    entries = []
    for row in range(12):
        taken = START + row * TENTH
        entries += [(THERMAL, taken, image(np.tile(VIEW, (8, 8)) + np.uint16(row)))]
        entries += [(ODOMETRY, taken, odometry(2.0 * row, 0.0, 0.0, speed=20.0))]
        entries += [(topic, taken, message) for topic, message in others]
    return entries


def uses(path, topics=None):
    return {use.topic.name: use for use in list_topics(path, topics or Topics())}


@KINDS
def test_every_topic_is_listed_with_its_encoding_and_what_it_is_read_as(tmp_path, kind):
    path = written(tmp_path / f"drive.{kind}", kind, drive((GPS, fix(127.3, 36.3, status=-1))), idle=[("/idle", FIX)])
    found = uses(path, Topics(position=ODOMETRY))
    assert list(found) == sorted([THERMAL, ODOMETRY, GPS, "/idle"])
    assert found[THERMAL].encoding == "mono16, 64x48, 16 bit"
    assert {name: use.roles for name, use in found.items()} == {
        THERMAL: ("image",),
        ODOMETRY: ("position", "speed", "yaw_rate"),
        GPS: (),
        "/idle": (),
    }
    assert found[GPS].remark == f'not chosen; data.topics.position = "{GPS}" would'
    assert found["/idle"].remark == "no message"
    assert len(read_bag(path, "drive", None, Topics(position=ODOMETRY))) == found[THERMAL].topic.count == 12


FIX = "sensor_msgs/msg/NavSatFix"
ENCODINGS = {
    "bgr8": (image(COLOUR, "bgr8"), "bgr8", "read are mono8, 8UC1, mono16, 16UC1"),
    "32FC1": (image(np.zeros((6, 8), np.float32), "32FC1"), "32FC1", "read are mono8"),
    "mono8": (image(VIEW.astype(np.uint8), "mono8"), "mono8, 8x6, 8 bit", "not chosen"),
    "png": (compressed(VIEW, "16UC1; png compressed "), "compressed 16UC1; png compressed , 8x6, 16 bit", "not chosen"),
    "depth": (compressed(VIEW, "16UC1; compressedDepth"), "compressed 16UC1; compressedDepth", "read are plain png"),
    "broken": (compressed(VIEW, "jpeg"), "compressed jpeg", ""),
}


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "broken"])
def test_a_topic_that_cannot_be_read_says_why(tmp_path, name):
    message, encoding, remark = ENCODINGS[name]
    path = written(tmp_path / "drive.mcap", "mcap", drive(("/other", message)))
    found = uses(path)["/other"]
    assert found.encoding == encoding
    assert remark in found.remark
    assert found.roles == ()


def test_a_check_lists_topics_before_it_refuses_to_choose_among_them(tmp_path, capsys):
    path = written(tmp_path / "drive.bag", "bag", drive(("/colour", image(COLOUR, "bgr8"))))
    assert command("check", path) == 2
    printed = capsys.readouterr()
    assert f"topic      {THERMAL} (sensor_msgs/msg/Image, 12 messages, mono16, 64x48, 16 bit): not read" in printed.out
    assert (
        "topic      /colour (sensor_msgs/msg/Image, 12 messages, bgr8): not read; its encoding is 'bgr8'" in printed.out
    )
    assert "has several topics with images; choose one" in printed.err


def test_a_bag_of_colour_images_is_refused_as_map_refuses_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    entries = [("/colour", START + row * TENTH, image(COLOUR, "bgr8")) for row in range(3)]
    written(tmp_path / "noon.bag", "bag", [*entries, (ODOMETRY, START, odometry(0.0, 0.0, 0.0))])
    (tmp_path / "site.toml").write_text('name = "site"\ndata = { layout = "bag", root = ".", reference = "noon" }\n')
    said = []
    for verb in ("check", "map"):
        assert command(verb, "site.toml", "--quiet") == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert "its encoding is 'bgr8'; read are mono8" in said[0]
