"""ROS 2 without a ROS install: zenoh in the words of rmw_zenoh.

What rmw_zenoh puts on the wire is documented by its maintainers and promised to nobody; `wire` is all that knows it.
"""

from tmapr.live.ros2.node import Ros2Node as Ros2Node
