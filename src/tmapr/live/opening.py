"""A source by what a user calls it: a device, a folder, a recording or a robot's topic."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tmapr.data.bag import Topics
from tmapr.data.drives import find_recording, recognize
from tmapr.data.opening import refuse_absent
from tmapr.exceptions import InputError
from tmapr.live.events import Sink, Source
from tmapr.live.messages import Frames

_TOPIC = re.compile(r"(ros[12]):(.+)")
_CAMERA = re.compile(r"/dev/video\d+|camera:(\d+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A source, as a user describes it."""

    source: str
    rate: float | None = None
    image: str | None = None
    odometry: str | None = None
    imu: str | None = None
    initial_pose: str | None = "/initialpose"


def open_source(
    wanted: Wanted, frames: Frames | None = None, publish: Literal["ros1"] | None = None
) -> tuple[Source, list[Sink]]:
    """The source, and what answers are published by: where the source is a topic, or where that is asked for."""
    topic = _TOPIC.fullmatch(wanted.source)
    if topic and topic[1] == "ros2":
        raise InputError(
            f"--source {wanted.source}: topics of ROS 2 are heard by rclpy: build ros/tmapr_ros in your workspace and"
            f" start `ros2 launch tmapr_ros localize.launch.py map:=MAP image:={topic[2]}`"
        )
    if topic:
        _refuse_rate(wanted)
        return _open_topics(wanted, topic[2], frames)
    return _open_local(wanted), [_open_publisher(frames)] if publish else []


def _open_local(wanted: Wanted) -> Source:
    camera = _CAMERA.fullmatch(wanted.source)
    if camera:
        from tmapr.live.sources.camera import Camera

        _refuse_rate(wanted)
        _refuse_topics(wanted)
        return Camera(Path(f"/dev/video{camera[1]}" if camera[1] else wanted.source))
    path = Path(wanted.source)
    refuse_absent(find_recording(path))
    kind = recognize(find_recording(path))
    if kind != "bag":
        _refuse_topics(wanted)
    if kind == "folder" and wanted.rate is None:
        from tmapr.live.sources.growing import Growing

        return Growing(path)
    from tmapr.live.sources.recorded import Recorded

    turning = wanted.imu or wanted.odometry
    topics = Topics(image=wanted.image, position="", speed=wanted.odometry, yaw_rate=turning)
    return Recorded(path, topics, 1.0 if wanted.rate is None else wanted.rate)


def _open_topics(wanted: Wanted, image: str, frames: Frames | None) -> tuple[Source, list[Sink]]:
    from tmapr.live.ros1 import Ros1Node
    from tmapr.live.topics import Subscribed, share

    if wanted.image is not None:
        raise InputError(f"--image {wanted.image}: is for bags; a topic is named in --source ros1:TOPIC")
    subscribed = Subscribed(image, wanted.odometry, wanted.imu, wanted.initial_pose)
    source, sink = share(Ros1Node(), subscribed, frames, source=wanted.source, sink="ros1")
    return source, [sink]


def _open_publisher(frames: Frames | None) -> Sink:
    from tmapr.live.ros1 import Ros1Node
    from tmapr.live.topics import TopicSink

    return TopicSink(Ros1Node(), frames, name="ros1")


def _refuse_rate(wanted: Wanted) -> None:
    if wanted.rate is not None:
        raise InputError(f"--rate {wanted.rate:g}: is for recordings; {wanted.source} comes as it comes")


def _refuse_topics(wanted: Wanted) -> None:
    for option, topic in (("--image", wanted.image), ("--odometry", wanted.odometry), ("--imu", wanted.imu)):
        if topic is not None:
            raise InputError(f"{option} {topic}: {wanted.source} has no topics; a bag has, and a ros1: source")
