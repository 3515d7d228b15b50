"""Bags as ROS writes them, for tests: messages, the images and positions in them, and the refusal of a bad one."""

import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

from tmapr.data.bag import Topics, read_bag
from tmapr.exceptions import InputError
from tmapr.types import CoordinateFrame

THERMAL, ODOMETRY, GPS = "/thermal/image_raw", "/odom", "/gps/fix"
START, TENTH, SECOND = 1_700_000_000_123_456_789, 100_000_000, 1_000_000_000
SCENE = np.arange(48, dtype=np.uint16).reshape(6, 8) * np.uint16(1365)
GRAY = (SCENE >> 8).astype(np.uint8)
LOCAL = CoordinateFrame()

STORES = {"bag": get_typestore(Stores.ROS1_NOETIC)} | dict.fromkeys(("db3", "mcap"), get_typestore(Stores.ROS2_JAZZY))
PLUGINS = {"db3": StoragePlugin.SQLITE3, "mcap": StoragePlugin.MCAP}


def image(counts, encoding="mono16", **others):
    """An image message; `others` replace what would follow from the counts."""
    fields = {"height": len(counts), "width": counts.shape[1], "encoding": encoding, "is_bigendian": 0}
    fields |= {"step": counts[0].nbytes, "data": np.frombuffer(counts.tobytes(), np.uint8)}
    return "sensor_msgs/msg/Image", lambda types: fields | others


def pose(types, x, y, yaw, scale=1.0):
    """`scale` is the length of the quaternion, which should be 1."""
    turn = (0.0, 0.0, scale * np.sin(yaw / 2), scale * np.cos(yaw / 2))
    point = types["geometry_msgs/msg/Point"](x, y, 1.7)
    return types["geometry_msgs/msg/Pose"](point, types["geometry_msgs/msg/Quaternion"](*turn))


def uncertain(types, *where):
    return types["geometry_msgs/msg/PoseWithCovariance"](pose(types, *where), np.zeros(36))


def odometry(*where, speed=0.0, yaw_rate=0.0):
    def fields(types):
        forward = types["geometry_msgs/msg/Vector3"](speed, 0.0, 0.0)
        twist = types["geometry_msgs/msg/Twist"](forward, types["geometry_msgs/msg/Vector3"](0.0, 0.0, yaw_rate))
        moving = types["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36))
        return {"child_frame_id": "base_link", "pose": uncertain(types, *where), "twist": moving}

    return "nav_msgs/msg/Odometry", fields


def fix(longitude, latitude, status=0):
    def fields(types):
        place = {"latitude": latitude, "longitude": longitude, "altitude": 40.0}
        place["status"] = types["sensor_msgs/msg/NavSatStatus"](status, 1)
        return place | {"position_covariance": np.zeros(9), "position_covariance_type": 0}

    return "sensor_msgs/msg/NavSatFix", fields


def written(path, kind, entries, compression=None, camera="thermal", idle=()):
    """A bag of (topic, stamp, message) or (topic, stamp, message, time of recording), written in this order."""
    store = STORES[kind]
    types, serialize = store.types, store.serialize_ros1 if kind == "bag" else store.serialize_cdr
    numbered = {"seq": 7} if kind == "bag" else {}
    writer = Writer1(path) if kind == "bag" else Writer2(path, version=9, storage_plugin=PLUGINS[kind])
    if compression is not None:
        writer.set_compression(*compression)
    with writer:
        connections = {topic: writer.add_connection(topic, message, typestore=store) for topic, message in idle}
        for topic, stamp, (message, fields), *received in entries:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, message, typestore=store)
            time = types["builtin_interfaces/msg/Time"](*divmod(stamp, SECOND))
            header = types["std_msgs/msg/Header"](stamp=time, frame_id=camera, **numbered)
            made = serialize(types[message](header=header, **fields(types)), message)
            writer.write(connections[topic], received[0] if received else stamp, made)
    return path


def scenes(rng, count, shape=(6, 8)):
    return [rng.integers(0, 2**16, shape, dtype=np.uint16) for _ in range(count)]


def images(counts, topic=THERMAL):
    """Ten a second."""
    return [(topic, START + row * TENTH, image(each)) for row, each in enumerate(counts)]


def go_through(path, topics=None, frame=None):
    for each in read_bag(path, "run", frame, topics or Topics()):
        each.image()


def refusal(path, topics=None, frame=None):
    """The message of the refusal to open a bag or to go through it: one line that begins with the file's name."""
    with pytest.raises(InputError) as caught:
        go_through(path, topics, frame)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message
