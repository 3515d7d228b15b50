"""The package for machines with ROS 2: what can be known of it without one.

rclpy cannot be installed beside this test, so that a few lines stand in for it here, and only here.
"""

import configparser
import importlib
import runpy
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from repository import ROOT
from tmapr.data.messages import IMAGES
from tmapr.live.definitions import load_types
from tmapr.live.messages import ODOMETRY, TOPICS

PACKAGE = ROOT / "ros" / "tmapr_ros"
LAUNCH = PACKAGE / "launch" / "localize.launch.py"
TYPES = load_types("ROS2_JAZZY")
CATKIN = Path("/usr/lib/python3/dist-packages/catkin_pkg")


def read_package():
    return ElementTree.parse(PACKAGE / "package.xml").getroot()


def test_the_package_says_what_ament_needs():
    package = read_package()
    assert (package.tag, package.get("format")) == ("package", "3")
    assert package.findtext("export/build_type") == "ament_python"
    assert package.findtext("name") == "tmapr_ros"
    assert package.find("maintainer").get("email")
    assert package.findtext("license") == "Apache-2.0"


def test_the_version_is_that_of_the_product():
    product = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert read_package().findtext("version") == product


def test_every_type_has_its_package():
    needed = {kind.split("/")[0] for kind in TOPICS.values()} | {"rclpy", "sensor_msgs", "rosidl_runtime_py"}
    assert needed <= {each.text for each in read_package().findall("exec_depend")}


@pytest.mark.skipif(not CATKIN.exists(), reason="needs Debian's catkin_pkg: apt install python3-catkin-pkg")
def test_ros_itself_reads_the_package():
    script = (
        "import sys; from catkin_pkg.package import parse_package; found = [];"
        " parse_package(sys.argv[1], warnings=found); print(found)"
    )
    done = subprocess.run(
        ["/usr/bin/python3", "-c", script, PACKAGE], env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_package_builds_with_what_ament_looks_for(tmp_path):
    copied = shutil.copytree(PACKAGE, tmp_path / "source")
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path]
    subprocess.run([*command, copied], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("tmapr_ros-*.whl")
    with zipfile.ZipFile(wheel) as built:
        names = set(built.namelist())
        entries = configparser.ConfigParser()
        entries.read_string(built.read(next(name for name in names if name.endswith("entry_points.txt"))).decode())
    assert {"tmapr_ros/__init__.py", "tmapr_ros/carrier.py", "tmapr_ros/node.py"} <= names
    shared = {name.partition(".data/data/")[2] for name in names}
    assert "share/ament_index/resource_index/packages/tmapr_ros" in shared
    assert "share/tmapr_ros/package.xml" in shared
    assert "share/tmapr_ros/launch/localize.launch.py" in shared
    assert dict(entries["console_scripts"]) == {"localize": "tmapr_ros.node:main"}


class Graph:
    """As much of rclpy as the node uses: one node, whose topics are this test's."""

    def __init__(self, parameters, published):
        self.parameters, self.published = parameters, published
        self.timers, self.subscriptions, self.said, self.fatal = [], {}, [], []
        self.shut = threading.Event()

    def declare_parameter(self, name, default):
        return SimpleNamespace(value=self.parameters.get(name, default))

    def create_timer(self, _, callback):
        self.timers.append(callback)

    def get_publishers_info_by_topic(self, topic):
        return [SimpleNamespace(topic_type=kind) for kind in self.published.get(topic, [])]

    def create_subscription(self, kind, topic, callback, _, *, raw):
        assert raw
        self.subscriptions[topic, kind] = callback

    def create_publisher(self, kind, topic, _):
        return SimpleNamespace(publish=lambda raw: self.said.append((topic, kind, raw)))

    def get_logger(self):
        return SimpleNamespace(fatal=self.fatal.append)

    def destroy_node(self):
        self.subscriptions.clear()


@pytest.fixture
def start(monkeypatch):
    """Starts the node in a graph with these parameters, these publishers, and what happens while it spins."""

    def start(parameters, published, spin):
        graph = Graph(parameters, published)

        def turn(node):
            for look in node.timers:
                look()
            spin(node)

        modules = {
            "rclpy": {"init": lambda: None, "spin": turn, "try_shutdown": graph.shut.set},
            "rclpy.node": {"Node": lambda name: graph},
            "rclpy.executors": {"ExternalShutdownException": type("ExternalShutdownException", (Exception,), {})},
            "rclpy.qos": {"QoSProfile": SimpleNamespace, "ReliabilityPolicy": SimpleNamespace(BEST_EFFORT="best")},
            "rosidl_runtime_py": {},
            "rosidl_runtime_py.utilities": {
                "get_message": {each: each for each in (*TOPICS.values(), *IMAGES)}.__getitem__
            },
        }
        for name, contents in modules.items():
            module = ModuleType(name)
            vars(module).update(contents)
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.syspath_prepend(str(PACKAGE))
        for name in ("tmapr_ros", "tmapr_ros.carrier", "tmapr_ros.node"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.import_module("tmapr_ros.node").main()
        return graph

    return start


def make_image(answer):
    counts = answer.frame.image()
    height, width = counts.shape
    header = TYPES.types["std_msgs/msg/Header"](
        TYPES.types["builtin_interfaces/msg/Time"](*divmod(answer.frame.stamp, 10**9)), "camera"
    )
    encoding = "mono8" if counts.dtype == np.uint8 else "mono16"
    step = width * counts.itemsize
    image = TYPES.types["sensor_msgs/msg/Image"](
        header, height, width, encoding, 0, step, np.frombuffer(counts.tobytes(), np.uint8)
    )
    return bytes(TYPES.serialize_cdr(image, "sensor_msgs/msg/Image"))


def test_images_become_poses(start, scene, answers, tmp_path):
    given, topic = answers[:5], ("/camera", "sensor_msgs/msg/Image")

    def spin(node):
        deadline = time.monotonic() + 120
        while topic not in node.subscriptions and time.monotonic() < deadline:  # the drive's own thread asks for it
            for look in node.timers:
                look()
        for number, answer in enumerate(given, 1):
            node.subscriptions[topic](make_image(answer))
            while sum(said == ODOMETRY for said, _, _ in list(node.said)) < number and time.monotonic() < deadline:
                time.sleep(0.01)
        raise KeyboardInterrupt

    # The package of a type that nobody can read need not be installed.
    published = {"/camera": [topic[1]], "/odom": ["not_installed/msg/Wheels"]}
    given_parameters = {
        "map": str(scene.map_folder),
        "run": str(tmp_path / "run"),
        "image": "/camera",
        "odometry": "/odom",
    }
    graph = start(given_parameters, published, spin)
    tracks = [TYPES.deserialize_cdr(raw, kind) for said, kind, raw in graph.said if said == ODOMETRY]
    stamps = [track.header.stamp.sec * 10**9 + track.header.stamp.nanosec for track in tracks]
    assert stamps == [answer.frame.stamp for answer in given]
    assert [(track.pose.pose.position.x, track.pose.pose.position.y) for track in tracks] == [
        tuple(answer.estimate.position.tolist()) for answer in given
    ]
    assert (tmp_path / "run" / "state.npz").exists()
    assert graph.shut.is_set()


def test_a_node_without_a_map_says_so_and_ends(start):
    with pytest.raises(SystemExit) as ended:
        start({}, {}, lambda _: None)
    assert ended.value.code == 2


class Called:
    """Anything that a launch file makes, with what it was made of."""

    def __init__(self, *given, **named):
        self.given, self.named = given, named


def test_the_launch_file_gives_the_node_what_it_asks_for(monkeypatch):
    names = {
        "launch": ["LaunchDescription"],
        "launch.actions": ["DeclareLaunchArgument"],
        "launch.substitutions": ["LaunchConfiguration"],
        "launch_ros": [],
        "launch_ros.actions": ["Node"],
        "launch_ros.parameter_descriptions": ["ParameterValue"],
    }
    for name, classes in names.items():
        module = ModuleType(name)
        vars(module).update(dict.fromkeys(classes, Called))
        monkeypatch.setitem(sys.modules, name, module)
    *arguments, node = runpy.run_path(str(LAUNCH))["generate_launch_description"]().given[0]
    defaults = {argument.given[0]: argument.named["default_value"] for argument in arguments}
    asked = find_parameters()
    assert defaults == {**asked, "map": None}  # has to be given
    assert node.named["executable"] == "localize"
    assert set(node.named["parameters"][0]) == set(asked)


def find_parameters():
    """As the node has them, without what it imports."""
    import ast

    tree = ast.parse((PACKAGE / "tmapr_ros" / "node.py").read_text())
    return next(
        ast.literal_eval(each.value)
        for each in tree.body
        if isinstance(each, ast.Assign) and each.targets[0].id == "PARAMETERS"
    )
