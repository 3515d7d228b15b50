"""A robot's camera, odometry and operator as a rospy node, run by the Python that Debian's ROS 1 is for.

Reads one JSON object a line, `{"topic", "kind", "stamp": [secs, nsecs], ...}` with what the kind needs, and answers
each with a line once it was sent; before the first message of a topic it waits for somebody who listens.
"""

import base64
import json
import sys
import time

import rospy
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import CompressedImage, Image, PointCloud2


def image(given):
    height, width = given["shape"]
    made = Image(height=height, width=width, encoding=given["encoding"], data=base64.b64decode(given["data"]))
    made.step = len(made.data) // height
    return made


def compressed(given):
    return CompressedImage(format="mono16; png compressed ", data=base64.b64decode(given["data"]))


def odometry(given):
    made = Odometry()
    made.pose.pose.position.x, made.pose.pose.position.y = given["position"]
    made.pose.pose.orientation.w = 1.0
    made.twist.twist.linear.x, made.twist.twist.angular.z = given["speed"], given["yaw_rate"]
    return made


def start(given):
    made = PoseWithCovarianceStamped()
    made.pose.pose.position.x, made.pose.pose.position.y = given["position"]
    made.pose.covariance = [given["variance"]] * 36
    return made


KINDS = {
    "image": image,
    "compressed": compressed,
    "odometry": odometry,
    "start": start,
    "cloud": lambda _: PointCloud2(),
}


def main():
    rospy.init_node("camera")
    publishers = {}
    for line in sys.stdin:
        given = json.loads(line)
        message, topic = KINDS[given["kind"]](given), given["topic"]
        if topic not in publishers:
            publishers[topic] = rospy.Publisher(topic, type(message), queue_size=1000)
        message.header.stamp = rospy.Time(*given["stamp"])
        while not rospy.is_shutdown() and not publishers[topic].get_num_connections():
            time.sleep(0.02)
        publishers[topic].publish(message)
        print("sent", flush=True)


main()
