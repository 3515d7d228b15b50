"""What carries messages between a robot and us, as bytes: whoever knows topics need not know the middleware.

The bytes are made and read by one library for all of them, so that a message has one meaning, live and in a bag.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tmapr.exceptions import InputError
from tmapr.live.messages import Message

_NAME = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+", re.ASCII)


class Carried(NamedTuple):
    """A message as it came."""

    topic: str
    kind: str
    """Its full name, as in sensor_msgs/msg/Image."""
    raw: bytes
    received: int
    """When it came, in nanoseconds since the epoch."""
    arrived: int
    """When it came, by `time.monotonic_ns`."""


@runtime_checkable
class Carrier(Protocol):
    """A node of the robot's graph. Topics are absolute; `take` is called in the middleware's own threads."""

    def subscribe(self, topic: str, take: Callable[[Carried], None]) -> None:
        """From now on; once for each topic."""

    def when_sent_away(self, end: Callable[[], None]) -> None:
        """Call this when the graph wants the node no more, as `rosnode kill` says; never, where nobody can say so."""

    def decode(self, kind: str, raw: bytes) -> Any:
        """The message of a type, as rosbags has it; any error where the bytes are none."""

    def announce(self, topic: str, kind: str) -> None:
        """So that subscribers find the topic before its first message."""

    def publish(self, message: Message) -> None:
        """Send one message of a topic that was announced."""

    def close(self) -> None:
        """Leave the graph; called once or more often."""


def check_topic(topic: str) -> str:
    """A topic as ROS spells it, with a leading slash."""
    absolute = topic if topic.startswith("/") else f"/{topic}"
    if not _NAME.fullmatch(absolute):
        raise InputError(
            f"{topic!r} is no name of a topic: it has letters, digits and _ between slashes, as in /thermal/image_raw"
        )
    return absolute
