"""A node of ROS 1's graph by rospy, where that is installed; it carries bytes, and needs no packages of messages."""

import os
import time
from collections.abc import Callable
from typing import Any

from tmapr.exceptions import InputError
from tmapr.live.definitions import load_types, to_rosbags
from tmapr.live.messages import Message, name_topic
from tmapr.live.topics.carrier import Carried

_QUEUE = 100
"""Messages that wait for a slow subscriber: it must not hold up the others."""
_BUFFER = 1 << 22
"""Bytes taken from a socket at once: more than an image, or rospy asks the kernel ten times for each."""


class Ros1Node:
    """Subscribes to a topic whatever its type is. ROS 1 does not say which messages were lost on the way."""

    def __init__(self, *, name: str = "tmapr") -> None:
        """The master and the namespace are those of the environment, as for every node."""
        try:
            import rosgraph
            import rospy
        except ImportError as error:
            raise InputError(
                f"ROS 1 topics need rospy ({error}); source your ROS 1 setup, or on Debian: apt install python3-rospy,"
                " and use a Python that sees it"
            ) from None
        if not rosgraph.is_master_online():
            master = os.environ.get("ROS_MASTER_URI", "ROS_MASTER_URI, which is not set")
            raise InputError(f"{master}: no ROS master answers there; start `roscore`, or set ROS_MASTER_URI")
        self._rospy = rospy
        # Signals are for whoever runs the drive, and stamps come with the messages.
        rospy.init_node(name, argv=[], disable_signals=True, disable_rostime=True, disable_rosout=True)
        self.name = rospy.get_name()
        self._types = load_types("ROS1_NOETIC")
        self._publishers: dict[str, Any] = {}
        self._subscribers: list[Any] = []

    def subscribe(self, topic: str, take: Callable[[Carried], None]) -> None:
        """Of whatever type: the publisher says it when it connects."""

        def receive(message: Any) -> None:
            package, name = message._connection_header["type"].split("/")
            take(Carried(topic, f"{package}/msg/{name}", message._buff, time.time_ns(), time.monotonic_ns()))

        any_type = self._rospy.AnyMsg
        subscriber = self._rospy.Subscriber(topic, any_type, receive, tcp_nodelay=True, buff_size=_BUFFER)
        self._subscribers.append(subscriber)

    def when_sent_away(self, end: Callable[[], None]) -> None:
        """By `rosnode kill`, or by another node of the same name."""
        self._rospy.on_shutdown(end)

    def decode(self, kind: str, raw: bytes) -> Any:
        """As ROS 1 serialises messages."""
        return self._types.deserialize_ros1(memoryview(raw), kind)

    def announce(self, topic: str, kind: str) -> None:
        """Subscribers connect to the publisher itself, within a second."""
        made = self._define(kind)
        full = name_topic(topic, self.name)
        self._publishers[topic] = self._rospy.Publisher(full, made, queue_size=_QUEUE, tcp_nodelay=True)

    def _define(self, kind: str) -> Any:
        """A class that rospy takes for a message's: what it writes is already serialised."""
        text, digest = self._types.generate_msgdef(kind)
        fields = {"_type": kind.replace("/msg/", "/"), "_md5sum": digest, "_full_text": text, "serialize": _write}
        return type(kind.rpartition("/")[2], (self._rospy.AnyMsg,), fields)

    def publish(self, message: Message) -> None:
        """One message."""
        publisher = self._publishers[message.topic]
        made = publisher.data_class()
        made._buff = bytes(self._types.serialize_ros1(to_rosbags(message, self._types), message.type))
        publisher.publish(made)

    def close(self) -> None:
        """Topics are given back; rospy itself stays until the process ends, since it cannot begin twice in one."""
        for each in (*self._subscribers, *self._publishers.values()):
            each.unregister()
        self._subscribers.clear()
        self._publishers.clear()


def _write(message: Any, buffer: Any) -> None:
    buffer.write(message._buff)
