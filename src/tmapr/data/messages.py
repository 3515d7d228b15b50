"""What lies in a bag: topics, their messages, and what these say of an image, a stamp, a position or a motion.

Everything that knows the bag library is here. A message comes with `where` it lies, for refusals. What concerns every
image of a topic, its encoding, is refused when the message is looked at; what concerns one, when its counts are asked
for.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from math import atan2, hypot, inf, isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from tmapr.artifacts.images import Counts, decode_image
from tmapr.exceptions import InputError
from tmapr.files import require_file
from tmapr.types import FARTHEST, NANOSECONDS

Message = Any  # rosbags makes the classes of messages at run time
Place = tuple[float, float, float]
"""x and y in metres, or longitude and latitude in degrees; then a heading in radians, or NaN."""

_KINDS = (".bag", ".db3", ".mcap")
_REPAIRS = {".bag": "rosbag reindex", ".mcap": "mcap recover"}
_DEPTHS: Mapping[str, np.dtype[Any]] = {
    "mono8": np.dtype(np.uint8),
    "8UC1": np.dtype(np.uint8),
    "mono16": np.dtype(np.uint16),
    "16UC1": np.dtype(np.uint16),
}
_COMPRESSIONS = ("png", "jpeg", "jpg", "tiff")
_NO_FIX = 0  # NavSatStatus: a status below this


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with messages of one type."""

    name: str
    kind: str
    count: int

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, {self.count} messages)"


@dataclass(frozen=True, slots=True)
class Bag:
    """A bag on disk. Each pass opens it anew, in its own thread: a connection to SQLite belongs to one."""

    path: Path

    def topics(self) -> list[Topic]:
        """What was recorded; topics without a message are left out."""
        return [topic for topic in self.list_all() if topic.count]

    def list_all(self) -> list[Topic]:
        """Every topic that is announced."""
        found: dict[tuple[str, str], int] = {}
        try:
            with self._open() as (reader, _):
                for connection in reader.connections:  # a topic in ROS 1 has one for each of its publishers
                    key = connection.topic, connection.msgtype
                    found[key] = found.get(key, 0) + connection.msgcount
        except Exception as error:
            raise self._refusal(str(self.path), error) from None
        return [Topic(*key, messages) for key, messages in sorted(found.items())]

    def messages(self, topic: Topic) -> Generator[tuple[str, int, Message], None, None]:
        """Where each message of a topic lies, when it was recorded, and the message."""
        where, done = f"{self.path}, topic {topic.name}", 0
        try:
            with self._open() as (reader, deserialized):
                wanted = [each for each in reader.connections if (each.topic, each.msgtype) == (topic.name, topic.kind)]
                for _, received, raw in reader.messages(wanted):
                    message = deserialized(memoryview(raw), topic.kind)  # bytes would be copied
                    yield f"{where}, message {done + 1}", received, message
                    done += 1
        except Exception as error:
            raise self._refusal(f"{where}, message {done + 1}", error) from None
        if done != topic.count:
            raise InputError(f"{where}: {topic.count} messages are listed, {done} are there; {self._way_out}")

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, Callable[[memoryview, str], Message]]]:
        """A reader, and what makes messages of its bytes."""
        try:
            from rosbags import rosbag1, rosbag2
        except ImportError as error:
            raise InputError(f"{self.path}: bags need rosbags 0.11 ({error}); pip install 'tmapr[bags]'") from None
        self._refuse_others()
        if self.path.suffix == ".bag" and self.path.is_file():
            with rosbag1.Reader(self.path) as reader:
                yield reader, _load_definitions("ROS1_NOETIC").deserialize_ros1
        else:
            with rosbag2.Reader(self.path) as reader:
                yield reader, _load_definitions("ROS2_HUMBLE").deserialize_cdr

    def _refuse_others(self) -> None:
        path = self.path
        if not path.exists():
            raise InputError(f"{path}: no such bag")
        if path.is_dir() and not (path / "metadata.yaml").exists():
            raise InputError(
                f"{path}: has no metadata.yaml; make one with `ros2 bag reindex`, or name the .db3 or .mcap file in it"
            )
        if path.is_file() and path.suffix not in _KINDS:
            raise InputError(f"{path}: is no bag; give a file that ends in {', '.join(_KINDS)} or a ROS 2 bag's folder")
        files = [path] if not path.is_dir() else [file for file in path.iterdir() if file.suffix in (*_KINDS, ".yaml")]
        for file in files:
            require_file(file)
            if file.suffix == ".db3":
                _refuse_journal(file)

    def _refusal(self, where: str, error: Exception) -> InputError:
        """Any error: damage surfaces as whatever the bag library's parsers stumble over, assertions among it."""
        if isinstance(error, InputError):
            return error
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return InputError(f"{where}: cannot be read ({reason}); {self._way_out}")

    @property
    def _way_out(self) -> str:
        return f"copy it again, or repair it with `{_REPAIRS.get(self.path.suffix, 'ros2 bag reindex')}`"


def _refuse_journal(database: Path) -> None:
    """The bag library opens a database by its URI, and as if it were finished: what is in a journal would be lost."""
    if set("?#%") & set(str(database)):
        raise InputError(f"{database}: a database cannot be opened under a path with ?, # or %; rename it")
    for journal in (Path(f"{database}-wal"), Path(f"{database}-journal")):
        if journal.exists() and journal.stat().st_size:
            way_out = f"sqlite3 {database} 'PRAGMA journal_mode = DELETE'"
            raise InputError(f"{journal}: the recording was not finished; finish it with `{way_out}`")


@cache
def _load_definitions(release: str) -> Any:
    """Those of our messages never changed within ROS 1 and ROS 2.

    A bag has its own, but a fault in that of any topic would close the bag. To compile one takes as long as to read
    fifty images, so that it is done once.
    """
    from rosbags import typesys

    return typesys.get_typestore(typesys.Stores[release])


def read_stamp(message: Message, received: int) -> int:
    """The header's stamp; where a driver left that at zero, the time at which the message was recorded."""
    since = message.header.stamp
    return since.sec * NANOSECONDS + since.nanosec or received


def _open_raw(message: Message, where: str) -> Callable[[], Counts]:
    if message.encoding not in _DEPTHS:
        raise InputError(
            f"{where}: its encoding is {message.encoding!r}; read are {', '.join(_DEPTHS)}: record the raw counts,"
            " or convert them to mono16"
        )
    return partial(_view_pixels, message, where)


def _open_image_file(message: Message, where: str) -> Callable[[], Counts]:
    kind = message.format.lower()
    if "compresseddepth" in kind or not any(known in kind for known in _COMPRESSIONS):
        raise InputError(
            f"{where}: its format is {message.format!r}; read are plain png, jpeg and tiff: record the topic of the raw"
            " images, or the one compressed as 16-bit png"
        )
    return lambda: decode_image(message.data.tobytes(), where)


IMAGES: Mapping[str, Callable[[Message, str], Callable[[], Counts]]] = {
    "sensor_msgs/msg/Image": _open_raw,
    "sensor_msgs/msg/CompressedImage": _open_image_file,
}
"""By type of message: what gives an image's counts when it is asked."""


def _view_pixels(message: Message, where: str) -> Counts:
    """The pixels without the padding of their rows: read-only, and not copied unless they must be."""
    depth = _DEPTHS[message.encoding]
    height, width, step, length = message.height, message.width, message.step, len(message.data)
    if not height * width or step < width * depth.itemsize or length < height * step:
        raise InputError(
            f"{where}: {length} bytes cannot hold {height} rows of {step} bytes with {width} pixels of"
            f" {message.encoding}; record it again"
        )
    rows = message.data[: height * step].reshape(height, step)[:, : width * depth.itemsize]
    counts = np.ascontiguousarray(rows).view(depth)
    # ROS 1 aligns nothing, and half of its images start at an odd address: that costs later steps less than a copy.
    return counts.byteswap() if message.is_bigendian and depth.itemsize > 1 else counts


def _read_pose(pose: Message, where: str) -> Place:
    """Yaw as REP 103 has it, 0 = East and counter-clockwise; a quaternion of zeros, as many leave it, has none."""
    x, y, turn = pose.position.x, pose.position.y, pose.orientation
    if not hypot(x, y) <= FARTHEST:  # nor is what is not a number
        raise InputError(f'{where}: its position is ({x}, {y}); name another topic, or none: data.topics.position = ""')
    length = hypot(turn.x, turn.y, turn.z, turn.w)
    if not 0 < length < inf:
        return x, y, nan
    qx, qy, qz, qw = turn.x / length, turn.y / length, turn.z / length, turn.w / length
    return x, y, atan2(2 * (qw * qz + qx * qy), qw**2 + qx**2 - qy**2 - qz**2)


def read_fix(message: Message, where: str) -> Place | None:
    """Longitude and latitude, if the receiver had a fix."""
    longitude, latitude = message.longitude, message.latitude
    if message.status.status < _NO_FIX or not (isfinite(longitude) and isfinite(latitude)):
        return None
    if abs(latitude) > 90 or abs(longitude) > 180:
        raise InputError(f"{where}: latitude {latitude} and longitude {longitude} are no place on earth")
    return longitude, latitude, nan


POSES: Mapping[str, Callable[[Message, str], Place]] = {
    "nav_msgs/msg/Odometry": lambda message, where: _read_pose(message.pose.pose, where),
    "geometry_msgs/msg/PoseStamped": lambda message, where: _read_pose(message.pose, where),
    "geometry_msgs/msg/PoseWithCovarianceStamped": lambda message, where: _read_pose(message.pose.pose, where),
}
"""By type of message: where it says that the robot is, in a frame of its own."""


def _read_gyroscope(message: Message) -> float | None:
    """Where there is none, its covariance begins with -1."""
    return None if message.angular_velocity_covariance[0] == -1 else message.angular_velocity.z


IMU = "sensor_msgs/msg/Imu"

SPEEDS: Mapping[str, Callable[[Message], float | None]] = {
    "nav_msgs/msg/Odometry": lambda message: message.twist.twist.linear.x,
    "geometry_msgs/msg/TwistStamped": lambda message: message.twist.linear.x,
    "geometry_msgs/msg/TwistWithCovarianceStamped": lambda message: message.twist.twist.linear.x,
}
"""By type of message: how fast the robot moves forward, in m/s; its x is forward and its z up, as REP 103 has them."""

YAW_RATES: Mapping[str, Callable[[Message], float | None]] = {
    "nav_msgs/msg/Odometry": lambda message: message.twist.twist.angular.z,
    "geometry_msgs/msg/TwistStamped": lambda message: message.twist.angular.z,
    "geometry_msgs/msg/TwistWithCovarianceStamped": lambda message: message.twist.twist.angular.z,
    IMU: _read_gyroscope,
}
"""By type of message: how fast it turns to the left, in rad/s."""

FIX = "sensor_msgs/msg/NavSatFix"
