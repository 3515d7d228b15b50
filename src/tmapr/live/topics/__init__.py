"""A robot's topics as a source and a sink, whatever carries them: rospy or rclpy."""

from itertools import count

from tmapr.exceptions import InputError
from tmapr.live.messages import Frames
from tmapr.live.topics.carrier import Carrier as Carrier
from tmapr.live.topics.listener import Subscribed as Subscribed
from tmapr.live.topics.sink import TopicSink as TopicSink
from tmapr.live.topics.source import TopicSource as TopicSource


def share(
    carrier: Carrier, subscribed: Subscribed, frames: Frames | None = None, *, source: str = "", sink: str = "ros"
) -> tuple[TopicSource, TopicSink]:
    """A source and a sink that are one node of the robot's graph; the last of them that is closed leaves it."""
    frames, users = frames or Frames(), count(1)
    if frames.tf == "odom" and subscribed.odometry is None:
        raise InputError(f"{frames.map}→{frames.odom} is told from the robot's odometry: name its topic (--odometry)")

    def leave() -> None:
        if next(users) == 2:
            carrier.close()

    heard = TopicSource(carrier, subscribed, name=source, map_frame=frames.map, let_go=leave)
    return heard, TopicSink(carrier, frames, name=sink, let_go=leave)
