"""The node: parameters, topics, and the same drive that `tmapr live` runs."""

import threading
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from tmapr.exceptions import InputError, TmaprError
from tmapr.live.messages import Frames
from tmapr.live.session import Drive, begin_session
from tmapr.live.topics import Subscribed, share
from tmapr_ros.carrier import RclpyCarrier

PARAMETERS = {
    "map": "",
    "run": "",
    "image": "/thermal/image_raw",
    "odometry": "",
    "imu": "",
    "initial_pose": "/initialpose",
    "map_frame": "map",
    "odom_frame": "odom",
    "base_frame": "base_link",
    "tf": "base",
    "learn": "off",
}
"""With their defaults; an empty topic is not listened to, and an empty `run` is the map's own folder `live`."""


def main() -> None:
    """Localize until ROS is shut down; the state is saved then."""
    rclpy.init()
    node = Node("tmapr")
    try:
        drive_until_shutdown(node)
    except TmaprError as error:
        node.get_logger().fatal(str(error))
        raise SystemExit(2) from None
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def drive_until_shutdown(node: Node) -> None:
    """The node spins here, and the drive has threads of its own."""
    given = {name: node.declare_parameter(name, default).value for name, default in PARAMETERS.items()}
    if not given["map"]:
        raise InputError("parameter map is empty; give a folder with a map, as in map:=/data/map")
    frames = Frames(given["map_frame"], given["odom_frame"], given["base_frame"], given["tf"])
    topics = Subscribed(given["image"], given["odometry"] or None, given["imu"] or None, given["initial_pose"] or None)
    source, sink = share(RclpyCarrier(node), topics, frames)
    run = Path(given["run"]) if given["run"] else None
    with begin_session(Path(given["map"]), run, given["learn"]) as session:
        drive = session.drive(source, [sink])
        thread = threading.Thread(target=_drive, args=(drive,), name="tmapr drive")
        thread.start()
        try:
            rclpy.spin(node)
        except (KeyboardInterrupt, ExternalShutdownException):
            pass  # the usual end of a drive
        finally:
            drive.pipeline.stop()
            thread.join()
    if drive.pipeline.failure:
        raise drive.pipeline.failure


def _drive(drive: Drive) -> None:
    """A node whose drive has ended spins no longer."""
    try:
        drive.run()
    finally:
        rclpy.try_shutdown()
