"""ROS 1 by rospy: a real roscore, and Debian's own nodes as processes of their own. Skipped where they are missing."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from xmlrpc.client import ServerProxy

import cv2
import numpy as np
import pytest

import tmapr
from ros_processes import HERE, run, run_master
from tmapr.live.messages import name_topic
from tmapr.live.speaker import Speaker

SYSTEM_PYTHON = "/usr/bin/python3"
PACKAGES = Path("/usr/lib/python3/dist-packages")
NEEDED = (
    *("rospy", "roslib", "rosgraph", "rosgraph_msgs", "roscpp", "genpy", "genmsg", "std_msgs"),
    *("rospkg", "catkin", "catkin_pkg", "yaml"),
    *("diagnostic_msgs", "geometry_msgs", "nav_msgs", "sensor_msgs", "tf2_msgs"),
)
IMAGE = {"topic": "/thermal/image_raw", "kind": "image"}
STAMP = [1_700_000_000, 123_456_789]
NANOSECONDS = 1_700_000_000_123_456_789

missing = [name for name in NEEDED if not (PACKAGES / name).exists()]
real_master = pytest.mark.skipif(
    shutil.which("roscore") is None or bool(missing),
    reason=f"needs Debian's ROS 1: apt install ros-core python3-rospy and packages of {', '.join(missing)}",
)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    with run_master(tmp_path_factory.mktemp("ros")) as nodes:
        yield nodes


@pytest.fixture
def talker(nodes):
    with run(SYSTEM_PYTHON, HERE / "ros_master_talker.py", **nodes) as talker:
        yield talker


@pytest.fixture
def hearer(nodes):
    with run(SYSTEM_PYTHON, HERE / "ros_master_hearer.py", **nodes) as hearer:
        hearer.hear_until(lambda told: {"up": True} in told)
        yield hearer


@pytest.fixture
def see_rospy(nodes, tmp_path):
    """The environment of a node that runs in our own Python: rospy, and nothing else that Debian installs."""
    for name in NEEDED:
        (tmp_path / name).symlink_to(PACKAGES / name)
    ours = [tmp_path, HERE, Path(tmapr.__file__).parents[1]]
    return {**nodes, "PYTHONPATH": os.pathsep.join(map(str, ours))}


def pack(counts):
    encoding = "mono8" if counts.dtype == np.uint8 else "mono16"
    return {"encoding": encoding, "shape": list(counts.shape), "data": base64.b64encode(counts.tobytes()).decode()}


def describe(counts):
    return [str(counts.dtype), list(counts.shape), hashlib.sha256(counts.tobytes()).hexdigest()]


def drive(scene, count, environment, **topics):
    topics = json.dumps({"image": IMAGE["topic"], **topics})
    return run(sys.executable, HERE / "ros_master_drive.py", scene.map_folder, topics, count, **environment)


@real_master
def test_a_night_over_ros_1_is_answered_as_offline_bit_for_bit(see_rospy, talker, hearer, scene, answers):
    given = answers[:15]
    with drive(scene, len(given), see_rospy) as ours:
        hearer.hear_until(lambda told: {"connected": True} in told)
        taken = []
        for answer in given:
            counts = answer.frame.image()
            talker.tell(**IMAGE, stamp=list(divmod(answer.frame.stamp, 10**9)), **pack(counts))
            taken.append(json.loads(ours.hear()))
        assert json.loads(ours.hear()) == {"ended": True}
        told = hearer.hear_until(lambda told: any(each.get("topic") == "/diagnostics" for each in told))
    assert [each["stamp"] for each in taken] == [answer.frame.stamp for answer in given]
    assert [each["counts"] for each in taken] == [describe(answer.frame.image()) for answer in given]
    speaker = Speaker()
    expected = [message for answer in given for message in speaker.speak(answer)]
    for topic in ("/tmapr/fix", "/tmapr/odometry", "/tmapr/gps", "/tf"):
        heard = [each["message"] for each in told if each.get("topic") == topic]
        said = [message.value for message in expected if name_topic(message.topic, "tmapr") == topic]
        assert said
        assert heard == json.loads(json.dumps(said))


@real_master
def test_what_else_comes_over_ros_1(see_rospy, talker, scene):
    eight = np.random.default_rng(0).integers(0, 2**8, (48, 64), dtype=np.uint8)
    sixteen = np.random.default_rng(1).integers(0, 2**16, (48, 64), dtype=np.uint16)
    with drive(scene, 3, see_rospy, odometry="/odom") as ours:
        talker.tell(topic="/initialpose", kind="start", stamp=STAMP, position=[12.5, -3.25], variance=4.0)
        assert json.loads(ours.hear()) == {"position": [12.5, -3.25], "deviation": pytest.approx(np.sqrt(8.0))}
        told = {"topic": "/odom", "kind": "odometry", "position": [1.0, 2.0], "speed": 3.5, "yaw_rate": -0.25}
        talker.tell(**told, stamp=STAMP)
        talker.tell(**IMAGE, stamp=STAMP, **{**pack(eight), "encoding": "rgb8"})
        talker.tell(**IMAGE, stamp=STAMP, **{**pack(eight), "encoding": "8UC1"})
        first = json.loads(ours.hear())
        assert first["counts"] == describe(eight)
        assert first["motion"] == [3.5, -0.25]
        assert first["odometry"] == [1.0, 2.0, 0.0]
        assert first["refused"] == 1
        assert "its encoding is 'rgb8'" in first["note"]
        late = [STAMP[0] + 1, STAMP[1]]
        talker.tell(**IMAGE, stamp=late, **{**pack(sixteen), "encoding": "16UC1"})
        second = json.loads(ours.hear())
        assert second["stamp"] == NANOSECONDS + 10**9
        assert second["counts"] == describe(sixteen)
        assert second["motion"] is None


@real_master
def test_images_come_compressed_too(see_rospy, talker, scene):
    counts = np.random.default_rng(0).integers(0, 2**16, (48, 64), dtype=np.uint16)
    png = base64.b64encode(cv2.imencode(".png", counts)[1].tobytes()).decode()
    with drive(scene, 1, see_rospy, initial_pose=None) as ours:
        talker.tell(topic=IMAGE["topic"], kind="compressed", stamp=STAMP, data=png)
        told = json.loads(ours.hear())
    assert told["stamp"] == NANOSECONDS
    assert told["counts"] == describe(counts)


@real_master
def test_tmapr_live_on_ros_1_ends_when_its_node_is_killed(see_rospy, talker, hearer, scene, answers, tmp_path):
    program = [sys.executable, "-c", "from tmapr.cli.main import run; run()", "live", scene.map_folder]
    with run(*program, "--source", f"ros1:{IMAGE['topic']}", "--run", tmp_path / "run", **see_rospy) as ours:
        hearer.hear_until(lambda told: {"connected": True} in told)
        for answer in answers[:3]:
            talker.tell(**IMAGE, stamp=list(divmod(answer.frame.stamp, 10**9)), **pack(answer.frame.image()))
        told = hearer.hear_until(lambda told: sum(each.get("topic") == "/tmapr/odometry" for each in told) == 3)
        stamps = [each["message"]["header"]["stamp"] for each in told if each.get("topic") == "/tmapr/odometry"]
        assert stamps == [answer.frame.stamp for answer in answers[:3]]
        with ServerProxy(see_rospy["ROS_MASTER_URI"]) as master:
            _, _, ours_at = master.lookupNode("/rosnode", "/tmapr")
        # As `rosnode kill` does; who is killed may be gone before he has answered.
        with ServerProxy(ours_at) as node, suppress(ConnectionError):
            node.shutdown("/rosnode", "killed")
        assert ours.finish() == 0
    assert (tmp_path / "run" / "state.npz").exists()


def refuse(environment):
    """What a node says that cannot be opened."""
    script = "from tmapr.live.ros1 import Ros1Node\nRos1Node()"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


def test_without_rospy_one_line_says_so():
    environment = {"PYTHONPATH": str(Path(tmapr.__file__).parents[1])}
    assert "ROS 1 topics need rospy" in refuse(environment)


@real_master
def test_without_a_master_one_line_says_so(see_rospy):
    said = refuse({**see_rospy, "ROS_MASTER_URI": "http://127.0.0.1:9"})
    assert "http://127.0.0.1:9: no ROS master answers there; start `roscore`" in said
