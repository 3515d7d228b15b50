"""A source by what a user calls it: a device, a folder, a recording or a robot's topic."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tmapr.data.bag import Topics
from tmapr.data.drives import find_recording, recognize
from tmapr.data.opening import refuse_absent
from tmapr.exceptions import InputError
from tmapr.live.events import Sink, Source
from tmapr.live.messages import Frames

if TYPE_CHECKING:
    from tmapr.live.topics import Carrier

Middleware = Literal["ros1", "ros2"]
_TOPIC = re.compile(r"(ros[12]):(.+)")
_CAMERA = re.compile(r"/dev/video\d+|camera:(\d+)")


@dataclass(frozen=True, slots=True)
class Graph:
    """The robot's graph of topics, and what we are in it."""

    router: str = "tcp/localhost:7447"
    domain: int = 0
    distro: str = "jazzy"
    frames: Frames = field(default_factory=Frames)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A source, as a user describes it."""

    source: str
    rate: float | None = None
    image: str | None = None
    odometry: str | None = None
    imu: str | None = None
    initial_pose: str | None = "/initialpose"


def open_source(wanted: Wanted, graph: Graph, publish: Middleware | None = None) -> tuple[Source, list[Sink]]:
    """The source, and what answers are published by: the middleware that the source is on, or the one asked for."""
    topic = _TOPIC.fullmatch(wanted.source)
    if topic:
        _refuse_rate(wanted)
        return _open_topics(wanted, topic[1], topic[2], graph, publish)
    return _open_local(wanted), [_open_publisher(publish, graph)] if publish else []


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


def _open_topics(
    wanted: Wanted, middleware: str, image: str, graph: Graph, publish: Middleware | None
) -> tuple[Source, list[Sink]]:
    from tmapr.live.topics import Subscribed, share

    if wanted.image is not None:
        raise InputError(f"--image {wanted.image}: is for bags; a topic is named in --source {middleware}:TOPIC")
    if publish not in (None, middleware):
        raise InputError(f"--publish {publish}: answers go to the middleware that --source {wanted.source} is on")
    subscribed = Subscribed(image, wanted.odometry, wanted.imu, wanted.initial_pose)
    source, sink = share(_open_node(middleware, graph), subscribed, graph.frames, source=wanted.source, sink=middleware)
    return source, [sink]


def _open_publisher(middleware: Middleware, graph: Graph) -> Sink:
    from tmapr.live.topics import TopicSink

    return TopicSink(_open_node(middleware, graph), graph.frames, name=middleware)


def _open_node(middleware: str, graph: Graph) -> "Carrier":
    if middleware == "ros1":
        from tmapr.live.ros1 import Ros1Node

        return Ros1Node()
    from tmapr.live.ros2 import Ros2Node

    return Ros2Node(endpoint=graph.router, domain=graph.domain, distro=graph.distro)


def _refuse_rate(wanted: Wanted) -> None:
    if wanted.rate is not None:
        raise InputError(f"--rate {wanted.rate:g}: is for recordings; {wanted.source} comes as it comes")


def _refuse_topics(wanted: Wanted) -> None:
    for option, topic in (("--image", wanted.image), ("--odometry", wanted.odometry), ("--imu", wanted.imu)):
        if topic is not None:
            raise InputError(f"{option} {topic}: {wanted.source} has no topics; a bag has, and ros1: or ros2: sources")
