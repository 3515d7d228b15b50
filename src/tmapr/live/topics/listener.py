"""What the messages of a robot's topics say: images become frames, with the motion that was read around them.

Values are interpolated between readings as those of a bag are. An image mostly comes before the next reading does: then
the last one holds, for as long as a bag's last one does.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, Generic, TypeVar

import numpy as np

from tmapr.data.messages import IMAGES, POSES, SPEEDS, YAW_RATES, Place, read_stamp
from tmapr.data.motion import Readings, refuse_absurd
from tmapr.data.poses import Poses
from tmapr.exceptions import InputError
from tmapr.live.events import Arrival, Event, Pose, Start
from tmapr.live.topics.carrier import Carried, check_topic
from tmapr.types import FARTHEST, NANOSECONDS, Frame, Odometry

Value = TypeVar("Value")

START = "geometry_msgs/msg/PoseWithCovarianceStamped"
_HALF_A_METRE = 0.5
"""What RViz says of a click on its map; a covariance of zeros, as many leave it, says nothing."""
_KEPT = 1024
"""Readings: a second of a fast IMU, and images come within it."""
_SET_BACK = NANOSECONDS
"""No reading comes so late: the clock was set."""


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The topics that are listened to."""

    image: str
    odometry: str | None = None
    """Its speed, its yaw rate and its pose, as far as its type has them."""
    imu: str | None = None
    """Its yaw rate, which then counts and not the odometry's."""
    initial_pose: str | None = "/initialpose"

    def __post_init__(self) -> None:
        given = [topic for topic in (self.image, self.odometry, self.imu, self.initial_pose) if topic is not None]
        names = [check_topic(topic) for topic in given]
        if len(set(names)) < len(names):
            raise InputError(f"topics {', '.join(names)}: each can have one part only; name another, or leave one out")


class Listener:
    """Makes events of messages; remembers the last readings."""

    def __init__(self, subscribed: Subscribed, decode: Callable[[str, bytes], Any], map_frame: str = "map") -> None:
        self._image_topic = check_topic(subscribed.image)
        self._hear: dict[str, Callable[[Carried], Event | None]] = {self._image_topic: self._see}
        for topic, hear in (
            (subscribed.odometry, self._follow),
            (subscribed.imu, self._turn),
            (subscribed.initial_pose, self._begin),
        ):
            if topic is not None:
                self._hear[check_topic(topic)] = hear
        self._turned_by_imu = subscribed.imu is not None
        self._decode = decode
        self._map_frame = map_frame
        self._speeds, self._yaw_rates = _Recent[float](), _Recent[float]()
        self._places = _Recent[Place]()
        self._count = 0

    @property
    def topics(self) -> list[str]:
        """Those to subscribe to; the images' is the first."""
        return list(self._hear)

    def hear(self, carried: Carried) -> Event | None:
        """What one message says, if that is an event; an InputError names a message that nothing can be read from."""
        where = f"topic {carried.topic}"
        try:
            return self._hear[carried.topic](carried)
        except InputError as error:
            raise InputError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from None
        except Exception as error:  # damage surfaces as whatever the parser stumbles over
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"{where}: a message of {len(carried.raw)} bytes cannot be read ({reason})") from None

    def _see(self, carried: Carried) -> Arrival:
        open_image = _choose(IMAGES, carried)
        message = self._decode(carried.kind, carried.raw)
        stamp = read_stamp(message, carried.received)
        counts = open_image(message, f"topic {carried.topic}")()
        told = Odometry(_at(self._speeds, stamp), _at(self._yaw_rates, stamp))
        motion = None if told == Odometry() else told
        frame = Frame(self._image_topic, self._count, stamp, lambda: counts, motion=motion)
        self._count += 1
        return Arrival(frame, carried.arrived, self._find_pose(stamp))

    def _find_pose(self, stamp: int) -> Pose | None:
        stamps, places = self._places.listed()
        if not stamps:
            return None
        columns = np.array(places, dtype=float)
        found = Poses(np.array(stamps, np.int64), columns[:, :2], columns[:, 2]).at(np.array([stamp], np.int64))
        x, y = found.positions[0].tolist()
        pose = Pose(x, y, float(found.headings[0]))
        return pose if all(map(isfinite, pose)) else None

    def _follow(self, carried: Carried) -> None:
        kind = carried.kind
        _choose({**SPEEDS, **POSES}, carried)
        message = self._decode(kind, carried.raw)
        stamp = read_stamp(message, carried.received)
        if kind in POSES:
            self._places.add(stamp, POSES[kind](message, f"topic {carried.topic}"))
        if kind in SPEEDS:
            self._speeds.add(stamp, _read(SPEEDS[kind](message), carried.topic, "speed"))
        if kind in YAW_RATES and not self._turned_by_imu:
            self._yaw_rates.add(stamp, _read(YAW_RATES[kind](message), carried.topic, "yaw_rate"))

    def _turn(self, carried: Carried) -> None:
        read = _choose(YAW_RATES, carried)
        message = self._decode(carried.kind, carried.raw)
        self._yaw_rates.add(read_stamp(message, carried.received), _read(read(message), carried.topic, "yaw_rate"))

    def _begin(self, carried: Carried) -> Start:
        """The deviation is that of the direction in which least is known."""
        _choose({START: None}, carried)
        message = self._decode(carried.kind, carried.raw)
        frame = message.header.frame_id.removeprefix("/")
        if frame not in ("", self._map_frame):
            raise InputError(f"its frame is {frame!r}; give it in {self._map_frame!r}, the map's")
        x, y = message.pose.pose.position.x, message.pose.pose.position.y
        spread = np.asarray(message.pose.covariance, dtype=float).reshape(6, 6)[:2, :2]
        if not (np.hypot(x, y) <= FARTHEST and np.isfinite(spread).all()):
            raise InputError(
                f"its position is ({x}, {y}) with the covariance {spread.tolist()}; give numbers in metres"
            )
        variance = float(np.linalg.eigvalsh(spread)[-1])
        return Start(np.array([x, y], dtype=float), sqrt(variance) if variance > 0 else _HALF_A_METRE)


class _Recent(Generic[Value]):
    """The last readings, in the order in which they came."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, Value]] = deque(maxlen=_KEPT)

    def add(self, stamp: int, value: Value | None) -> None:
        if value is None:
            return
        if self._kept and stamp < self._kept[-1][0] - _SET_BACK:
            self._kept.clear()  # they are in the future now, and the last one could not hold
        self._kept.append((stamp, value))

    def listed(self) -> tuple[list[int], list[Value]]:
        return [stamp for stamp, _ in self._kept], [value for _, value in self._kept]


def _at(recent: _Recent[float], stamp: int) -> float | None:
    stamps, values = recent.listed()
    return Readings.sort(np.array(stamps, dtype=np.int64), np.array(values, dtype=float)).at(stamp)


def _read(value: float | None, topic: str, name: str) -> float | None:
    """None where a sensor says that it measures no such thing."""
    if value is not None:
        refuse_absurd(f"topic {topic}", name, value)
    return value


def _choose(readers: Mapping[str, Value], carried: Carried) -> Value:
    if carried.kind not in readers:
        raise InputError(f"its type is {carried.kind}; read are {', '.join(readers)}")
    return readers[carried.kind]
