"""Bags as ROS records them, read without ROS: a ROS 1 .bag, a ROS 2 bag in SQLite or MCAP, a folder or a lone file.

Positions are read when the bag is opened, images while they are iterated over, in the order of recording. A frame holds
its image for as long as the frame itself is held: a pass takes the memory of the positions and of a few images.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import isnan, remainder, tau
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field

from tmapr.artifacts.sources import digest_states
from tmapr.config import Settings
from tmapr.data.coordinates import from_degrees, tangent_plane
from tmapr.data.fitting import refuse_kind
from tmapr.data.messages import (
    FIX,
    IMAGES,
    IMU,
    POSES,
    SPEEDS,
    YAW_RATES,
    Bag,
    Message,
    Place,
    Topic,
    read_fix,
    read_stamp,
)
from tmapr.data.motion import NO_READINGS, Readings, refuse_absurd
from tmapr.data.poses import MAX_BEYOND, NO_POSES, Poses, track_direction, wrap_angles
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, CoordinateFrame, Frame, Odometry

_WITHOUT = ', or go without: data.topics.position = ""'
_BEYOND = round(MAX_BEYOND * NANOSECONDS)


class Topics(Settings):
    """Which topics of a bag are read."""

    image: str | None = Field(None, description="topic of the thermal images; none: the only one with images")
    position: str | None = Field(
        None, description='topic of the positions; none: the only one with positions, if any; "": no positions'
    )
    speed: str | None = Field(
        None, description='topic of the forward speed; none: the only odometry or twist, if there is one; "": no speeds'
    )
    yaw_rate: str | None = Field(
        None, description='topic of the yaw rate; none: the only IMU, else as the speed; "": no yaw rates'
    )


GUESSED = Topics()


def read_bag(path: Path, name: str, frame: CoordinateFrame | None = None, topics: Topics = GUESSED) -> Sequence:
    """The sequence in a bag; an image has a position where some were recorded shortly before and after it.

    GPS fixes are placed in `frame`, else around the first of them, and headed along their track. It has a speed and a
    yaw rate in the same way. A message without a stamp in its header was taken when it was recorded.
    """
    whole = _name_whole(path, topics)
    bag = Bag(path)
    recorded = bag.topics()
    images, positions = choose_images(path, recorded, topics), choose_positions(path, recorded, topics)
    poses, placed = NO_POSES, frame or CoordinateFrame()
    if positions:
        poses, placed = (_read_fixes if positions.kind == FIX else _read_poses)(bag, positions, frame)
    speed, turning = choose_motion(path, recorded, topics)
    motion = _read_rates(bag, speed, SPEEDS, "speed"), _read_rates(bag, turning, YAW_RATES, "yaw_rate")
    track = _Interpolation.along(poses)
    return Sequence(name, placed, images.count, partial(_play, bag, name, images, track, motion), whole)


def _name_whole(path: Path, topics: Topics) -> str:
    """The bag's files with their sizes and time stamps, and what is read of them, as one digest."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return digest_states(files, topics.model_dump_json())


def choose_images(path: Path, recorded: Collection[Topic], topics: Topics) -> Topic:
    """The topic of the images; without one there is no sequence."""
    images = _choose(path, recorded, IMAGES, topics.image, "image")
    if images is None:
        found = ", ".join(map(str, recorded)) or "no messages at all"
        raise InputError(f"{path}: holds no images ({' or '.join(IMAGES)}) but {found}")
    return images


def choose_positions(path: Path, recorded: Collection[Topic], topics: Topics) -> Topic | None:
    """The topic of the positions, if there is one."""
    if topics.position == "":
        return None
    return _choose(path, recorded, (*POSES, FIX), topics.position, "position")


def _choose(
    path: Path, recorded: Iterable[Topic], kinds: Collection[str], wanted: str | None, role: str
) -> Topic | None:
    """The topic that is wanted, else the only one that fits; None where none does."""
    fitting = [topic for topic in recorded if topic.kind in kinds]
    listed = ", ".join(map(str, fitting)) or "none"
    if wanted is not None:
        named = [topic for topic in fitting if topic.name == wanted]
        if not named:
            raise InputError(f"{path}: data.topics.{role} is {wanted!r}; topics with {role}s are {listed}")
        return named[0]
    if len(fitting) > 1:
        example = f'data.topics.{role} = "{fitting[0].name}"'
        raise InputError(f"{path}: has several topics with {role}s; choose one, as in {example}: {listed}")
    return fitting[0] if fitting else None


def choose_motion(path: Path, recorded: Collection[Topic], topics: Topics) -> tuple[Topic | None, Topic | None]:
    """Those of speeds and yaw rates. Of several none is guessed: nobody need name one to read images and positions."""

    def choose(kinds: Collection[str], wanted: str | None, role: str) -> Topic | None:
        several = sum(topic.kind in kinds for topic in recorded) > 1
        if wanted == "" or (wanted is None and several):
            return None
        return _choose(path, recorded, kinds, wanted, role)

    speed = choose(SPEEDS, topics.speed, "speed")
    if topics.yaw_rate is None:
        return speed, choose((IMU,), None, "yaw_rate") or speed
    return speed, choose(YAW_RATES, topics.yaw_rate, "yaw_rate")


def _read_rates(
    bag: Bag, topic: Topic | None, readers: Mapping[str, Callable[[Message], float | None]], role: str
) -> Readings:
    if topic is None:
        return NO_READINGS
    way_out = f'; name another topic, or none: data.topics.{role} = ""'
    stamps, rates = list[int](), list[float]()
    with closing(bag.messages(topic)) as messages:
        for where, received, message in messages:
            rate = readers[topic.kind](message)
            if rate is not None:
                refuse_absurd(where, role, rate, way_out)
                stamps.append(read_stamp(message, received))
                rates.append(rate)
    return Readings.sort(np.array(stamps, dtype=np.int64), np.array(rates, dtype=float))


def _read_poses(bag: Bag, topic: Topic, frame: CoordinateFrame | None) -> tuple[Poses, CoordinateFrame]:
    """Poses in a frame of the robot's own, which two recordings share only if their robot saw to it."""
    refuse_kind(f"{bag.path}, topic {topic.name}", CoordinateFrame(), frame, _WITHOUT)
    stamps, places = _gather(bag, topic, POSES[topic.kind])
    return Poses(stamps, places[:, :2], places[:, 2]), frame or CoordinateFrame()


def _read_fixes(bag: Bag, topic: Topic, frame: CoordinateFrame | None) -> tuple[Poses, CoordinateFrame]:
    """Fixes in a tangent plane."""
    stamps, places = _gather(bag, topic, read_fix)
    if not len(places):
        return NO_POSES, frame or CoordinateFrame()
    own = tangent_plane(*places[0, :2].tolist())
    refuse_kind(f"{bag.path}, topic {topic.name}", own, frame, _WITHOUT)
    plane = frame or own
    positions = from_degrees(places[:, 0], places[:, 1], plane)
    return Poses(stamps, positions, track_direction(positions)), plane


def _gather(
    bag: Bag, topic: Topic, place: Callable[[Message, str], Place | None]
) -> tuple[Int[np.ndarray, " poses"], Float[np.ndarray, "poses 3"]]:
    """The stamps and places of a topic's messages that have one."""
    with closing(bag.messages(topic)) as messages:
        found = [(read_stamp(message, received), place(message, where)) for where, received, message in messages]
    known = [(since, at) for since, at in found if at is not None]
    stamps = np.array([since for since, _ in known], dtype=np.int64)
    return stamps, np.array([at for _, at in known], dtype=float).reshape(-1, 3)


@dataclass(frozen=True, slots=True)
class _Interpolation:
    """`Poses.at` for one stamp after another, in no more time where there are more poses.

    It is linear between two poses, so that its values on them and halfway say it all; `starts` and `steps` are x, y and
    heading at a pose and from there to the next, NaN where there is none.
    """

    poses: Poses
    stamps: list[int]
    starts: Float[np.ndarray, "poses 3"]
    steps: Float[np.ndarray, "gaps 3"]

    @classmethod
    def along(cls, poses: Poses) -> "_Interpolation":
        """The track through poses in any order."""
        stamps = np.unique(poses.stamps)
        starts, halfway = _stack_columns(poses.at(stamps)), _stack_columns(poses.at(stamps[:-1] + np.diff(stamps) // 2))
        steps = np.diff(starts, axis=0)
        steps[:, 2] = wrap_angles(steps[:, 2])
        return cls(poses, stamps.tolist(), starts, np.where(np.isnan(halfway), np.nan, steps))

    def at(self, taken: int) -> tuple[Float[np.ndarray, "2"] | None, float | None]:
        """The position and the heading at a stamp, if there are."""
        if not self.stamps or not self.stamps[0] - _BEYOND <= taken <= self.stamps[-1] + _BEYOND:
            return None, None
        row = bisect_right(self.stamps, taken) - 1
        if 0 <= row < len(self.steps):
            since = taken - self.stamps[row]
            share = since / (self.stamps[row + 1] - self.stamps[row])
            place = self.starts[row] + share * self.steps[row] if since else self.starts[row]
        else:
            place = _stack_columns(self.poses.at(np.array([taken])))[0]
        x, y, heading = place.tolist()
        return None if isnan(x) else np.array([x, y]), None if isnan(heading) else remainder(heading, tau)


def _stack_columns(poses: Poses) -> Float[np.ndarray, "poses 3"]:
    return np.column_stack([poses.positions, poses.headings])


def _play(
    bag: Bag, name: str, topic: Topic, track: _Interpolation, motion: tuple[Readings, Readings]
) -> Iterator[Frame]:
    speed, yaw_rate = motion
    with closing(bag.messages(topic)) as messages:
        for index, (where, received, message) in enumerate(messages):
            taken = read_stamp(message, received)
            image = IMAGES[topic.kind](message, where)
            told = Odometry(speed.at(taken), yaw_rate.at(taken))
            yield Frame(name, index, taken, image, *track.at(taken), motion=None if told == Odometry() else told)
