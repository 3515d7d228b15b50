"""Localize a robot: ros2 launch tmapr_ros localize.launch.py map:=/data/map image:=/thermal/image_raw."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = {
    "map": (None, "a folder with a map, made by `tmapr map`"),
    "run": ("", "what the robot keeps; empty: MAP/live"),
    "image": ("/thermal/image_raw", "topic of the images: 8 or 16 bits, raw or compressed as png"),
    "odometry": ("", "topic of the odometry: speed, yaw rate, and the pose for map→odom; empty: none"),
    "imu": ("", "topic of the IMU, whose yaw rate then counts; empty: none"),
    "initial_pose": ("/initialpose", "topic of positions that somebody knows; empty: none"),
    "map_frame": ("map", "name of the map's frame"),
    "odom_frame": ("odom", "name of the odometry's frame"),
    "base_frame": ("base_link", "name of the robot's frame"),
    "tf": ("base", "which transform is published: base (map→base), odom (map→odom) or none"),
    "learn": ("off", "off, or fused: learn from own estimates"),
}


def generate_launch_description() -> LaunchDescription:
    """Each argument is a parameter of the node; one without a default has to be given."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    # As they are written: `off` would be taken for a boolean.
    parameters = {name: ParameterValue(LaunchConfiguration(name), value_type=str) for name in ARGUMENTS}
    node = Node(package="tmapr_ros", executable="localize", name="tmapr", output="screen", parameters=[parameters])
    return LaunchDescription([*arguments, node])
