"""What is said of a frame in the words of ROS, whatever carries it: rospy, rclpy or an MCAP file.

A `Message` has a plain value: nested dictionaries by the names of the type's fields, with numbers, texts and lists in
them. A stamp is one integer of nanoseconds where the type has a `Time`; `seq` of ROS 1's headers is left out. Metres,
radians and axes are those of REP-103, frames those of REP-105: yaw counts counter-clockwise from the map's x, which is
East where the map has longitudes and latitudes. What nobody observes (height, roll, pitch; yaw where no direction was
seen) is 0 or what it was last, with the variance `UNOBSERVED`. `base` is what the mapped positions are of: the camera,
or the antenna beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, sin
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from tmapr.exceptions import InputError
from tmapr.geodesy import metres_on_plane
from tmapr.live.bearing import HEADING, UNOBSERVED, Bearing, wrap
from tmapr.live.events import Answer, Pose
from tmapr.types import Estimate, Reason, Status

FIX, ODOMETRY, GPS, TF, DIAGNOSTICS = "~/fix", "~/odometry", "~/gps", "/tf", "/diagnostics"
TOPICS = {
    FIX: "geometry_msgs/msg/PoseWithCovarianceStamped",
    ODOMETRY: "nav_msgs/msg/Odometry",
    GPS: "sensor_msgs/msg/NavSatFix",
    TF: "tf2_msgs/msg/TFMessage",
    DIAGNOSTICS: "diagnostic_msgs/msg/DiagnosticArray",
}
"""Every topic and its type, so that a publisher can declare them before the first frame."""
LATE = (Reason.OLDER_STAMP, Reason.REPEATED_STAMP)
"""What is said of frames that came after a later one."""
_COVARIANCE_KNOWN = 3
"""NavSatFix: the whole matrix is."""

Value = Mapping[str, Any]


class Message(NamedTuple):
    """One message; `~/` in a topic stands for the node's own name."""

    topic: str
    type: str
    """By its full name, as in nav_msgs/msg/Odometry; ROS 1 leaves out the `msg/`."""
    value: Value


def name_topic(topic: str, node: str) -> str:
    """A topic under the name of a node."""
    return topic.replace("~", f"/{node.strip('/')}", 1)


@dataclass(frozen=True, slots=True)
class Frames:
    """How coordinate frames are named, and which of their relations is told."""

    map: str = "map"
    odom: str = "odom"
    base: str = "base_link"
    tf: Literal["base", "odom", "none"] = "base"
    """map→odom where something else tells odom→base: a frame may have only one parent (REP-105)."""

    def __post_init__(self) -> None:
        names = (self.map, self.odom, self.base)
        for name in names:
            if not name or name.startswith("/"):
                raise InputError(f"a frame cannot be named {name!r}: give a name without a leading slash")
        if len(set(names)) < len(names):
            raise InputError(f"frames are named {', '.join(names)}: give each its own name")


def fix_place(answer: Answer, frames: Frames) -> Value | None:
    """Where the reference was taken that was accepted right now, in a drive that is localized; None otherwise.

    It is the mapped frame that this one looks most like at the believed place, so it moves from one mapped position to
    the next; the filter was corrected with a mean over several. Its covariance is the belief's second moment about it:
    it holds what was known before, too. Frames of one view repeat it, and `~/odometry` has used it: do not fuse both.
    """
    estimate, candidate = answer.estimate, answer.estimate.candidate
    if candidate is None or not estimate.verdict.accepted or estimate.status is not Status.LOCALIZED:
        return None
    away = estimate.position - candidate.position
    covariance = estimate.covariance + np.outer(away, away)
    bearing = None if candidate.heading is None else Bearing(wrap(candidate.heading), HEADING)
    pose = _pose(candidate.position, covariance, bearing)
    return {"header": header(answer, frames.map), "pose": pose}


def tell_track(answer: Answer, bearing: Bearing | None, frames: Frames) -> Value:
    """The fused track: the belief's position in the map, and its velocity in the robot's own axes."""
    belief = answer.estimate.belief
    return {
        "header": header(answer, frames.map),
        "child_frame_id": frames.base,
        "pose": _pose(belief.position, answer.estimate.covariance, bearing),
        "twist": _twist(belief.mean[2:], belief.covariance[2:, 2:], bearing),
    }


def tell_transform(answer: Answer, bearing: Bearing | None, frames: Frames) -> Value | None:
    """map→base, or map→odom = map→base ∘ (odom→base)⁻¹; None as long as no direction, or no odometry, is known."""
    if frames.tf == "none" or bearing is None:
        return None
    x, y = answer.estimate.position.tolist()
    placed, child = Pose(x, y, bearing.yaw), frames.base
    if frames.tf == "odom":
        if answer.odometry is None:
            return None
        placed, child = relate(placed, answer.odometry), frames.odom
    transform = {
        "header": header(answer, frames.map),
        "child_frame_id": child,
        "transform": {
            "translation": {"x": placed.x, "y": placed.y, "z": 0.0},
            "rotation": _quaternion(placed.yaw),
        },
    }
    return {"transforms": [transform]}


def relate(in_map: Pose, in_odometry: Pose) -> Pose:
    """Where the odometry's origin is in the map, if the robot is at one pose in both."""
    yaw = wrap(in_map.yaw - in_odometry.yaw)
    x = in_map.x - cos(yaw) * in_odometry.x + sin(yaw) * in_odometry.y
    y = in_map.y - sin(yaw) * in_odometry.x - cos(yaw) * in_odometry.y
    return Pose(x, y, yaw)


def tell_degrees(answer: Answer, frames: Frames) -> Value | None:
    """Longitude and latitude while localized, with the covariance East, North, up; None in a map without degrees.

    The altitude is 0 with a variance that says that nobody knows it: the NaN that its type offers makes receivers
    discard the whole fix.
    """
    estimate = answer.estimate
    degrees = estimate.lon_lat
    if degrees is None or estimate.status is not Status.LOCALIZED:
        return None
    axes = _find_axes(estimate, degrees)
    if axes is None:
        return None
    covariance = np.diag([UNOBSERVED] * 3)
    covariance[:2, :2] = _symmetric(axes @ estimate.covariance @ axes.T)
    longitude, latitude = degrees
    return {
        "header": header(answer, frames.base),
        "status": {"status": 0, "service": 0},  # a fix, by no satellites
        "latitude": latitude,
        "longitude": longitude,
        "altitude": 0.0,
        "position_covariance": covariance.ravel().tolist(),
        "position_covariance_type": _COVARIANCE_KNOWN,
    }


def _find_axes(estimate: Estimate, degrees: tuple[float, float]) -> Float[np.ndarray, "2 2"] | None:
    """The map's x and y in East and North there, as columns: a grid's North is up to some degrees off."""
    beside = [estimate.frame.find_lon_lat(estimate.position + step) for step in np.eye(2)]
    known = [each for each in beside if each is not None]
    return metres_on_plane(np.array(known), *degrees).T if len(known) == 2 else None


def header(answer: Answer, frame: str) -> Value:
    """Of a message about a frame: its stamp, by the camera's clock, and what it is relative to."""
    return {"stamp": answer.stamp, "frame_id": frame}


def _pose(
    position: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"], bearing: Bearing | None
) -> dict[str, Value | list[float]]:
    """A PoseWithCovariance in the plane."""
    x, y = position.tolist()
    spread = np.diag([UNOBSERVED] * 6)
    spread[:2, :2] = _symmetric(covariance)
    if bearing:
        spread[5, 5] = bearing.variance
    pose = {"position": {"x": x, "y": y, "z": 0.0}, "orientation": _quaternion(bearing.yaw if bearing else 0.0)}
    return {"pose": pose, "covariance": spread.ravel().tolist()}


def _twist(
    velocity: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"], bearing: Bearing | None
) -> dict[str, Value | list[float]]:
    """A TwistWithCovariance in the robot's axes.

    Where nobody knows which way it faces, every direction is as likely: the mean is 0, and its variance what the speed
    leaves for each axis.
    """
    spread = np.diag([UNOBSERVED] * 6)
    if bearing is None or bearing.variance >= UNOBSERVED:
        spread[:2, :2] = np.eye(2) * (velocity @ velocity + np.trace(covariance)) / 2
        return {"twist": _speeds(0.0, 0.0), "covariance": spread.ravel().tolist()}
    turn = np.array([[cos(bearing.yaw), sin(bearing.yaw)], [-sin(bearing.yaw), cos(bearing.yaw)]])
    forward, left = (turn @ velocity).tolist()
    # A wrong direction turns speed forward into speed sideways.
    leak = np.array([left, -forward])
    spread[:2, :2] = _symmetric(turn @ covariance @ turn.T + bearing.variance * np.outer(leak, leak))
    return {"twist": _speeds(forward, left), "covariance": spread.ravel().tolist()}


def _speeds(forward: float, left: float) -> Value:
    return {"linear": {"x": forward, "y": left, "z": 0.0}, "angular": {"x": 0.0, "y": 0.0, "z": 0.0}}


def _quaternion(yaw: float) -> Value:
    return {"x": 0.0, "y": 0.0, "z": sin(yaw / 2), "w": cos(yaw / 2)}


def _symmetric(matrix: Float[np.ndarray, "2 2"]) -> Float[np.ndarray, "2 2"]:
    """Rounding leaves the two corners a last digit apart, and some receivers compare them."""
    return (matrix + matrix.T) / 2
