"""rclpy as what carries messages: serialised ones, so that they are read and made as without ROS."""

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosidl_runtime_py.utilities import get_message

from tmapr.data.messages import IMAGES, POSES, SPEEDS, YAW_RATES
from tmapr.live.definitions import load_types, to_rosbags
from tmapr.live.messages import Message
from tmapr.live.topics.carrier import Carried

_READ = {*IMAGES, *SPEEDS, *YAW_RATES, *POSES}
_LOOKS = 0.5
"""Seconds between two looks for who publishes a topic."""
_HEARD = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Whoever is reliable is heard, too, as cameras mostly are not."""
_SAID = QoSProfile(depth=10)


class RclpyCarrier:
    """Subscribes to a topic once somebody publishes it, whatever its type is."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._types = load_types("ROS2_JAZZY")  # of our messages none has changed since
        self._wanted: dict[str, Callable[[Carried], None]] = {}
        self._publishers: dict[str, Any] = {}
        self._timer = node.create_timer(_LOOKS, self._look)

    def subscribe(self, topic: str, take: Callable[[Carried], None]) -> None:
        """In the node's own thread, which alone may change it while it spins."""
        self._wanted[topic] = take

    def _look(self) -> None:
        for topic in list(self._wanted):
            kinds = {found.topic_type for found in self._node.get_publishers_info_by_topic(topic)}
            if kinds:
                take = self._wanted.pop(topic)
                for kind in sorted(kinds):
                    self._listen(topic, kind, take)

    def _listen(self, topic: str, kind: str, take: Callable[[Carried], None]) -> None:
        """A type that nobody can read need not be installed: it is refused by its name."""

        def receive(raw: bytes) -> None:
            take(Carried(topic, kind, raw, time.time_ns(), time.monotonic_ns()))

        if kind in _READ:
            self._node.create_subscription(get_message(kind), topic, receive, _HEARD, raw=True)
        else:
            receive(b"")

    def when_sent_away(self, end: Callable[[], None]) -> None:
        """Whoever spins the node knows, and stops the drive."""

    def decode(self, kind: str, raw: bytes) -> Any:
        """CDR with its four bytes before it."""
        return self._types.deserialize_cdr(memoryview(raw), kind)

    def announce(self, topic: str, kind: str) -> None:
        """ROS itself knows what `~` stands for, and how the topic was remapped."""
        self._publishers[topic] = self._node.create_publisher(get_message(kind), topic, _SAID)

    def publish(self, message: Message) -> None:
        """One message."""
        raw = self._types.serialize_cdr(to_rosbags(message, self._types), message.type)
        self._publishers[message.topic].publish(bytes(raw))

    def close(self) -> None:
        """Whoever made the node destroys it, once nobody uses it any more."""
        self._wanted.clear()
