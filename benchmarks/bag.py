"""What reading a bag costs, in units of the bag library's own loop over the same messages.

`python benchmarks/bag.py` prints a table and, as its last line, the same as JSON. The bags are written first: images of
16 bits, 640x512 pixels, in the three kinds of bag. The library's loop is what everybody writes: a reader is opened, its
messages are deserialized, and an array is laid over the bytes. Each of our passes opens the bag, too. With positions,
each image has one that lies between two of 60 odometry messages a second, which are read when our sequence is made.
"""

import argparse
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

from measure import Metric, conclude, in_turn, milliseconds, ratio, show
from tmapr.data.bag import Topics, read_bag
from tmapr.types import Frame

BOUND = 1.3
IMAGES, ODOMETRY = "/thermal/image_raw", "/odom"
FRAMES, POSES_PER_FRAME = 400, 4
SHAPE = (512, 640)
FIRST, INTERVAL = 1_700_000_000_000_000_000, 66_000_000


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of bag: what it is called, and what writes and serializes it."""

    title: str
    file: str
    writer: Callable[[Path], Any]
    store: Any
    serialize: Callable[[Any, str], memoryview]

    def write(self, folder: Path) -> Path:
        """Images, and some odometry between them."""
        rng = np.random.default_rng(0)
        scenes = [rng.integers(0, 2**14, SHAPE, dtype=np.uint16) for _ in range(10)]
        with self.writer(folder / self.file) as writer:
            images = writer.add_connection(IMAGES, "sensor_msgs/msg/Image", typestore=self.store)
            odometry = writer.add_connection(ODOMETRY, "nav_msgs/msg/Odometry", typestore=self.store)
            for stamp in range(FIRST, FIRST + FRAMES * INTERVAL, INTERVAL):
                image = self._image(stamp, scenes[stamp // INTERVAL % len(scenes)])
                writer.write(images, stamp, self.serialize(image, images.msgtype))
                for part in range(POSES_PER_FRAME):
                    since = stamp + part * INTERVAL // POSES_PER_FRAME
                    writer.write(odometry, since, self.serialize(self._odometry(since), odometry.msgtype))
        return folder / self.file

    def _header(self, stamp: int) -> Any:
        types = self.store.types
        time = types["builtin_interfaces/msg/Time"](*divmod(stamp, 10**9))
        sequence = {"seq": 0} if self.file.endswith(".bag") else {}
        return types["std_msgs/msg/Header"](stamp=time, frame_id="thermal", **sequence)

    def _image(self, stamp: int, counts: np.ndarray) -> Any:
        height, width = counts.shape
        given = {"height": height, "width": width, "encoding": "mono16", "is_bigendian": 0, "step": 2 * width}
        data = counts.reshape(-1).view(np.uint8)
        return self.store.types["sensor_msgs/msg/Image"](header=self._header(stamp), data=data, **given)

    def _odometry(self, stamp: int) -> Any:
        types, zeros = self.store.types, np.zeros(36)
        place = types["geometry_msgs/msg/Point"]((stamp - FIRST) * 1e-8, 0.0, 0.0)
        still = types["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0)
        pose = types["geometry_msgs/msg/Pose"](place, types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0))
        twist = types["geometry_msgs/msg/Twist"](still, still)
        return types["nav_msgs/msg/Odometry"](
            self._header(stamp),
            "base_link",
            types["geometry_msgs/msg/PoseWithCovariance"](pose, zeros),
            types["geometry_msgs/msg/TwistWithCovariance"](twist, zeros),
        )


def kinds() -> list[Kind]:
    old, new = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)

    def second(plugin: StoragePlugin) -> Callable[[Path], Any]:
        return lambda path: Writer2(path, version=9, storage_plugin=plugin)

    return [
        Kind("ROS 1 .bag", "one.bag", Writer1, old, old.serialize_ros1),
        Kind("ROS 2 SQLite", "sqlite", second(StoragePlugin.SQLITE3), new, new.serialize_cdr),
        Kind("ROS 2 MCAP", "mcap", second(StoragePlugin.MCAP), new, new.serialize_cdr),
    ]


def library(path: Path, *topics: str) -> None:
    with AnyReader([path]) as reader:
        wanted = [connection for connection in reader.connections if connection.topic in topics]
        for connection, _, raw in reader.messages(wanted):
            message: Any = reader.deserialize(raw, connection.msgtype)
            if connection.topic == IMAGES:
                np.frombuffer(message.data, np.uint16).reshape(message.height, message.width)


def ours(sequence: Iterable[Frame]) -> None:
    for frame in sequence:
        frame.image()


def contenders(path: Path) -> Mapping[str, Callable[[int], object]]:
    unplaced, placed = read_bag(path, "bag", topics=Topics(position="")), read_bag(path, "bag")
    return {
        "library": lambda _: library(path, IMAGES),
        "library, both": lambda _: library(path, IMAGES, ODOMETRY),
        "pass": lambda _: ours(unplaced),
        "placed": lambda _: ours(placed),
        "opened": lambda _: ours(read_bag(path, "bag")),
    }


def measured(path: Path, rounds: int) -> Iterator[Metric]:
    seconds = in_turn(contenders(path), range(rounds))
    yield Metric("the library's loop, per image", milliseconds(seconds, "library") / FRAMES, "ms")
    yield Metric("a pass, per image", milliseconds(seconds, "pass") / FRAMES, "ms")
    yield Metric("a pass against the library's loop", ratio(seconds, "pass", "library"), "×", bound=BOUND)
    yield Metric("a pass with positions against the same", ratio(seconds, "placed", "library"), "×", bound=BOUND)
    both = ratio(seconds, "opened", "library, both")
    yield Metric("making the sequence and a pass against a loop over both topics", both, "×")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what reading a bag costs.")
    parser.add_argument("--rounds", type=int, default=20, help="passes of each contender")
    rounds = parser.parse_args().rounds
    metrics = []
    for kind in kinds():
        with TemporaryDirectory() as folder:
            found = show(f"{kind.title}, 640x512 of 16 bits", measured(kind.write(Path(folder)), rounds))
        metrics += [replace(metric, name=f"{kind.title}: {metric.name}") for metric in found]
    versions = {"python": platform.python_version(), "numpy": np.__version__, "rosbags": version("rosbags")}
    conclude("bag", metrics, {"processor": platform.machine(), "cores": os.cpu_count()} | versions)


if __name__ == "__main__":
    main()
