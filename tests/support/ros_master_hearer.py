"""Whoever listens to the poses, as a rospy node with Debian's classes of messages: prints a JSON line for each."""

import json
import sys
import threading
import time

import rospy
from diagnostic_msgs.msg import DiagnosticArray
from genpy import Message, Time
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import NavSatFix
from tf2_msgs.msg import TFMessage

TOPICS = {
    "/tmapr/fix": PoseWithCovarianceStamped,
    "/tmapr/odometry": Odometry,
    "/tmapr/gps": NavSatFix,
    "/tf": TFMessage,
    "/diagnostics": DiagnosticArray,
}
speaking = threading.Lock()


def plain(value):
    if isinstance(value, Time):
        return value.secs * 10**9 + value.nsecs
    if isinstance(value, Message):
        return {name: plain(getattr(value, name)) for name in value.__slots__ if name != "seq"}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def say(**told):
    with speaking:
        print(json.dumps(told), flush=True)


def main():
    rospy.init_node("listener")
    subscribers = [
        rospy.Subscriber(topic, kind, lambda message, topic=topic: say(topic=topic, message=plain(message)))
        for topic, kind in TOPICS.items()
    ]
    say(up=True)
    while not rospy.is_shutdown() and not all(subscriber.get_num_connections() for subscriber in subscribers):
        time.sleep(0.02)
    say(connected=True)
    sys.stdin.read()


main()
